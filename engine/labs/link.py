"""The connection of a lab to another process, over its control socket.

The rules of this file:

- One thread has the connection. It asks ``HERTZ`` times a second what has changed, and tells its lab.
- It never gives up: a process that does not answer is asked again until the lab is closed. ``stale`` says for how
  long; what was missed is said, and shows as a gap in the numbers of the events.
- An order waits for its answer. Whether it is refused, is decided on the other side.
- What can not be read is not believed: it changes nothing, and it is said once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from engine.core import Note
from engine.drive.control.caller import Line, check
from engine.drive.control.found import Found
from engine.drive.control.wire import Message
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.codec import Codec, Unreadable
from engine.labs.controlsession import packed
from engine.labs.far import FarTrace
from engine.labs.health import Health

HERTZ = 4
STALE = 2.0  # seconds without an answer after which what is shown is not what is
PATIENCE = 5.0  # seconds that the first answer, or that to an order, may take
STEP = 0.05  # seconds that the thread waits for an answer before it looks for orders
CLOSE = 1.0
GIVEN_UP = 1.0  # seconds after which a question is asked again


class Side(Protocol):
    """Who is told. Both may raise Unreadable, TypeError, ValueError and KeyError; called on the link's thread."""

    def told(self, about: Mapping[str, Any]) -> None:
        """What the other side says of itself, in fields of ``looked``."""

    def shown(self, pages: list[bytes], whole: bool) -> None:
        """Pictures: what has changed in them, or all."""


