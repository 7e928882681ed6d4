"""Keeps every stage at its number of drivers, and what a dead driver held in play.

The rules of this file:

- What is wanted is compared with what is there after every look; starting and ending drivers follows from that alone.
- A driver that ends is replaced at once if it had done something, otherwise after a pause that doubles.
- Drivers that end by themselves, one after another, with nothing done in a stage that is not done do not see what the
  watchdog sees: several in a row stop the stage with that reason.
- A driver that ends with an error before it has started (no timer file yet) stops its stage with the reason. One that
  was killed that early says less: only several in a row stop the stage.
- Every driver that did not end by itself is recovered from: its document counts as failed (ruling 1).
- Numbers are never used twice.
- Drivers and stages are in states of ``machine.py``: each change goes through a row (``_went``, ``stages.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from engine.core import NEVER, Exit, Level, Note, Ordered, Started, Woken
from engine.parts.machine import Walk, summed
from engine.parts.orders import Leave
from engine.parts.plain import several
from engine.parts.view import Walked
from engine.protocols.diskqueue.machine import SEEN, If, On, Seen
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage, StageState
from engine.protocols.diskqueue.stages import StageRecord

# ---- events -------------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A driver that runs already: from a watchdog before this one."""

    number: str
    stage: str


class Ended(NamedTuple):
    """A driver is no more. ``code``: its exit status, negative for a signal, None where that cannot be known."""

    number: str
    code: int | None
    started: bool  # it had written its timer file
    docs: int  # attempts that it made
    last: str  # line of its output


class Looked(NamedTuple):
    """What a look at the queues found."""

    done: frozenset[str]  # stages with nothing left and nothing to come
    holders: tuple[tuple[str, str], ...]  # (stage, number) of every lock on a document


class Recovered(NamedTuple):
    """The answer to ``Recover``: how many documents were settled, or why that was not possible."""

    stage: str
    number: str
    documents: int
    error: str = ""
    doubt: bool = False  # nothing shows whether the driver lives: an operator has to say so


Event = Started | Woken | Found | Ended | Looked | Recovered | Ordered

# ---- orders -------------------------------------------------------------------------------------------------------


class SetWorkers(NamedTuple):
    """Change how many drivers a stage has; also sets a stopped stage going again."""

    stage: str
    workers: int


class PauseStage(NamedTuple):
    """Let its drivers finish their documents and leave; start none."""

    stage: str


class ResumeStage(NamedTuple):
    """Start drivers again, also after the stage was stopped by an error."""

    stage: str


class KillDriver(NamedTuple):
    """Kill one driver now; it is replaced, and its document counts as failed."""

    number: str


class Abort(NamedTuple):
    """Kill every driver now and end."""


# ---- commands -----------------------------------------------------------------------------------------------------


class Spawn(NamedTuple):
    """Start a driver; ``Ended`` follows exactly once, also where it could not be started."""

    stage: str
    number: str


class Quit(NamedTuple):
    """Tell a driver to leave: the first time after its document, the second time at once."""

    number: str


class Kill(NamedTuple):
    """Kill a driver (SIGKILL)."""

    number: str


class Recover(NamedTuple):
    """Settle what a driver left behind, if it is dead; ``Recovered`` follows."""

    stage: str
    number: str


class Look(NamedTuple):
    """Look at the queues; ``Looked`` follows."""


Command = Spawn | Quit | Kill | Recover | Look | Note | Exit


class StageView(NamedTuple):
    """A stage as the watchdog sees it."""

    name: str
    state: StageState
    reason: str
    wanted: int
    drivers: tuple[str, ...]
    restarts: int
    restart_in: float  # seconds, 0 for now
    walked: Walked = ()


