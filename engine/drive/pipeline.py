"""A pipeline's processes: starts drivers, watches over them, shows them, stops them.

The watchdog's decisions are a pure core; this runs it, on any thread. Another
process finds a running watchdog by its lock and speaks to it through two files in the root, ``quit`` and ``kill``.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from engine.core import Exit, Note, Ordered, Started, Woken
from engine.drive import disk, roots
from engine.drive.hub import Ear, Hub
from engine.drive.locks import Lock
from engine.drive.pipelinerecord import Scribe
from engine.drive.pipelineview import Observation, given_up
from engine.drive.queueprocesses import DriverProcesses
from engine.drive.queueview import tail_of
from engine.drive.recovering import Queues, looked, settle
from engine.errors import Refused
from engine.files import safely
from engine.parts.orders import Leave
from engine.protocols.diskqueue.operations import Done, List
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import (
    START,
    PipelineView,
    Stage,
    WatchState,
    check_stages,
    queue_folder,
    source,
    worker_folder,
)
from engine.protocols.diskqueue.transitions import retry
from engine.protocols.diskqueue.watchdog import (
    Abort,
    Command,
    Event,
    Kill,
    Look,
    Looked,
    Quit,
    Recover,
    Recovered,
    Spawn,
    Watchdog,
)

TICK = 0.05  # seconds between two looks at whether drivers have ended
WATCHDOG, RECOVERY = "watchdog", "recovery"  # who sits there, and what it does to the queues
WATCHED = ".watchdog.lock"


class Pipeline:
    """A pipeline under one root folder. ``root`` is created by ``run`` and ``start``."""

    def __init__(
        self,
        root: str,
        stages: Sequence[Stage],
        options: Options | None = None,
        say: Callable[[Note], None] = lambda note: None,
        bound: bool = False,
        trust: bool = False,
    ) -> None:
        """``say`` gets every note of the watchdog; raises ValueError for stages that make no pipeline.

        ``trust``: act in it although others can change its root (``engine.drive.roots``); to look needs no trust.
        ``bound``: its drivers die with this process. Without that they outlive a watchdog that is killed, and the next
        one adopts them.
        """
        self.root = os.path.abspath(root)
        self.stages = check_stages(stages)
        self.options = options or Options()
        self._say, self._trust = say, trust
        self._orders: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._hub = Hub(self.root, say)
        self._others: set[str] = set()  # who else has done something: an operator, a recorder, the recovery
        self._sight = Observation(self.root, self.stages, self.options.max_files)
        self._scribe = Scribe(self.root)
        self._processes = DriverProcesses(self.root, self.stages, self.options, self._sight, bound, say)
        self._view = self._sight.picture("absent")
        self._core: Watchdog | None = None
        self._signal = 0

    @classmethod
    def open(cls, root: str, say: Callable[[Note], None] = lambda note: None, trust: bool = False) -> Pipeline:
        """The pipeline that was last run under ``root``; raises ``Refused`` where there is none."""
        stages, options = roots.recall(root)
        return cls(root, stages, options, say, trust=trust)

    def check_root(self) -> None:
        """Raise ``Refused`` where others can change the root, unless ``trust`` was given."""
        if not self._trust:
            roots.check(self.root)

    # ---- what an operator does ---------------------------------------------------------------------------------------

    def run(self, signals: bool = True, fail_fast: bool = True) -> int:
        """Watch over the pipeline until it is done; the exit status.

        0: done · 1: a stage was stopped because its drivers cannot start · 2: another watchdog runs, or the root cannot
        be used · 128+n: ended by signal n. Two signals make the drivers give their documents back. On a thread of a
        larger program use ``signals=False`` and ``order``; there ``fail_fast=False`` lets the other stages go on.
        """
        lock = Lock(self.root, WATCHED)
        try:
            self.prepare()
            if not lock.acquire_patiently():
                raise Refused(f"another watchdog runs in {self.root}")
        except (OSError, Refused) as error:
            told = f"{error.filename or self.root}: {error.strerror}" if isinstance(error, OSError) else str(error)
            self._say(Note("bad", told))
            return 2
        try:
            with self._signals() if signals else contextlib.nullcontext():
                failed = self._watch(fail_fast)
            return 1 if failed else 128 + self._signal if self._signal else 0
        finally:
            lock.release()

    def start(self) -> list[str]:
        """Start the missing drivers and leave them to themselves; the numbers of all. Raises ``Refused``."""
        try:
            self.prepare()
            lock = Lock(self.root, WATCHED)
            if not lock.acquire_patiently():
                raise Refused(f"a watchdog runs in {self.root} and sees to that")
        except OSError as error:
            raise Refused(f"cannot use {self.root}: {error.strerror}") from error
        try:
            core = self._core = Watchdog(self.stages, self.options, self._first_number())
            events: deque[Event] = deque([*self._processes.adopt(), Started()])
            while events:
                for command in core.handle(events.popleft(), time.monotonic()):
                    events.extend(self._do(command))
            return sorted(self._processes.running(), key=int)
        finally:
            lock.release()

    def stop(self, timeout: float = 60.0) -> bool:
        """Let every driver finish its document and leave; False where some are left after ``timeout`` seconds.

        Raises ``Refused`` and OSError.
        """
        self.check_root()
        if self.watched():
            self._touch("quit")
        else:
            for number in self._processes.living():
                self._processes.quit(number)
        return self._await_end(timeout)

    def kill(self, timeout: float = 10.0) -> bool:
        """Kill every driver now and settle what they held; False where some of that is left after ``timeout`` seconds.

        Why it is left, is said. Raises ``Refused`` and OSError.
        """
        self.check_root()
        if self.watched():
            self._touch("kill")
        else:
            for number in self._processes.living():
                self._processes.kill(number)
        limit, ended = time.monotonic() + timeout, self._await_end(timeout)
        while left := [self._recover(*holder) for holder in self._look(fresh=True).holders]:
            left = [one for one in left if one.error]  # a killed process releases its locks a little later
            if not left or time.monotonic() > limit:
                break
            time.sleep(TICK)
        for stage, number, _, error, _ in left:
            self._say(Note("bad", f"what driver {number} of {stage} held stays as it is: {error}", number.encode()))
        return ended and not left

    def show(self) -> PipelineView:
        """A picture that is made now, also where another process watches over the pipeline."""
        if self._core is None:
            return self._sight.picture("running" if self.watched() else "absent", fresh=True)
        return self._view

    def look(self) -> None:
        """Make a new picture of a pipeline that is not run here; of folders that take long to read, less often."""
        self._view = self._sight.picture("running" if self.watched() else "absent")

    def picture(self) -> PipelineView:
        """The newest picture of the running watchdog; costs nothing."""
        return self._view

    def order(self, order: object) -> None:
        """Give the running watchdog an order (``watchdog.SetWorkers`` …, ``orders.Leave``); from any thread."""
        self._orders.put(order)

    def recover(self, number: str) -> tuple[int, list[str]]:
        """Settle what a driver holds that is dead by the operator's word: how many documents, and why others stay.

        Raises ``Refused``.
        """
        self.check_root()
        stages = [stage for stage, holder in self._look(fresh=True).holders if holder == number]
        found = [self._recover(stage, number, word=True) for stage in stages]
        return sum(one.documents for one in found), [one.error for one in found if one.error]

    def retry(self, queue: str, id: str) -> str:
        """Give a document that failed twice two fresh attempts; the reason why not, or the empty string."""
        try:
            return disk.run(retry(queue_folder(self.root, queue), id), lambda answer: self.told("operator", answer))
        except disk.Trouble as error:
            return str(error)

    def given_up(self, id: str = "") -> list[tuple[str, str]]:
        """Queue and id of what failed twice and can be tried again: all of it, or one document. Raises OSError."""
        return given_up(self.root, self.stages, id)

    def output(self, number: str, size: int = 4096) -> str:
        """The end of what a driver has printed, at most ``size`` bytes; it may hold anything, so sanitise it."""
        return tail_of(f"{worker_folder(self.root, number)}/out.txt", size)

    def watched(self) -> bool:
        """Whether a watchdog runs here, in this process or another."""
        lock = Lock(self.root, WATCHED)
        if not os.path.lexists(lock.path):
            return False
        try:
            if lock.acquire(create=False):
                lock.release(remove=False)  # a look changes nothing
                return False
        except OSError:
            return True  # another user's, so it can not be told: assume that it runs
        return os.path.lexists(lock.path)

    # ---- who listens -------------------------------------------------------------------------------------------------

    @property
    def hub(self) -> Hub:
        """The hub of all events of this pipeline: of its drivers, and of this process."""
        return self._hub

    def record(self, ear: Ear) -> None:
        """Let a recorder listen, beginning with what lies in the queues. Raises OSError as ``Hub.attach`` does."""
        self._hub.attach(ear, recorder=True)
        for name in (START, *(stage.name for stage in self.stages)):
            answer = disk.perform(List(queue_folder(self.root, name)))
            if not answer.error:  # else it is not there yet
                self.told("recorder", answer)

    def told(self, who: str, answer: Done) -> None:
        """Tell the hub what this process itself did to the queues."""
        if who not in self._others:
            self._others.add(who)
            self._hub.seated(who, who, "", [], {})
        self._hub.tap(who, who, time.monotonic(), answer, [])

    # ---- the watchdog ------------------------------------------------------------------------------------------------

    def _watch(self, fail_fast: bool) -> bool:
        """Run the core to its end; whether it ended in failure."""
        first = self._first_number()
        core = self._core = Watchdog(self.stages, self.options, first, fail_fast)
        stages = [list(stage) for stage in self.stages]
        self._hub.seated(WATCHDOG, WATCHDOG, "watchdog", [stages, first, fail_fast], {"root": self.root})
        events: deque[Event] = deque([*self._processes.adopt(), Started()])
        ended = ""
        try:
            while True:
                while events:
                    for command in self._give(core, events.popleft()):
                        if isinstance(command, Exit):
                            ended = command.reason
                            self._say(Note("bad" if command.failed else "good", command.reason))
                            return command.failed
                        events.extend(self._do(command))
                with contextlib.suppress(queue.Empty):
                    events.append(Ordered(self._orders.get(timeout=TICK)))
                events.extend(self._processes.ends())
                if time.monotonic() >= core.wake_at():
                    events.extend(self._asked_from_outside())
                    events.append(Woken())
        finally:
            self._core = None
            self._hub.left(WATCHDOG, WATCHDOG)
            self._view = self._sight.picture("ended", core, {}, fresh=True)
            self._scribe.note(self._view.stages, ended)
            for name in ("quit", "kill"):
                self._remove(f"{self.root}/{name}")

    def _give(self, core: Watchdog, event: Event) -> list[Command]:
        now = time.monotonic()
        commands = core.handle(event, now)
        self._hub.tap(WATCHDOG, WATCHDOG, now, event, commands)
        return commands

    def _do(self, command: Command) -> Sequence[Event]:
        match command:
            case Spawn(stage, number):
                return self._processes.spawn(stage, number)
            case Quit(number):
                self._processes.quit(number)
            case Kill(number):
                self._processes.kill(number)
            case Recover(stage, number):
                return [self._recover(stage, number)]
            case Look():
                looked = self._look()
                state: WatchState = "stopping" if self._core is not None and self._core.ending else "running"
                self._view = self._sight.picture(state, self._core, self._processes.running())
                self._scribe.note(self._view.stages)
                while self._sight.notes:
                    note = self._sight.notes.pop(0)
                    assert isinstance(note, Note)
                    self._say(note)
                return [looked]
            case Note():
                self._say(command)
        return []

    def _look(self, fresh: bool = False) -> Looked:
        return looked(self.stages, self._sight.surveys(fresh))

    def _recover(self, stage: str, number: str, word: bool = False) -> Recovered:
        index = [known.name for known in self.stages].index(stage)
        src, dst = queue_folder(self.root, source(self.stages, index)), queue_folder(self.root, stage)

        def foreign() -> bool:
            return (stage, number) in self._look().holders

        return settle(
            Queues(stage, src, dst),
            number,
            self.options.keep_input,
            foreign,
            self._say,
            lambda answer: self.told(RECOVERY, answer),
            word,
        )

    # ---- the root folder ---------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Make what is missing, and write down what runs in it. Raises ``Refused`` and OSError."""
        self.check_root()
        roots.make(self.root, self.stages, self.options.queue_mode)
        self.check_root()  # also what was made just now, or by somebody else meanwhile
        roots.remember(self.root, self.stages, self.options)

    def _first_number(self) -> int:
        """One more than the highest ever used."""
        numbers = self._sight.numbers()
        return int(numbers[-1]) + 1 if numbers else 1

    def _asked_from_outside(self) -> list[Event]:
        """What another process wants of this watchdog; also keeps what drivers leave behind within bounds."""
        found: list[Event] = []
        for name, order in (("quit", Leave()), ("kill", Abort())):
            if os.path.lexists(f"{self.root}/{name}"):
                self._remove(f"{self.root}/{name}")
                found.append(Ordered(order))
        self._processes.trim()
        self._processes.prune()
        return found

    def _await_end(self, timeout: float) -> bool:
        limit = time.monotonic() + timeout
        while True:
            list(self._processes.ends())  # being asked for reaps them
            if not self._processes.running() and not self.watched() and not self._processes.living():
                return True
            if time.monotonic() > limit:
                return False
            time.sleep(TICK)

    def _touch(self, name: str) -> None:
        os.close(safely.open_or_create(f"{self.root}/{name}", os.O_WRONLY))

    @staticmethod
    def _remove(path: str) -> None:
        with contextlib.suppress(OSError):  # one that stays is obeyed again, which does no harm
            os.unlink(path)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        def on_signal(number: int, _frame: FrameType | None) -> None:
            self._signal = number
            self._orders.put(Leave())

        handlers = {
            number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
