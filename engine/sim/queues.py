"""A pipeline of disk queues under a virtual clock: drivers, watchdog, recoverers, feeder, on one simulated disk.

The rules of this file:

- One seed and the same calls give the same history. An operation takes ``OPERATION`` seconds, work ``WORK``.
- What a process does between two operations can be stopped there: it is frozen or killed, or somebody is quicker.
- The watchdog's own core decides who runs; this carries out what it says, as ``engine.drive.pipeline`` does.
- Everybody's events and commands are shown to ``watchers``, in the terms of ``engine.drive.node.Tap``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from engine.core import Exit, Note, Ordered, Started, Woken
from engine.parts.machine import Walk, summed
from engine.parts.view import Walked
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.explain import seat_of
from engine.protocols.diskqueue.machine import ITEM
from engine.protocols.diskqueue.operations import TROUBLE, Done, Operation, Rename
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import START, Stage, Walks, queue_folder, source
from engine.protocols.diskqueue.watchdog import (
    Ended,
    Found,
    Kill,
    Look,
    Looked,
    Quit,
    Recover,
    Recovered,
    Spawn,
    Watchdog,
)
from engine.sim.agenda import Agenda
from engine.sim.disk import SimDisk
from engine.sim.driver import Fate, SimDriver
from engine.sim.recovery import SimRecovery

OPERATION = (0.002, 0.006)  # seconds that one operation takes, from … to
WORK = (0.3, 0.6)  # seconds that work on one document takes
AGAIN = 0.5  # seconds after which a recoverer asks a disk in trouble again
NOTICED = 0.05  # seconds until a watchdog sees that a driver has ended
WATCHDOG, RECOVERY, FEEDER = "watchdog", "recovery", "feeder"

Watcher = Callable[[str, str, float, Any, Sequence[Any]], None]


class Seat:
    """A driver's process. Its clock is ``offset`` ahead of the world's."""

    def __init__(self, stage: str, driver: SimDriver, since: float) -> None:
        self.stage, self.driver, self.since = stage, driver, since
        self.name = seat_of(stage, driver.config.number)
        self.frozen = False
        self.offset = 0.0
        self.ticket = 0  # of its entry in the agenda; older ones mean nothing
        self.works = 0.0  # seconds that its document takes


class Queues:
    """``fate(stage, id, attempt)``: what becomes of an attempt; ``pace``: by stage, a factor of ``WORK``."""

    def __init__(self, stages: tuple[Stage, ...], options: Options, seed: int, epoch: float) -> None:
        """``epoch``: wall clock at virtual time 0."""
        self.stages, self.options, self.epoch = stages, options, epoch
        self.queues = (START, *(stage.name for stage in stages))
        self.disk = SimDisk(*(queue_folder("", queue) for queue in self.queues))
        self.seats: dict[str, Seat] = {}  # of the living drivers, by number
        self.watchdog: Watchdog | None = None
        self.watchers: list[Watcher] = []
        self.before: list[Callable[[Seat, Any], bool]] = []  # asked before a driver's next thing; True: it died
        self.fate: Callable[[str, str, int], Fate] = lambda stage, id, attempt: "done"
        self.pace: dict[str, float] = {}
        self.acting = ""  # the seat that acts, or acted last
        self._agenda = Agenda()
        self._random = Random(seed)
        self._used = 0  # the highest number that a driver ever had
        self._recoveries: dict[tuple[str, str], SimRecovery] = {}
        self._armed = 0
        self.others = Walk(ITEM)  # documents that somebody else than a driver gave their next name
        self._ended: tuple[Walked, Walked] = ((), ())  # of drivers that are gone, and of their documents

    # ---- time -------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Virtual seconds since the world began."""
        return self._agenda.now

    def step(self, until: float) -> bool:
        """Let one thing happen, if it does by ``until``; False, with the clock there, where nothing does."""
        return self._agenda.step(until)

    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        """Enter a call into the agenda."""
        self._agenda.after(seconds, act, *args)

    # ---- the watchdog -----------------------------------------------------------------------------------------------

    def watch(self) -> None:
        """Start a watchdog, which adopts the drivers that live. Of no effect where one is there."""
        if self.watchdog is None:
            self.watchdog = Watchdog(self.stages, self.options, self._used + 1)
            for number, seat in self.seats.items():
                self._tell(Found(number, seat.stage))
            self._tell(Started())

    def kill_watchdog(self) -> None:
        """End it, and whatever it recovers, without a word; drivers go on."""
        self.watchdog = None
        for recovery in self._recoveries.values():
            recovery.crash()
        self._recoveries.clear()

    def order(self, order: object) -> None:
        """Give the watchdog an order when the world goes on; of no effect where there is none."""
        self.after(0.0, self._tell, Ordered(order))

    def _tell(self, event: Any) -> None:
        core = self.watchdog
        if core is None:
            return
        self.acting = WATCHDOG
        commands = core.handle(event, self.now)
        core.check()
        self._show(WATCHDOG, self.now, event, commands)
        for command in commands:
            self._command(command)
        self._armed += 1
        if self.watchdog is core:
            self._agenda.at(core.wake_at(), self._wake, self._armed)

    def _wake(self, ticket: int) -> None:
        if ticket == self._armed:
            self._tell(Woken())

    def _command(self, command: Any) -> None:
        match command:
            case Spawn(stage, number):
                self.spawn(stage, number)
            case Quit(number) if number in self.seats:
                seat = self.seats[number]
                seat.driver.leave(self._clock(seat))
                self._arm(seat)
            case Kill(number):
                self.kill(number)
            case Recover(stage, number):
                self.after(0.0, self._recover, stage, number)
            case Look():
                self.after(0.0, self._look)
            case Exit():
                self.watchdog = None

    def _look(self) -> None:
        done: set[str] = set()
        holders: set[tuple[str, str]] = set()
        for index, stage in enumerate(self.stages):
            before, after = self.listing(source(self.stages, index)), self.listing(stage.name)
            held = [item for item in map(names.parse, before) if isinstance(item, names.Item)]
            written = [item for item in map(names.parse, after) if isinstance(item, names.Item)]
            if names.DONE in before and names.DONE in after and not any(item.live for item in held):
                done.add(stage.name)
            holders |= {(stage.name, item.number) for item in held if item.state == "working"}
            holders |= {(stage.name, item.number) for item in written if item.state == "writing"}
        self._tell(Looked(frozenset(done), tuple(sorted(holders))))

    def listing(self, queue: str) -> tuple[str, ...]:
        """The names of the files in a queue."""
        return tuple(name for name, file in self.disk.folders[queue_folder("", queue)].items() if not file.kind)

    def walks(self) -> Walks:
        """How often each row of the state machines was walked, by the dead as well."""
        views = [seat.driver.core.snapshot(self._clock(seat)) for seat in self.seats.values()]
        drivers, documents = self._ended
        watchdog = self.watchdog
        return Walks(
            summed((documents, self.others.walked(), *(view.documents for view in views))),
            summed((drivers, *(view.walked for view in views))),
            watchdog.walked() if watchdog is not None else None,
            watchdog.stages_walked() if watchdog is not None else None,
        )

    # ---- recovery ---------------------------------------------------------------------------------------------------

    def _recover(self, stage: str, number: str) -> None:
        if not number.isdecimal() or not 0 < int(number) <= self._used:
            self._tell(Recovered(stage, number, 0, "another program holds them"))
            return
        key = (stage, number)
        try:
            recovery = SimRecovery(
                self.disk, self._config(stage, number), self.now, self.epoch, self._recovered, self.others
            )
        except ValueError:
            self._tell(Recovered(stage, number, 0, "a process that holds its lock still lives"))
            return
        self._recoveries[key] = recovery
        self.after(self._operation(), self._go_on, key, recovery)

    def _go_on(self, key: tuple[str, str], recovery: SimRecovery) -> None:
        if self._recoveries.get(key) is not recovery:
            return
        self.acting = RECOVERY
        refused = recovery.step().error in TROUBLE
        if recovery.settled is None:
            self.after(AGAIN if refused else self._operation(), self._go_on, key, recovery)
            return
        del self._recoveries[key]
        stuck = [id for id, outcome in recovery.settled if outcome == "stuck"]
        error = f"{names.kept(stuck[0])} is in the way" if stuck else ""
        self._tell(Recovered(*key, len(recovery.settled) - len(stuck), error))

    def _recovered(self, event: Any, commands: Sequence[Operation]) -> None:
        self._show(RECOVERY, self.now, event, commands)

    # ---- drivers ----------------------------------------------------------------------------------------------------

    def spawn(self, stage: str, number: str) -> Seat:
        """Start a driver's process. Raises ValueError where another one has its number."""
        config = self._config(stage, number)
        name = seat_of(stage, number)

        def told(now: float, event: Any, commands: Sequence[Any]) -> None:
            self.acting = name
            self._show(name, now, event, commands)

        def fate(id: str, attempt: int) -> Fate:
            return self.fate(stage, id, attempt)

        driver = SimDriver(self.disk, config, fate, self.now, self.epoch, told)
        self._used = max(self._used, int(number))
        seat = self.seats[number] = Seat(stage, driver, self.now)
        self._arm(seat)
        return seat

    def twin(self, number: str) -> None:
        """Start a second driver under a number that is taken; it says why it does not run."""
        seat = self.seats[number]
        try:
            self.spawn(seat.stage, number)
        except ValueError as error:
            refusal = [Note("bad", f"can not start: {error}"), Exit(str(error), True)]
            self._show("twin", self.now, Started(), refusal)

    def kill(self, number: str) -> None:
        """kill -9."""
        seat = self.seats[number]
        seat.driver.crash()
        self._bury(seat, -9)

    def freeze(self, number: str, seconds: float) -> None:
        """Stop a driver's process for so long (SIGSTOP)."""
        seat = self.seats[number]
        if not seat.frozen:
            seat.frozen = True
            self.after(seconds, self._thaw, seat)

    def skew(self, number: str, seconds: float) -> None:
        """Let a driver's clock jump ahead."""
        seat = self.seats[number]
        seat.offset += seconds
        self._arm(seat)

    def cut_power(self) -> None:
        """Everybody is gone, and what was not put on the disk."""
        self.kill_watchdog()
        for number in list(self.seats):
            self.kill(number)
        self.disk.cut_power()

    def _thaw(self, seat: Seat) -> None:
        seat.frozen = False
        self._arm(seat)

    def _arm(self, seat: Seat) -> None:
        """Enter the next thing that it does."""
        seat.ticket += 1
        driver = seat.driver
        if driver.writes and not driver.pending:
            seat.works = seat.works or self._random.uniform(*WORK) * self.pace.get(seat.stage, 1.0)
            self.after(seat.works, self._act, seat, seat.ticket)
        elif driver.busy:
            self.after(self._operation(), self._act, seat, seat.ticket)
        else:
            self._agenda.at(driver.wake_at() - seat.offset, self._act, seat, seat.ticket)

    def _act(self, seat: Seat, ticket: int) -> None:
        driver = seat.driver
        if ticket != seat.ticket or seat.frozen or not driver.alive:
            return
        if any(before(seat, driver.pending) for before in list(self.before)):
            return
        if driver.writes and not driver.pending:
            seat.works = 0.0
        self.acting = seat.name
        driver.step(self._clock(seat))
        if seat.driver.alive:
            self._arm(seat)
        else:
            self._bury(seat, -9 if not driver.ended else 1 if driver.failed else 0)

    def _bury(self, seat: Seat, code: int) -> None:
        number = seat.driver.config.number
        self.seats.pop(number, None)
        view = seat.driver.core.snapshot(self._clock(seat))
        self._ended = (summed((self._ended[0], view.walked)), summed((self._ended[1], view.documents)))
        docs = view.times.docs
        self.after(NOTICED, self._tell, Ended(number, code, bool(seat.driver.said), docs, seat.driver.ended))

    def _clock(self, seat: Seat) -> float:
        return self.now + seat.offset

    def _operation(self) -> float:
        return self._random.uniform(*OPERATION)

    def _config(self, stage: str, number: str) -> DriverConfig:
        index = [known.name for known in self.stages].index(stage)
        last = index == len(self.stages) - 1
        return DriverConfig(
            queue_folder("", source(self.stages, index)),
            queue_folder("", stage),
            number,
            max_files=0 if last else self.options.max_files,
            max_bytes=0 if last else self.options.max_bytes,
            keep_input=self.options.keep_input,
        )

    # ---- others -----------------------------------------------------------------------------------------------------

    def feed(self, id: str, text: str) -> bool:
        """A feeder puts a document in as 003 row 8 asks; False where the disk does not let it."""
        folder = queue_folder("", START)
        if self.disk.full or folder in self.disk.denied:
            return False
        self.disk.put(folder, f"{id}.tmp", text)
        return not self.outsider(FEEDER, Rename(folder, f"{id}.tmp", names.ready(id))).error

    def outsider(self, name: str, operation: Operation) -> Done:
        """Somebody who is no driver of ours does one operation."""
        answer = self.disk.perform(operation, "")
        self._show(name, self.now, answer, [])
        return answer

    def _show(self, name: str, now: float, event: Any, commands: Sequence[Any]) -> None:
        for watcher in self.watchers:
            watcher(name, name, now, event, commands)
