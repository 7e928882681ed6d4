"""What every stage at the console has: its time, what happened in the last step, the faults that were injected."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from console.apps.calm import SLOWEST
from console.pictures.samples import HERTZ
from console.screens.rehearsal import SPEEDS
from engine.parts.fault import Fault
from engine.rehearsal.watch import Plan, Watch
from engine.tracing.links import Entry
from engine.tracing.ring import Ring

LATE = SLOWEST  # real seconds that one refresh makes up for at most
SHOWN = 200  # entries of the last step that are looked at


class Pace:
    """Real time, for what has a time of its own."""

    def __init__(self) -> None:
        self._looks: deque[float] = deque(maxlen=4 * HERTZ + 1)

    def passed(self, now: float) -> float:
        """Seconds since the last look, ``LATE`` at most."""
        before = self._looks[-1] if self._looks else now
        self._looks.append(now)
        return min(LATE, now - before)

    @property
    def hertz(self) -> float:
        """Looks a second."""
        spent = self._looks[-1] - self._looks[0] if self._looks else 0.0
        return (len(self._looks) - 1) / spent if spent > 0 else float(HERTZ)


class Rehearsing:
    """A stage, and the trace that has seen everything on it."""

    stage: Any  # a Standing of one kind or the other
    trace: Ring[Any]

    def __init__(self) -> None:
        self.speed = 0  # place in SPEEDS
        self.steps = 0
        self.watches: list[Watch] = []
        self._before = 0  # entries before the last step
        self._pace = Pace()

    def pass_time(self, now: float) -> None:
        """Let time pass as fast as it is to; ``now``: real seconds."""
        real = self._pace.passed(now)
        if self.speed:
            self._before = self.trace.total
            self.stage.speed = SPEEDS[self.speed]
            self.stage.advance(real)

    def order(self, give: Callable[[Any], object]) -> Future[None]:
        """Carry it out at once: a stage is of this thread."""
        done: Future[None] = Future()
        try:
            give(self.stage)
        except Exception as error:  # of whoever asked
            done.set_exception(error)
        else:
            done.set_result(None)
        return done

    def step(self, message: bool) -> bool:
        """Let one message through, or one thing happen; False where nothing does."""
        self._before = self.trace.total
        self.speed = 0
        happened = self.stage.step_message() if message else self.stage.step()
        self.steps += bool(happened)
        return bool(happened)

    def last(self) -> list[Entry]:
        """What was heard and said in the last step, oldest first."""
        fresh = self.trace.total - self._before
        return [entry for entry in self.trace.entries(limit=min(fresh, SHOWN) or 1) if entry.number > self._before]

    def inject(self, fault: Plan) -> None:
        """Do it, and watch the promises. Raises Refused."""
        watch = Watch(self.stage, fault)
        watch.begin()
        self.watches.append(watch)

    # ---- what can be done to it -------------------------------------------------------------------------------------

    def faults(self) -> Sequence[Fault]:
        """What there is."""
        raise NotImplementedError

    def targets(self, fault: Fault) -> Sequence[str]:
        """What a fault can be aimed at now."""
        raise NotImplementedError

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        raise NotImplementedError