class Watchdog:
    """The core of a watchdog; ``engine.drive.pipeline`` runs it.

    ``first`` is the smallest number that no driver has ever had. ``fail_fast``: a stage that stops ends everything,
    as a command that runs unattended must; a console lets the others go on.
    """

    def __init__(self, stages: tuple[Stage, ...], options: Options, first: int = 1, fail_fast: bool = False) -> None:
        self._options = options
        self._stages = {stage.name: StageRecord(stage.workers) for stage in stages}
        self._of: dict[str, str] = {}  # number → stage, of the living
        self._seen: dict[str, str] = {}  # number → state, of the living
        self._walk = Walk(SEEN)
        self._next = first
        self._fail_fast = fail_fast
        self._ending = ""  # the reason
        self._failed = False
        self._ended = False
        self._owed: set[tuple[str, str]] = set()  # recoveries that are asked for and not answered
        self._foreign: set[tuple[str, str]] = set()  # locks that are not ours to judge; said once
        self._look_at = 0.0

    # ---- the contract ----------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event at monotonic ``now``."""
        out: list[Command] = []
        if self._ended:
            return out
        match event:
            case Started():
                out.append(Look())
            case Woken():
                if now >= self._look_at:
                    out.append(Look())
            case Found(number, stage) if stage in self._stages:
                self._begin(number, stage, On.FOUND)
                self._next = max(self._next, int(number) + 1)
            case Found(number):
                out.append(Note("warn", f"driver {number} works for no stage of this pipeline"))
            case Ended():
                self._on_end(event, now, out)
            case Looked():
                self._on_look(event, now, out)
            case Recovered():
                self._on_recovered(event, out)
            case Ordered(order):
                self._on_order(order, now, out)
        self._see_to_end(out)
        return out

    def wake_at(self) -> float:
        """When to look again."""
        return NEVER if self._ended else self._look_at

    def check(self) -> None:
        """Assert the invariants."""
        held = {number for stage in self._stages.values() for number in stage.drivers}
        assert held == set(self._of) == set(self._seen)
        for stage in self._stages.values():
            stage.check()
        assert all(int(number) < self._next for number in held)
        assert not self._ended or not held

    def snapshot(self, now: float) -> tuple[StageView, ...]:
        """The stages, in order."""
        return tuple(
            StageView(
                name,
                stage.state,
                stage.stopped,
                stage.wanted,
                tuple(sorted(stage.drivers, key=int)),
                stage.restarts,
                max(0.0, stage.not_before - now),
                stage.walk.walked(),
            )
            for name, stage in self._stages.items()
        )

    def leaving(self, number: str) -> bool:
        """Whether this driver has been told to leave."""
        return self._seen.get(number) == Seen.LEAVING

    def walked(self) -> Walked:
        """How its drivers went through the rows of their machine."""
        return self._walk.walked()

    def stages_walked(self) -> Walked:
        """How all stages went through theirs."""
        return summed(stage.walk.walked() for stage in self._stages.values())

    @property
    def ending(self) -> str:
        """Why the whole pipeline is coming to its end, or the empty string."""
        return self._ending

    # ---- events ----------------------------------------------------------------------------------------------------

    def _on_end(self, event: Ended, now: float, out: list[Command]) -> None:
        name = self._of.pop(event.number, None)
        if name is None:
            return
        stage = self._stages[name]
        stage.drivers.discard(event.number)
        told = self.leaving(event.number)
        if self._went(event.number, On.EXITED, If.FAILED if event.code != 0 else "") == Seen.DEAD:
            out.append(Recover(name, event.number))
            self._owed.add((name, event.number))
        if event.started:
            stage.early = 0
        if event.docs:
            stage.vain = 0
        if not told and event.code != 0:
            self._mourn(stage, name, event, now, out)
        elif not told and not event.docs and now >= stage.not_before:
            stage.vain += 1  # of several that end together, as they do when all is done, one counts
            stage.put_off(now, self._options)
        out.append(Look())

    def _mourn(self, stage: StageRecord, name: str, event: Ended, now: float, out: list[Command]) -> None:
        """A driver ended that should not have: when to replace it, and whether at all."""
        code = event.code
        killed = code is None or code < 0 or code > 128
        how = f"killed by signal {abs(code) % 128}" if killed and code is not None else f"exit status {code}"
        if code is None:  # its parent was an earlier watchdog
            how = "how is not known"
        tail = f": {event.last}" if event.last else ""
        if not event.started:
            stage.early += 1
            if not killed or stage.early >= self._options.start_failures:
                self._stop(stage, name, f"driver {event.number} could not start, {how}{tail}", On.BROKEN, out)
                return
        out.append(Note("warn", f"driver {event.number} of {name} ended, {how}{tail}", event.number.encode()))
        stage.restarts += 1
        if event.docs:
            stage.worked()
        elif now >= stage.not_before:
            stage.put_off(now, self._options)

    def _stop(self, stage: StageRecord, name: str, reason: str, event: str, out: list[Command]) -> None:
        stage.stop(reason, event)
        out.append(Note("bad", f"{name} is stopped: {reason}"))
        if self._fail_fast:
            self._end(f"{name} is stopped", out, failed=True)  # the reason was told

    def _on_look(self, event: Looked, now: float, out: list[Command]) -> None:
        self._look_at = now + self._options.poll
        for name, stage in self._stages.items():
            if stage.look(name in event.done):
                out.append(Note("good", f"{name} is done"))
            if not stage.done and not stage.stopped and stage.vain >= self._options.start_failures:
                why = f"{stage.vain} drivers in a row found nothing to do and ended, but it is not done"
                self._stop(stage, name, why, On.VAIN, out)
        for holder in event.holders:
            name, number = holder
            if self._of.get(number) != name and holder not in self._owed:
                self._owed.add(holder)
                self._walk.step(Seen.ABSENT, On.LOCKS)
                out.append(Recover(name, number))
        self._reconcile(now, out)

    def _on_recovered(self, event: Recovered, out: list[Command]) -> None:
        holder = (event.stage, event.number)
        if holder in self._owed:
            self._owed.discard(holder)
            self._walk.step(Seen.DEAD, On.ANSWERED, If.NOT_SETTLED if event.error else "")
        if event.documents:
            out.append(Note("info", f"recovered {several(event.documents, 'document')} of driver {event.number}"))
        if event.error and holder not in self._foreign:
            if len(self._foreign) < 1000:
                self._foreign.add(holder)
            level: Level = "warn" if event.doubt else "info"
            out.append(Note(level, f"documents held by {event.number} stay as they are: {event.error}"))

    def _on_order(self, order: object, now: float, out: list[Command]) -> None:
        match order:
            case SetWorkers(name, workers) if name in self._stages:
                self._stages[name].want(workers)
            case PauseStage(name) if name in self._stages:
                self._stages[name].pause()
            case ResumeStage(name) if name in self._stages:
                self._stages[name].resume()
            case KillDriver(number) if number in self._of:
                self._went(number, On.KILLED)
                out.append(Kill(number))
            case SetWorkers() | PauseStage() | ResumeStage() | KillDriver():
                out.append(Note("warn", f"there is no such stage or driver: {order[0]}"))
            case Leave() if self._ending:
                self._tell_to_leave(self._of, out)
            case Leave():
                self._end("told to stop", out)
            case Abort():
                self._ending = self._ending or "killed"
                for number in sorted(self._of, key=int):
                    self._went(number, On.KILLED, If.ALL)
                    out.append(Kill(number))
            case _:
                raise TypeError(f"a watchdog takes no such order: {order!r}")
        self._reconcile(now, out)

    # ---- what follows from them ------------------------------------------------------------------------------------

    def _begin(self, number: str, stage: str, event: str) -> None:
        """A driver is there from now on."""
        self._of[number] = stage
        self._stages[stage].drivers.add(number)
        self._went(number, event)

    def _went(self, number: str, event: str, guard: str = "") -> str:
        """Take a driver's state through a row; the next one. Of who lives no more none is kept."""
        state = self._walk.step(self._seen.pop(number, Seen.ABSENT), event, guard)
        if state in (Seen.RUNNING, Seen.LEAVING):
            self._seen[number] = state
        return state

    def _tell_to_leave(self, numbers: Iterable[str], out: list[Command]) -> None:
        for number in sorted(numbers, key=int):
            self._went(number, On.TOLD)
            out.append(Quit(number))

    def _reconcile(self, now: float, out: list[Command]) -> None:
        """Start what is missing, tell what is too much to leave."""
        for name, stage in self._stages.items():
            idle = stage.paused or stage.stopped or stage.done or self._ending
            wanted = 0 if idle else stage.wanted
            staying = sorted((number for number in stage.drivers if not self.leaving(number)), key=int)
            if not stage.done:  # of a stage that is done they leave by themselves
                self._tell_to_leave(staying[wanted:], out)
            if now >= stage.not_before:
                # Those that are still leaving count, or impatient orders would fill the machine with drivers.
                for _ in range(wanted - len(stage.drivers)):
                    number = str(self._next)
                    self._next += 1
                    self._begin(number, name, On.SPAWNED)
                    out.append(Spawn(name, number))

    def _end(self, reason: str, out: list[Command], failed: bool = False) -> None:
        self._ending, self._failed = self._ending or reason, self._failed or failed
        self._tell_to_leave([number for number in self._of if not self.leaving(number)], out)

    def _see_to_end(self, out: list[Command]) -> None:
        if self._of or self._owed:
            return
        if self._ending:
            self._ended = True
            out.append(Exit(self._ending, self._failed))
        elif all(stage.done for stage in self._stages.values()):
            self._ended = True
            out.append(Exit("done"))