class Link:
    """``found``: the other side; ``feed``: where its events go. ``health``: as it says, and of the thread here."""

    def __init__(self, found: Found, codec: Codec, feed: Feed, side: Side) -> None:
        self.found, self._codec, self._feed, self._side = found, codec, feed, side
        self._health = Health((), 0.0)
        self.minutes = b""  # the history of the other side, as its file is; empty where it tells none
        self._history = 0  # the question for it
        self._instance, self._serial, self._facts = "", 0, 0
        self._coming = 0  # the serial whose pages are coming
        self._heard: float | None = None  # when the other side answered last
        self._missed = False  # it was said that it does not
        self._wrong = ""  # what was wrong with an answer
        self._first: Future[None] = Future()  # done with the first pictures
        self._orders: deque[tuple[str, bytes, Future[str | None]]] = deque()
        self._asked: dict[int, Future[str | None]] = {}
        self._traces: list[FarTrace] = []
        self._tapped: dict[int, FarTrace] = {}
        self._ended: deque[FarTrace] = deque()
        self._closing = threading.Event()
        self._dead: str | None = None
        self._thread = threading.Thread(target=self._main, name=f"roundhouse-{found.name}", daemon=True)

    # ---- for other threads ------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Attach. Raises Refused where nobody answers, or in another version."""
        check(self.found.path, self.found.name)
        self._thread.start()
        try:
            self._first.result(PATIENCE)
        except TimeoutError:
            self.close()
            raise Refused(self._wrong or f"{self.found.name} does not answer") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Disconnect. The other process goes on."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE)

    @property
    def stale(self) -> float:
        """Seconds for which it has not been heard; 0 while it is."""
        age = time.monotonic() - self._heard if self._heard is not None else 0.0
        return age if age > STALE else 0.0

    @property
    def health(self) -> Health:
        """As the other side says, and whether the thread here lives."""
        dead = (f"attached: {self._dead}",) if self._dead is not None else ()
        return self._health._replace(dead=(*self._health.dead, *dead))

    def order(self, name: str, args: tuple[Any, ...]) -> str | None:
        """Have an order carried out there; what came of it. Raises Refused, in the words of the other side."""
        answer = self.post(name, args)
        try:
            return answer.result(PATIENCE)
        except TimeoutError:
            raise Refused(f"{self.found.name} has not answered the order; what came of it is not known") from None

    def post(self, name: str, args: tuple[Any, ...]) -> Future[str | None]:
        """The same, without waiting. Raises Refused where nobody is there."""
        if self.stale or self._dead is not None:
            raise Refused(f"{self.found.name} is not there")
        answer: Future[str | None] = Future()
        self._orders.append((name, packed(self._codec, args), answer))
        return answer

    def attach(self, trace: FarTrace) -> None:
        """Have a trace told what passes there from now on."""
        self._traces = [*self._traces, trace]

    def detach(self, trace: FarTrace) -> None:
        """Tell it nothing more."""
        if trace in self._traces:
            self._traces = [other for other in self._traces if other is not trace]
            self._ended.append(trace)

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
        self._history = line.ask("minutes")
        looking: tuple[int, float] | None = None  # the question that is out, and when it was asked
        due, pages = 0.0, list[bytes]()
        while not self._closing.is_set():
            now = time.monotonic()
            if looking is not None and now > looking[1] + GIVEN_UP:
                looking, pages = None, []
            if looking is None and now >= due and line.idle:
                looking = line.ask("look", **self._wanted(len(pages))), now
                due = now + 1 / HERTZ
                self._pull(line)
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
            if line.trouble:
                self._distrust(line.trouble)
            if self.stale and not self._missed:
                self._missed = True
                self._say("warn", f"{self.found.name} does not answer: what is shown is what was heard last")

    def _wanted(self, page: int) -> dict[str, Any]:
        pool = time.monotonic() < self._feed.looked("pool") + 1.0
        asked = {"Instance": self._instance, "Since": self._serial, "Facts": self._facts}
        return {**asked, "Page": page, "Pool": pool}

    def _pull(self, line: Line) -> None:
        """Ask for the messages that the traces have missed, and report a trace that has ended."""
        self._tapped = {}  # what has not come by now, is asked for again
        for trace in self._traces:
            self._tapped[line.ask("tap", Tap=trace.name, After=trace.total, End=False)] = trace
        while self._ended:
            line.ask("tap", Tap=self._ended.popleft().name, After=0, End=True)

    def _answered(self, said: Message | str) -> None:
        """Take an answer to an order, messages for a trace, or something that is no answer of this version."""
        if isinstance(said, str) or said.id == 0:
            self._distrust(said if isinstance(said, str) else str(said.fields.get("Why")))
        elif said.id == self._history:
            data = said.fields.get("Data")  # none of a process that knows no such word
            self.minutes = data if type(data) is bytes else b""
        elif (answer := self._asked.pop(said.id, None)) is not None:
            if said.word == "refused":
                answer.set_exception(Refused(str(said.fields.get("Why"))))
            else:
                answer.set_result(str(said.fields.get("Came", "")) or None)
        elif (trace := self._tapped.pop(said.id, None)) is not None:
            try:
                trace.take(said.fields)
            except Unreadable as why:
                self._distrust(f"{self.found.name} tells what can not be read: {why}")

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
            self._instance, self._serial, self._facts = str(told["Instance"]), 0, 0
            for trace in self._traces:
                trace.anew()
        self._heard, self._missed = now, False
        self._health = Health(tuple(map(str, told["Dead"])), float(told["Lag"]), int(told["Left"]))
        self._side.told(told)
        if again:
            return []  # what it told was by numbers of another
        self._take_facts(told["Facts"], int(told["Lost"]))
        return self._take_pages(told, pages)

    def _take_pages(self, told: Mapping[str, Any], pages: list[bytes]) -> list[bytes]:
        count, serial = int(told["Pages"]), int(told["Serial"])
        if count and pages and serial != self._coming:
            return []  # newer ones were drawn meanwhile: from the beginning
        if count:
            self._coming = serial
            pages = [*pages, bytes(told["Data"])]
            if len(pages) < count:
                return pages
            self._side.shown(pages, told["Whole"] is True)
            self._serial = serial
        if (count or told["Bare"] is True) and not self._first.done():
            self._first.set_result(None)
        return []

    def _take_facts(self, facts: Any, lost: int) -> None:
        if lost and self._facts:
            self._feed.skip(lost)
        for number, at, source, level, text, subject in facts:
            if level not in ("good", "info", "warn", "bad") or type(subject) is not bytes:
                raise Unreadable("no event")
            self._feed.fact(Note(level, str(text), subject), str(source), float(at))
            self._facts = int(number)

    def _say(self, level: Any, words: str) -> None:
        self._feed.fact(Note(level, words), "attached", time.time())
