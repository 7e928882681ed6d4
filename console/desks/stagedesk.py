"""A stage of a system with a broker at the console."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.desks.desk import Desk
from console.desks.rehearsing import Rehearsing
from console.history import History
from console.pictures.bridge import Bridge, Picture
from console.screens.stepper import Stepper
from console.systems import view_of
from engine.lab.brokers import fallback
from engine.parts.fault import Fault
from engine.rehearsal.faults import faults_for, plan, targets
from engine.rehearsal.stage import Stage
from engine.rehearsal.watch import Plan
from engine.system import System
from engine.tracing.trace import Trace

WORKERS = 3
SLOTS = 4
SETTLED = 10.0  # virtual seconds


class StageDesk(Rehearsing, Desk):
    """A few workers, a broker and a client of a system, in a world that stands until it is told to go on."""

    trace: Trace

    def __init__(self, system: System, options: Any, history: History) -> None:
        super().__init__()
        if system.paired is not None:
            options = system.paired(options, system.endpoint, fallback(system))
        self.stage = Stage(system, options, workers=WORKERS, slots=SLOTS)
        self.trace = Trace(system)
        self.stage.attended = True
        self.stage.attach(self.trace)
        self.stage.open()
        self.name, self.lab = f"stage of {system.name}", self.stage
        self.bridge = Bridge(self.stage)
        self.view = view_of(system.name)
        self.main: Stepper = Stepper(self, history, self.view.columns)
        self.picture: Picture | None = None

    def look(self, now: float) -> Picture:
        """Let time pass as fast as it is to, and see what there is then."""
        self.pass_time(now)
        self.picture = self.bridge.poll(self.stage.now)._replace(hertz=self._pace.hertz)
        return self.picture

    def settle(self) -> None:
        """Let time pass until every worker is in the table, or ``SETTLED`` virtual seconds are over."""
        self.stage.speed = 1.0
        while self.stage.now < SETTLED and not self.stage.health().dead:
            self.stage.advance(0.5)
            broker = self.stage.sight().broker
            if broker is not None and len(broker.workers) == WORKERS:
                break

    def faults(self) -> Sequence[Fault]:
        """What there is for this system."""
        return faults_for(self.stage.system)

    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""
        return targets(self.stage, fault)

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        return plan(self.stage, line)
