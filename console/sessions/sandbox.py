"""A system in virtual time at the console: its clock, the last step, and the faults that were injected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from console.pictures.bridge import Picture
from console.pictures.queuebridge import QueuePicture
from console.sessions.brokers import BrokerSession
from console.sessions.pace import Pace
from console.sessions.queues import QueueSession
from console.sessions.session import Mode, at_once
from engine.faults import faults, queuefaults
from engine.faults.watch import Plan, Watch
from engine.labs.brokers import fallback
from engine.labs.queuesandbox import QueueSandbox
from engine.labs.sandbox import Sandbox
from engine.parts.fault import Fault
from engine.protocols.diskqueue.options import Options as QueueOptions
from engine.system import System
from engine.tracing.links import Entry
from engine.tracing.operations import Operations
from engine.tracing.ring import Ring
from engine.tracing.trace import Trace

SPEEDS = (0.0, 0.001, 0.01, 0.1, 1.0)
"""Virtual seconds in a real one; 0: the clock is paused."""

SHOWN = 200  # entries of the last step that are looked at
WORKERS = 3
SLOTS = 4
ROOM = 6  # documents in a queue above which drivers wait: so few that it is seen
SETTLED = 10.0  # virtual seconds in which every worker has joined
QUEUES_SETTLED = 3.0  # virtual seconds in which drivers are at work


class VirtualSession(ABC):
    """The mixin of both sandbox sessions; list it before the other base. ``trace`` has seen all events."""

    mode: ClassVar[Mode] = "sandbox"
    lab: Any
    trace: Ring[Any]

    def __init__(self, name: str, lab: Any, trace: Ring[Any]) -> None:
        self.speed = 0  # place in SPEEDS
        self.steps = 0
        self.watches: list[Watch] = []
        self.trace = trace
        self.pace = Pace()
        self._before = 0  # entries before the last step
        lab.attach(trace)
        lab.open()
        super().__init__(name, lab, at_once(lab))  # type: ignore[call-arg]

    def pass_time(self, now: float) -> None:
        """Let virtual time pass at the chosen speed; ``now``: real seconds."""
        real = self.pace.passed(now)
        if self.speed:
            self._before = self.trace.total
            self.lab.speed = SPEEDS[self.speed]
            self.lab.advance(real)

    @abstractmethod
    def settle(self) -> None:
        """Let time pass until everyone has joined."""

    def step(self, message: bool) -> bool:
        """Step by one message or one event; False if nothing happens."""
        self._before = self.trace.total
        self.speed = 0
        happened = self.lab.step_message() if message else self.lab.step()
        self.steps += bool(happened)
        return bool(happened)

    def last(self) -> list[Entry]:
        """What was received and sent in the last step, oldest first."""
        fresh = self.trace.total - self._before
        return [entry for entry in self.trace.entries(limit=min(fresh, SHOWN) or 1) if entry.number > self._before]

    def inject(self, plan: Plan) -> None:
        """Inject a fault, and watch its promises. Raises Refused."""
        watch = Watch(self.lab, plan)
        watch.begin()
        self.watches.append(watch)

    # ---- faults -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def faults(self) -> Sequence[Fault]:
        """The faults that there are."""

    @abstractmethod
    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""

    @abstractmethod
    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""


class SandboxSession(VirtualSession, BrokerSession):
    """A few workers, a broker and a client of a system."""

    lab: Sandbox
    trace: Trace

    def __init__(self, system: System, options: Any) -> None:
        if system.paired is not None:
            options = system.paired(options, system.endpoint, fallback(system))
        sandbox = Sandbox(system, options, workers=WORKERS, slots=SLOTS)
        sandbox.attended = True
        super().__init__(f"sandbox of {system.name}", sandbox, Trace(system))

    def look(self, now: float) -> Picture:
        """Let time pass, and see what there is then."""
        self.pass_time(now)
        self.picture = self.bridge.poll(self.lab.now)._replace(hertz=self.pace.hertz)
        return self.picture

    def settle(self) -> None:
        """Let time pass until every worker is in the table, or ``SETTLED`` virtual seconds are over."""
        self.lab.speed = 1.0
        while self.lab.now < SETTLED and not self.lab.health().dead:
            self.lab.advance(0.5)
            broker = self.lab.sight().broker
            if broker is not None and len(broker.workers) == WORKERS:
                break

    def faults(self) -> Sequence[Fault]:
        """Those of its system."""
        return faults.faults_for(self.lab.system)

    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""
        return faults.targets(self.lab, fault)

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        return faults.plan(self.lab, line)


class QueueSandboxSession(VirtualSession, QueueSession):
    """Three stages of a pipeline with a few drivers."""

    lab: QueueSandbox
    trace: Operations

    def __init__(self, options: QueueOptions | None) -> None:
        sandbox = QueueSandbox(options=replace(options or QueueOptions(), max_files=ROOM))
        super().__init__(f"sandbox of {sandbox.system.name}", sandbox, Operations(sandbox.world.queues))

    def look(self, now: float) -> QueuePicture:
        """Let time pass, and see what there is then."""
        self.pass_time(now)
        self.picture = self.bridge.poll(self.lab.now)._replace(hertz=self.pace.hertz)
        return self.picture

    def settle(self) -> None:
        """Let time pass until drivers are at work."""
        self.lab.speed = 1.0
        self.lab.advance(QUEUES_SETTLED)

    def faults(self) -> Sequence[Fault]:
        """Those of disk queues."""
        return queuefaults.FAULTS

    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""
        return queuefaults.targets(self.lab, fault)

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        return queuefaults.plan(self.lab, line)
