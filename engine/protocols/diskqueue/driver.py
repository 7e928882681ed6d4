"""One driver: takes a document at a time from a queue, has it processed, publishes the result.

The rules of this file:

- The driver's whole life is one procedure (``_life``) that reads from top to bottom. It yields a disk operation, a
  ``Wait`` or a ``Process`` at a time; ``handle`` turns each into a command and sends it the answer.
- Nothing is in flight but that one thing, so a driver that dies has done a prefix of its procedure.
- Its states and its documents' are those of ``machine.py``: each change goes through a row (``_went``, ``move``).
- Trouble with the disk (full, permission, a broken device) is nobody's failure: the same operation is asked for again
  after a while, with one alarm at its beginning and one note at its end.
- The end: ``done`` in the source and nothing left in it; the quit file; an order to leave.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import NamedTuple, cast

from engine.core import NEVER, Cancel, Exit, Level, Note, Ordered, Start, Started, Woken
from engine.parts.machine import Walk
from engine.parts.orders import Leave
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue import transitions as move
from engine.protocols.diskqueue.config import (
    IDLE_FIRST,
    IDLE_MOST,
    IDLE_STEP,
    TROUBLE_FIRST,
    TROUBLE_MOST,
    Accounts,
    DriverConfig,
    DriverTimes,
)
from engine.protocols.diskqueue.heirs import Heirs
from engine.protocols.diskqueue.listing import Listing
from engine.protocols.diskqueue.machine import DRIVER, ITEM, Does, If, Item, On
from engine.protocols.diskqueue.operations import (
    TROUBLE,
    Done,
    Exists,
    List,
    Log,
    Operation,
    Process,
    Processed,
    Remove,
    Steps,
    Touch,
    WriteOut,
)
from engine.protocols.diskqueue.pipeline import DriverView, Phase
from engine.protocols.diskqueue.queueviolations import TAKEN, TOUCHED, accusation, touched
from engine.protocols.diskqueue.room import Room

Event = Started | Woken | Done | Processed | Ordered
Command = Operation | Start | Cancel | Note | Exit


class _Wait(NamedTuple):
    seconds: float
    event: str  # why it waits


_ACCOUNTS = {Does.WORKING: "work", Does.IDLE: "wait", Does.BLOCKED: "block"}
BARRED = "another user's in a sticky folder, where nobody else can take it"
_REASONS = {On.LEAVE: "told to leave", On.DONE: "done", On.QUIT: "quit file"}

_Life = Generator[Operation | _Wait | Process, Done, None]

_NOTHING = Done(Exists("", ""))  # what a ``_Wait`` or a ``Process`` is answered with; nobody looks at it


class Driver:
    """The core of one driver; ``engine.drive.queuedriver`` and the simulator run it.

    ``epoch`` is what to add to ``now`` for wall-clock seconds since 1970; records and logs carry those.
    """

    def __init__(self, config: DriverConfig, epoch: float = 0.0) -> None:
        self.config = config
        self._epoch = epoch
        folder, _, name = config.quit_file.rpartition("/")
        self._quit = Exists(folder, name)
        self._now = 0.0
        self._walk, self._items = Walk(DRIVER), Walk(ITEM)
        self._phase: str = Does.STARTING
        self._spent = Accounts()
        self._held: move.Held | None = None
        self._listing, self._room, self._heirs = Listing(), Room(config), Heirs(config, self._note)
        self._outcome = Processed("failed")
        self._published = self._failed = self._given_up = self._lost = 0
        self._orders = 0  # to leave
        self.stuck = False  # something keeps a name of this driver's: it is to be recovered under its number
        self._asked: Operation | None = None  # what the disk was asked for and has not answered
        self._trouble = ""  # why an operation is being repeated
        self._blocked = ""  # why a document is being repeated
        self._pause = TROUBLE_FIRST
        self._quiet = False  # a log or timer file that cannot be written is told of once
        self._wake = NEVER
        self._out: list[Command] = []
        self._said: set[str] = set()
        self._broken: deque[tuple[str, str]] = deque(maxlen=100)  # (id, rule that somebody broke), not in the log yet
        self._life = self._live()

    # ---- the contract ----------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event at monotonic ``now``; the last command is the one thing to do next, if any."""
        self._out = []
        self._clock(now)
        if self._phase == Does.ENDED:
            return []
        match event:
            case Started():
                self._step(None)
            case Woken() if now < self._wake:
                pass
            case Woken() if self._asked is not None:
                self._wake = NEVER
                self._out.append(self._asked)
            case Woken():
                self._wake = NEVER
                self._step(_NOTHING)
            case Done():
                self._answer(event, now)
            case Processed():
                self._outcome = event
                self._step(_NOTHING)
            case Ordered(Leave()):
                self._leave()
            case Ordered():
                raise TypeError(f"a driver takes no such order: {event.order!r}")
        return self._out

    def wake_at(self) -> float:
        """The next deadline in monotonic seconds."""
        return self._wake

    def check(self) -> None:
        """Assert the invariants."""
        assert (self._held is None) or self._held.attempt in (1, move.ATTEMPTS)
        assert self._published >= 0 and self._given_up <= self._failed
        if self._phase in (Does.WORKING, Does.PUBLISHING, Does.FAILING):
            assert self._held is not None
        if self._phase in (Does.IDLE, Does.ENDED):
            assert self._held is None or self._trouble
        assert self._orders in (0, 1, 2)

    def snapshot(self, now: float) -> DriverView:
        """What an operator sees."""
        held = self._held
        return DriverView(
            now,
            self.config.number,
            "troubled" if self._trouble or self._blocked else cast(Phase, self._phase),
            held.id if held else "",
            held.attempt if held else 0,
            self._times(),
            self._published,
            self._failed,
            self._given_up,
            self._lost,
            self._trouble or self._blocked,
            self._walk.walked(),
            self._items.walked(),
        )

    # ---- from answer to next command -------------------------------------------------------------------------------

    def _step(self, answer: Done | None) -> None:
        """Send the procedure its answer and turn what it wants next into a command."""
        self._asked = None
        try:
            wanted = next(self._life) if answer is None else self._life.send(answer)
        except StopIteration:
            return  # it has said so
        match wanted:
            case _Wait(seconds, event):
                self._went(event)
                self._wake = self._now + seconds
            case Process():
                self._out.append(Start(wanted.id, wanted))
            case _:
                self._asked = wanted
                self._out.append(wanted)

    def _answer(self, answer: Done, now: float) -> None:
        if answer.operation != self._asked:
            raise AssertionError(f"an answer to what was not asked: {answer.operation}")
        if answer.error in TROUBLE:
            if isinstance(answer.operation, WriteOut | Log) or answer.operation == self._quit:
                # What only tells about the work must not hold it up.
                if not self._quiet:
                    self._note("warn", f"cannot use its own files: {answer.text}")
                self._quiet = True
            else:
                self._suffer(answer, now)
                return
        elif self._trouble:
            self._note("good", f"goes on after: {self._trouble}")
            self._trouble = ""
            self._pause = TROUBLE_FIRST
        if self._held is not None and touched(answer, self._held):
            self._broken.append((self._held.id, TOUCHED))
        self._step(answer)

    def _suffer(self, answer: Done, now: float) -> None:
        """The disk refuses: say so once, ask again later, and give up only when told twice to leave."""
        if not self._trouble:
            self._trouble = f"{answer.error}: {answer.text}"
            self._note("bad", f"paused, {self._trouble}")
        if self._orders > 1 or (self._orders and self._held is None):
            self._life.close()
            self._went(On.TROUBLE, If.LEAVES)
            self._exit(f"left while {self._trouble}", failed=True)
            return
        self._went(On.TROUBLE)
        self._wake = now + self._pause
        self._pause = min(self._pause * 2, TROUBLE_MOST)

    def _leave(self) -> None:
        """The first order: finish the item at hand. The second: give it back (ruling 7)."""
        self._orders = min(self._orders + 1, 2)
        if self._phase == Does.WORKING and self._orders > 1 and self._held is not None:
            self._out.append(Cancel(self._held.id))
        elif self._wake != NEVER:
            self._wake = self._now  # no reason to sleep any longer

    # ---- the procedure ---------------------------------------------------------------------------------------------

    def _live(self) -> _Life:
        """A driver's life."""
        config, keep = self.config, self.config.keep_input
        settled = yield from move.recover(config.src, config.dst, config.number, keep, self._wall(), self._items)
        for id, outcome in settled:
            self._note("warn", f"left over from a driver {config.number} that died: {outcome}", id)
        yield from self._save()  # its first appearance says that the driver has started
        self._went(On.SETTLED)
        idle = IDLE_FIRST
        while not (end := (yield from self._why_end())):
            full = yield from self._room.full()
            if full:
                yield from self._list()  # for it may be done nevertheless
            if not (full and self._listing.finished) and (news := self._room.news(full)):
                self._note("info", news)
            if not full and (yield from self._take()):
                idle = IDLE_FIRST
                yield from self._work()
            elif not full and (yield from self._heirs.look(self._listing.held, self._now, self._wall(), self._items)):
                self._went(On.INHERITED)
                idle = IDLE_FIRST
            elif not self._listing.finished:
                yield _Wait(idle, On.FULL if full else On.NOTHING)
                idle = min(idle + IDLE_STEP, IDLE_MOST)
                self._went(On.WAKES)
            yield from self._save()
        self._went(end)
        self._exit(_REASONS[end])

    def _why_end(self) -> Steps[str]:
        """The event by which it ends now, or the empty string."""
        if self._orders:
            return On.LEAVE
        if self._listing.finished:  # 003 row 5
            yield Touch(self.config.dst, names.DONE)
            return On.DONE
        if self.config.quit_file and not (yield self._quit).error:  # 003 row 10
            return On.QUIT
        return ""

    def _list(self) -> Steps[None]:
        """Look at the source anew."""
        began = self._now
        for name, reason in self._listing.read((yield List(self.config.src)), began, self._now):
            self._strange(name, reason)

    def _take(self) -> Steps[bool]:
        """Lock the next document; False where there is none."""
        config = self.config
        fresh = False
        while True:
            item = self._listing.next(self._now)
            if item is None and not fresh:
                yield from self._list()
                fresh, item = True, self._listing.next(self._now)
            if item is None:
                return False
            held = move.Held(config.src, config.dst, item.id, config.number, 1 if item.state == Item.READY else 2)
            leftovers = self._listing.leftovers(item)
            error = yield from move.take(held, item.state, leftovers, self._wall(), self._items)
            if not error:
                self._held = held
                self._went(On.TAKEN)
                return True
            if error == "foreign":
                self._strange(names.of(item.state, item.id), BARRED)
                continue
            self._lost += 1  # 003 row 6
            if error == "exists":
                self._note("bad", f"somebody else works under number {config.number}", item.id)
                self._broken.append((item.id, TAKEN))

    def _work(self) -> _Life:
        """Have the document in hand processed, and settle it."""
        held = self._held
        assert held is not None
        began = self._now
        input = f"{held.src}/{names.working(held.id, held.number)}"
        output = f"{held.dst}/{names.writing(held.id, held.number)}"
        pause = TROUBLE_FIRST
        while True:
            yield Process(held.id, held.attempt, input, output)
            outcome, text = self._outcome
            if outcome == "done":
                self._went(On.PROCESSED)
                text = yield from move.publish(held, self._items)
                self._went(On.REFUSED if text else On.RENAMED)
                if text:
                    outcome = "failed"
            elif outcome != "blocked":
                self._went(On.FAILS if outcome == "failed" else On.CANCELLED)
            if outcome != "blocked":
                break
            # A full disk says nothing about the document: no attempt is used up.
            yield Remove(held.dst, names.writing(held.id, held.number))
            if not self._blocked:
                self._note("bad", f"paused, {text}", held.id)
            self._blocked = text
            if not self._orders:
                yield _Wait(pause, On.NO_ROOM)
                pause = min(pause * 2, TROUBLE_MOST)
            if self._orders:
                self._went(On.CANCELLED)
                outcome = "cancelled"
                break
            self._went(On.WAKES, If.BLOCKED)
        if self._blocked and outcome == "done":
            self._note("good", f"goes on after: {self._blocked}", held.id)
        self._blocked = ""
        yield from self._settle(held, outcome, text, (self._now - began) * 1000)

    def _settle(self, held: move.Held, outcome: str, text: str, ms: float) -> Steps[None]:
        """Give the processed document its next name and write its line in the log."""
        settled: move.Settled = "published"
        if outcome == "done":
            self._published += 1
        else:
            if outcome == "cancelled":
                settled = yield from move.give_back(held, self.config.keep_input, self._wall(), self._items)
                self._note("info", "given back" if settled == "returned" else settled, held.id)
            else:
                self._failed += 1
                settled = yield from move.fail(held, text, self.config.keep_input, self._wall(), self._items)
                self._given_up += settled == "failed_twice"
                self._note("warn" if settled == "failed" else "bad", f"{settled}: {text}", held.id)
            self.stuck = self.stuck or settled == "stuck"
            self._went(On.SETTLED)
        self._held = None
        if self.config.log_file:
            reason = " ".join(text.split())[:500]
            yield Log(
                self.config.log_file, f"{self._wall():.3f}\t{settled}\t{held.attempt}\t{ms:.0f}\t{held.id}\t{reason}"
            )
            while self._broken:
                yield Log(self.config.log_file, accusation(self._wall(), *self._broken.popleft()))

    def _save(self) -> Steps[None]:
        if self.config.timer_file:
            yield WriteOut(self.config.timer_file, self._times().text())

    # ---- small things ----------------------------------------------------------------------------------------------

    def _wall(self) -> float:
        return self._epoch + self._now

    def _clock(self, now: float) -> None:
        """Put the time since the last event on the account of the phase that it passed in."""
        account = "block" if self._trouble else _ACCOUNTS.get(self._phase, "overhead")
        self._spent.add(account, now)
        self._now = now

    def _went(self, event: str, guard: str = "") -> None:
        self._phase = self._walk.step(self._phase, event, guard)

    def _times(self) -> DriverTimes:
        return self._spent.times(self._published + self._failed)

    def _strange(self, name: str, reason: str) -> None:  # what lies under a name that nobody will take is said once
        if name not in self._said and len(self._said) < 1000:
            self._said.add(name)
            self._note("warn", f"not a document: {reason}", name)

    def _note(self, level: Level, text: str, subject: str = "") -> None:
        self._out.append(Note(level, text, subject.encode("utf-8", "surrogateescape")))

    def _exit(self, reason: str, failed: bool = False) -> None:
        self._wake = NEVER
        self._out.append(Exit(reason, failed))
