"""A lab of another process, over its control socket: the same screens and orders as if it ran here.

The rules of this file:

- One thread has the connection. It asks ``HERTZ`` times a second what has changed, and puts that into the feed.
- It is never given up: whoever is not heard any more is asked again until the lab is closed, and the last pictures
  stay. ``stale`` says for how long; what was missed is said, and shows as a gap in the numbers of the events.
- An order waits for its answer. Whether it is refused, is decided on the other side; here only ``readonly`` is.
- What can not be read is not believed: pictures stay as they are, and it is said once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, Self

from engine.core import Note
from engine.drive.control.caller import Line, check
from engine.drive.control.found import Found
from engine.drive.control.wire import Message
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.codec import Unreadable
from engine.labs.content import BrokerLab
from engine.labs.desk import packed
from engine.labs.health import Health
from engine.labs.lab import Mode
from engine.labs.shared import Copy, codec_of
from engine.parts.bulk import BulkSpec
from engine.runs.history import History
from engine.system import System
from engine.tracing.trace import Trace

HERTZ = 4
STALE = 2.0  # seconds without an answer after which what is shown is not what is
PATIENCE = 5.0  # seconds that the first pictures, or the answer to an order, may take
STEP = 0.05  # seconds that the thread waits for an answer before it looks for orders
CLOSE = 1.0
GIVEN_UP = 1.0  # seconds after which a question is asked again


class Remote(BrokerLab):
    """A process with a broker, or with workers of one. ``found``: who it is; ``history``: this user's kept runs."""

    mode: ClassVar[Mode] = "remote"

    def __init__(self, found: Found, system: System, *, readonly: bool = False, history: History | None = None) -> None:
        self.system, self.options, self.found = system, system.options(), found
        self.endpoints = found.endpoints
        self.readonly = self._readonly = readonly
        self.feed = Feed()
        self.started = time.monotonic()
        self._history = history
        self._codec = codec_of(system)
        self._copy = Copy(self._codec)
        self._instance, self._serial, self._facts = "", 0, 0
        self._coming = 0  # the serial whose pages are coming
        self._lane = ""
        self._health = Health((), 0.0)
        self._heard: float | None = None  # when the other side answered last
        self._missed = False  # it was said that it does not
        self._wrong = ""  # what was wrong with an answer
        self._first: Future[None] = Future()  # done with the first pictures
        self._orders: deque[tuple[str, bytes, Future[None]]] = deque()
        self._asked: dict[int, Future[None]] = {}
        self._closing = threading.Event()
        self._dead: str | None = None
        self._thread = threading.Thread(target=self._main, name=f"roundhouse-{found.name}", daemon=True)

    # ---- life -------------------------------------------------------------------------------------------------------

    def open(self) -> Self:
        """Attach. Raises Refused where nobody answers, or in another version."""
        check(self.found.path, self.found.name)
        self._thread.start()
        try:
            self._first.result(PATIENCE)
        except TimeoutError:
            self.close()
            raise Refused(f"{self.found.name} does not answer") from None
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Let go of it; it goes on."""
        self._closing.set()
        self._thread.join(CLOSE)

    @property
    def stale(self) -> float:
        """Seconds for which it has not been heard; 0 while it is."""
        age = time.monotonic() - self._heard if self._heard is not None else 0.0
        return age if age > STALE else 0.0

    def health(self) -> Health:
        """As the other side says, and whether the thread here lives."""
        dead = (f"attached: {self._dead}",) if self._dead is not None else ()
        return self._health._replace(dead=(*self._health.dead, *dead))

    @property
    def lane(self) -> str:
        """The lane that is asked for there."""
        return self._lane

    def seat_of(self, key: bytes) -> str | None:
        """What a worker of that process is called there."""
        return self._copy.seats.get(key)

    def runs(self) -> Sequence[Mapping[str, Any]]:
        """The kept runs of this user."""
        return [dict(run) for run in self._history.list()[0]] if self._history else []

    # ---- taps -------------------------------------------------------------------------------------------------------

    def attach(self, trace: Trace) -> None:
        """Refused: messages are not carried yet."""
        raise Refused("the messages of another process are not shown yet")

    def detach(self, trace: Trace) -> None:
        """Nothing is attached."""

    # ---- orders -----------------------------------------------------------------------------------------------------

    def inspect(self, key: bytes | None) -> None:
        """Show the details of one worker in the broker's pictures, to all who look; None: of nobody."""
        self._queue("inspect", (key,))

    def run(self, spec: BulkSpec) -> None:
        """Let the client there start a run."""
        self._order("run", spec)

    def stop_run(self) -> None:
        """Let the client there stop its run."""
        self._order("stop_run")

    def order_client(self, order: object, changes: str = "") -> None:
        """Hand the client there an order of its own protocol."""
        self._order("order_client", order, changes)

    def choose_lane(self, lane: str) -> None:
        """Let all there ask for this lane."""
        self._order("choose_lane", lane)

    def register(self) -> None:
        """Let the worker there join."""
        self._order("register")

    def deregister(self) -> None:
        """Let it leave."""
        self._order("deregister")

    def bulk(self) -> None:
        """Let children be started there."""
        self._order("bulk")

    def endbulk(self) -> None:
        """Let them leave."""
        self._order("endbulk")

    def add_workers(self, n: int) -> None:
        """Start n more workers there."""
        self._order("add_workers", n)

    def remove_workers(self, n: int) -> None:
        """Let the n youngest there leave."""
        self._order("remove_workers", n)

    def stop_worker(self, key: bytes) -> None:
        """Stop one worker, by its routing id."""
        self._order("stop_worker", key)

    def slow(self, seconds: float) -> None:
        """Let the workers there answer so many seconds later."""
        self._order("slow", seconds)

    def withdraw(self, client: bytes) -> None:
        """Drop what waits of a client, by its routing id."""
        self._order("withdraw", client)

    def pull_plug(self) -> None:
        """End the primary of a pair there as if it had died."""
        self._order("pull_plug")

    def hand_back(self) -> None:
        """Start it again, or let the fallback give the service back."""
        self._order("hand_back")

    def operate(self, word: str, **fields: str) -> None:
        """A word to a broker of a pair, or ``config``; ``pair`` only asks."""
        self._order("operate", word, tuple(fields.items()), looks=word == "pair")

    def _order(self, name: str, *args: Any, looks: bool = False) -> None:
        if not looks:
            self._change(f"the order {name.replace('_', ' ')}")
        answer = self._queue(name, args)
        try:
            answer.result(PATIENCE)
        except TimeoutError:
            raise Refused(f"{self.found.name} has not answered the order; what came of it is not known") from None

    def _queue(self, name: str, args: tuple[Any, ...]) -> Future[None]:
        if self.stale:
            raise Refused(f"{self.found.name} is not there")
        answer: Future[None] = Future()
        self._orders.append((name, packed(self._codec, args), answer))
        return answer

    # ---- the thread -------------------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            with Line(self.found.path) as line:
                self._talk(line)
        except Exception as error:  # the screen says so, as long as it is there
            self._dead = f"{type(error).__name__}: {error}"
            self._say("bad", f"attached no more: {self._dead}")
            if not self._first.done():
                self._first.set_exception(Refused(self._dead))

    def _talk(self, line: Line) -> None:
        looking: tuple[int, float] | None = None  # the question that is out, and when it was asked
        due, pages = 0.0, list[bytes]()
        while not self._closing.is_set():
            now = time.monotonic()
            if looking is not None and now > looking[1] + GIVEN_UP:
                looking, pages = None, []
            if looking is None and now >= due and line.idle:
                looking = line.ask("look", **self._wanted(len(pages))), now
                due = now + 1 / HERTZ
            while self._orders and line.idle:
                name, args, answer = self._orders.popleft()
                self._asked[line.ask("order", Name=name, Args=args)] = answer
            for said in line.hear(STEP):
                if isinstance(said, str) or looking is None or said.id != looking[0]:
                    self._answered(said)
                    continue
                looking = None
                try:
                    pages = self._looked(said, pages)
                except (Unreadable, TypeError, ValueError, KeyError) as why:
                    self._distrust(f"{self.found.name} tells what can not be read: {why}")
                    pages, self._serial = [], 0
                due = 0.0 if pages else due
            if self.stale and not self._missed:
                self._missed = True
                self._say("warn", f"{self.found.name} does not answer: what is shown is what was heard last")

    def _wanted(self, page: int) -> dict[str, Any]:
        pool = time.monotonic() < self.feed.looked("pool") + 1.0
        asked = {"Instance": self._instance, "Since": self._serial, "Facts": self._facts}
        return {**asked, "Page": page, "Pool": pool}

    def _answered(self, said: Message | str) -> None:
        """The answer to an order, or what is no answer of this version."""
        if isinstance(said, str) or said.id == 0:
            self._distrust(said if isinstance(said, str) else str(said.fields.get("Why")))
        elif (answer := self._asked.pop(said.id, None)) is not None:
            if said.word == "refused":
                answer.set_exception(Refused(str(said.fields.get("Why"))))
            else:
                answer.set_result(None)

    def _distrust(self, why: str) -> None:
        if why != self._wrong:
            self._wrong = why
            self._say("bad", why)
        if not self._first.done():
            self._first.set_exception(Refused(why))

    def _looked(self, said: Message, pages: list[bytes]) -> list[bytes]:
        """Take an answer; the pages so far of pictures that are not all here yet."""
        told = said.fields
        if said.word != "looked":
            raise Unreadable(str(told.get("Why", said.word)))
        now = time.monotonic()
        again, away = told["Instance"] != self._instance, now - (self._heard if self._heard is not None else now)
        if again and self._instance:
            self._say("warn", f"{self.found.name} was started anew; it was away for {away:.1f} s at most")
        elif self._missed:
            self._say("good", f"{self.found.name} answers again, after {away:.1f} s")
        if again:
            self._instance, self._serial, self._facts, pages = str(told["Instance"]), 0, 0, []
        self._heard, self._missed = now, False
        self.started = now - float(told["Up"])
        self.endpoints, self._lane = tuple(map(str, told["Endpoints"])), str(told["Lane"])
        self.readonly = self._readonly or told["Readonly"] is True
        self._health = Health(tuple(map(str, told["Dead"])), float(told["Lag"]), int(told["Left"]))
        if again:
            return []  # what it told was by numbers of another
        self._take_facts(told["Facts"], int(told["Lost"]))
        return self._take_pages(told, pages)

    def _take_pages(self, told: Mapping[str, Any], pages: list[bytes]) -> list[bytes]:
        count, serial = int(told["Pages"]), int(told["Serial"])
        if not count:
            return []
        if pages and serial != self._coming:
            return []  # newer ones were drawn meanwhile: from the beginning
        self._coming = serial
        pages = [*pages, bytes(told["Data"])]
        if len(pages) < count:
            return pages
        self._copy.take(pages, told["Whole"] is True)
        self._serial = serial
        for name in ("broker", "fallback", "client"):
            self.feed.show(name, self._copy.pictures.get(name))
        self.feed.show("pool", self._copy.pool)
        if not self._first.done():
            self._first.set_result(None)
        return []

    def _take_facts(self, facts: Any, lost: int) -> None:
        if lost and self._facts:
            self.feed.skip(lost)
        for number, at, source, level, text, subject in facts:
            if level not in ("good", "info", "warn", "bad") or type(subject) is not bytes:
                raise Unreadable("no event")
            self.feed.fact(Note(level, str(text), subject), str(source), float(at))
            self._facts = int(number)

    def _say(self, level: Any, words: str) -> None:
        self.feed.fact(Note(level, words), "attached", time.time())
