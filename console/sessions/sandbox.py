"""A system in virtual time at the console: its clock, the last step, and the faults that were injected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.sessions.kind import Kind
from console.sessions.pace import Pace
from console.sessions.session import Session
from engine.faults.watch import Plan, Watch
from engine.labs.virtualclock import VirtualClock
from engine.parts.fault import Fault
from engine.tracing.links import Entry
from engine.tracing.ring import KEPT, Ring

SPEEDS = (0.0, 0.001, 0.01, 0.1, 1.0)
"""Virtual seconds in a real one; 0: the clock is paused."""

SHOWN = 200  # entries of the last step that are looked at


class SandboxSession(Session[Any]):
    """A sandbox, which is opened with it. ``trace`` has seen all events."""

    trace: Ring[Any]

    def __init__(self, lab: VirtualClock, kind: Kind) -> None:
        super().__init__(f"sandbox of {lab.system.name}", lab, kind)
        self.speed = 0  # place in SPEEDS
        self.steps = 0
        self.watches: list[Watch] = []
        self.trace = lab.trace(KEPT)
        self.pace = Pace()
        self._before = 0  # entries before the last step
        lab.attach(self.trace)
        lab.open()

    def look(self, now: float) -> Any:
        """Let time pass, and see what there is then."""
        self.pass_time(now)
        self.picture = self.bridge.poll(self.lab.now)._replace(hertz=self.pace.hertz)
        return self.picture

    def pass_time(self, now: float) -> None:
        """Let virtual time pass at the chosen speed; ``now``: real seconds."""
        real = self.pace.passed(now)
        if self.speed:
            self._before = self.trace.total
            self.lab.speed = SPEEDS[self.speed]
            self.lab.advance(real)

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

    def faults(self) -> Sequence[Fault]:
        """The faults that there are."""
        return self.kind.faults.faults_for(self.lab.system)

    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""
        return self.kind.faults.targets(self.lab, fault)

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        return self.kind.faults.plan(self.lab, line)
