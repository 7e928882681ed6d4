"""A stage at the console: its time, what happened in the last step, and the faults that were injected."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from console.bridge import Bridge, Picture
from console.calm import SLOWEST
from console.desk import Desk
from console.history import History
from console.samples import HERTZ
from console.screens.stepper import SPEEDS, Stepper
from console.systems import view_of
from engine.core import System
from engine.lab.brokers import fallback
from engine.rehearsal.faults import plan
from engine.rehearsal.stage import Stage
from engine.rehearsal.watch import Plan, Watch
from engine.tracing.links import Entry
from engine.tracing.trace import Trace

WORKERS = 3
SLOTS = 4
LATE = SLOWEST  # real seconds that one refresh makes up for at most
SETTLED = 10.0  # virtual seconds
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


class StageDesk(Desk):
    """A few workers, a broker and a client of a system, in a world that stands until it is told to go on."""

    trace: Trace

    def __init__(self, system: System, options: Any, history: History) -> None:
        if system.paired is not None:
            options = system.paired(options, system.endpoint, fallback(system))
        self.stage = Stage(system, options, workers=WORKERS, slots=SLOTS)
        self.trace = Trace(system)
        self.stage.attach(self.trace)
        self.stage.open()
        self.name, self.lab = f"stage of {system.name}", self.stage
        self.bridge = Bridge(self.stage)
        self.view = view_of(system.name)
        self.main: Stepper = Stepper(self, history, self.view.columns)
        self.picture: Picture | None = None
        self.speed = 0  # place in SPEEDS
        self.steps = 0
        self.watches: list[Watch] = []
        self._before = 0  # entries before the last step
        self._pace = Pace()

    def look(self, now: float) -> Picture:
        """Let time pass as fast as it is to, and see what there is then."""
        real = self._pace.passed(now)
        if self.speed:
            self._before = self.trace.total
            self.stage.speed = SPEEDS[self.speed]
            self.stage.advance(real)
        self.picture = self.bridge.poll(self.stage.now)._replace(hertz=self._pace.hertz)
        return self.picture

    def order(self, give: Callable[[Stage], object]) -> Future[None]:
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

    def settle(self) -> None:
        """Let time pass until every worker is in the table, or ``SETTLED`` virtual seconds are over."""
        self.stage.speed = 1.0
        while self.stage.now < SETTLED and not self.stage.health().dead:
            self.stage.advance(0.5)
            broker = self.stage.sight().broker
            if broker is not None and len(broker.workers) == WORKERS:
                break

    def plan(self, line: str) -> Plan:
        """What a fault would do, and what is promised. Raises Refused."""
        return plan(self.stage, line)

    def inject(self, fault: Plan) -> None:
        """Do it, and watch the promises. Raises Refused."""
        watch = Watch(self.stage, fault)
        watch.begin()
        self.watches.append(watch)
