"""A stage of disk queues at the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from console.desks.queuedesk import QueueDesk
from console.desks.rehearsing import Rehearsing
from console.history import History
from console.pictures.queuebridge import QueuePicture
from console.screens.queuestepper import QueueStepper
from engine.parts.fault import Fault
from engine.protocols.diskqueue.options import Options
from engine.rehearsal.queuefaults import FAULTS, plan, targets
from engine.rehearsal.queuestage import QueueStage
from engine.rehearsal.watch import Plan
from engine.tracing.operations import Operations

ROOM = 6  # documents in a queue of a stage above which drivers wait: so few that it is seen
SETTLED = 3.0  # virtual seconds


class QueueStageDesk(Rehearsing, QueueDesk):
    """Three stages with a few drivers, in a world that stands until it is told to go on."""

    trace: Operations

    def __init__(self, options: Options | None, history: History) -> None:
        Rehearsing.__init__(self)
        self.stage = QueueStage(options=replace(options or Options(), max_files=ROOM))
        self.trace = Operations(self.stage.world.queues)
        self.stage.attach(self.trace)
        self.stage.open()
        QueueDesk.__init__(self, self.stage)
        self.main = QueueStepper(self, history)

    def look(self, now: float) -> QueuePicture:
        """Let time pass as fast as it is to, and see what there is then."""
        self.pass_time(now)
        return self.bridge.poll(self.stage.now)._replace(hertz=self._pace.hertz)

    def settle(self) -> None:
        """Let time pass until drivers are at work."""
        self.stage.speed = 1.0
        self.stage.advance(SETTLED)

    def faults(self) -> Sequence[Fault]:
        """What there is for disk queues."""
        return FAULTS

    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""
        return targets(self.stage, fault)

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        return plan(self.stage, line)
