"""What a control socket tells of a lab, and how it takes orders to it: the words beside ``hello``.

The rules of this file:

- Viewers ask, nobody is sent anything unasked: one that is stopped costs nothing.
- Pictures are taken at most once in ``EVERY`` seconds, and so seldom that this takes a ``SHARE`` of a core at most,
  whoever asks and how often: what the nodes draw for them, on their own threads, and what is packed here. The nodes
  draw them a little earlier, because they were looked at.
- A trace is bounded, and ends where nobody has asked for it in ``UNPULLED`` seconds.
- Orders are carried out one after the other on a thread of their own, under the lab's ``turn``, so that the socket goes
  on answering. Only orders of ``engine.labs.carried`` are known.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgpack

from engine.core import Note
from engine.drive.clockname import clock_name
from engine.drive.control.found import about
from engine.drive.control.place import place_of
from engine.drive.control.server import Control, Said, Word, listen
from engine.drive.sockets import Context
from engine.errors import Refused
from engine.feed import Fact
from engine.labs.audit import Giver, given_by, keep, looks, words_of
from engine.labs.brokers import FIRST, SECOND
from engine.labs.carried import arguments
from engine.labs.content import BrokerLab
from engine.labs.far import ENTRIES, packed_entries
from engine.labs.shared import VIEWS, Easel, codec_of, crew_of
from engine.labs.standing import OFF, ON, Standing, wanted
from engine.parts.unpacking import unpack
from engine.parts.view import BrokerView
from engine.system import Orders
from engine.tracing.ring import Ring

EVERY = 0.2  # seconds between two sets of pictures, at least
SHARE = 0.03  # of a core that may be spent on them
DRAWN = 0.12  # seconds that a node may take to draw
AHEAD = 0.3  # seconds before pictures are due at which the nodes are to begin
ASKED = 3.0  # seconds for which the workers' own pictures are drawn after somebody has asked for them
FACTS = 200  # in one answer
WAITING = 100  # orders
TAPS = 8  # traces at once
KEPT = 2000  # messages of one
UNPULLED = 5.0  # seconds
CAME = 4000  # characters of what came of an order


class ControlSession:
    """Of a lab. ``control``: its socket, where there is one; ``role``: what it is called."""

    control: Control | None = None

    def __init__(self, lab: Any, role: str) -> None:
        self.words: dict[str, Word] = {"look": self._look, "order": self._order, "clock": _clock}
        self.instance = secrets.token_hex(8)  # tells this run from the next one at the same socket
        self._role, self._lab, self._codec = role, lab, codec_of(lab.system)
        self._waiting = 0
        self._clerk = ThreadPoolExecutor(1, "roundhouse-orders")

    def listen(self, context: Context, folder: Path, at: Path | None, orders: tuple[Orders, str] | None) -> None:
        """Open the socket, ``at`` this path or at the usual one in the folder. ``orders``: as in ``Control``."""
        place = at or place_of(folder, self._role, self._lab.endpoints)
        told = about(self._lab.system.name, self._role, self._lab.endpoints)
        self.control = self._lab.control = listen(
            context, place, told, self.all_words, orders, readonly=self._lab.readonly, ordered=self._ordered
        )

    @property
    def all_words(self) -> Mapping[str, Word]:
        """These, and those of whoever runs the lab, who may add some later."""
        return ChainMap(self._lab.words, self.words)

    @property
    def dead(self) -> str | None:
        """What ended the socket's thread, if an error of ours did."""
        return self.control.dead if self.control is not None else None

    def close(self) -> None:
        """Take no more orders."""
        self._clerk.shutdown(wait=False, cancel_futures=True)

    # ---- pictures and events ----------------------------------------------------------------------------------------

    def _look(self, fields: dict[str, Any]) -> Said:
        """What is to be seen now: all of it, or what has changed since a serial of this instance."""
        since = _number(fields, "Since") if fields.get("Instance") == self.instance else 0
        told = {**self._about(), **self._pictures(since, _number(fields, "Page"), fields.get("Pool") is True)}
        told["Options"] = asdict(self._lab.options) if since == 0 else {}
        facts, lost = self._lab.feed.since(_number(fields, "Facts"))
        told["Facts"] = [list(_shortened(fact)) for fact in facts[:FACTS]]
        return "looked", {**told, "Lost": lost, "More": max(0, len(facts) - FACTS)}

    def _pictures(self, since: int, page: int, pool: bool) -> dict[str, Any]:
        """None: they are to be seen elsewhere."""
        return {"Serial": 0, "Whole": False, "Pages": 0, "Data": b"", "Bare": True}

    def _about(self) -> dict[str, Any]:
        lab = self._lab
        health = lab.health()
        return {
            "Instance": self.instance,
            "Up": time.monotonic() - lab.started,
            "Endpoints": list(getattr(lab, "endpoints", ())),
            "Readonly": lab.readonly,
            "Lane": getattr(lab, "lane", ""),
            "Dead": list(health.dead),
            "Lag": health.loop_lag,
            "Left": health.failed,
        }

    # ---- orders -----------------------------------------------------------------------------------------------------

    def _order(self, fields: dict[str, Any]) -> Future[Said]:
        """Carry out an order: ``Name``, and ``Args`` as the codec writes them."""
        data = fields.get("Args")
        if type(data) is not bytes:
            raise ValueError("no arguments")
        name, args = arguments(self._lab.system, self._codec, fields.get("Name"), unpack(data, 10_000))
        if self._waiting >= WAITING:
            raise Refused(f"{WAITING} orders wait already")
        self._waiting += 1
        return self._clerk.submit(self._carry_out, name, args, giver_of(fields))

    def _carry_out(self, name: str, args: tuple[Any, ...], giver: Giver) -> Said:
        try:
            if not looks(name, args):
                words = words_of(self._lab, name, args)
                self._lab.feed.fact(Note("info", f"{giver[0]} orders: {words}"), "control", time.time())
            with self._lab.turn, given_by(giver):
                if name == "operate":
                    came = self._lab.operate(args[0], **dict(args[1]))
                else:
                    came = getattr(self._lab, name)(*args)
        finally:
            self._waiting -= 1
        return "done", {"Came": came[:CAME] if isinstance(came, str) else ""}

    def _ordered(self, giver: Giver, request: object) -> Callable[[str], None]:
        """Somebody gives the broker an order of its clients; what keeps its line, once it is known what came of it."""
        words = words_of(self._lab, "", (request,))
        return lambda came: keep(self._lab, self._lab.audit, giver, words, came)


class BrokerControlSession(ControlSession):
    """Of a lab with a broker, or with the workers of one.

    ``seats``: the names of its workers by their routing ids, as they are now.
    """

    def __init__(self, lab: BrokerLab, role: str, seats: Callable[[], Mapping[bytes, str]]) -> None:
        super().__init__(lab, role)
        self.words |= {"tap": self._tap, "legs": self._legs}
        self._seats = seats
        self._easel = Easel(self._codec, lab.seat_of)
        self._due = 0.0
        self._spent, self._drawn = (
            0.0,
            lab.feed.spent,
        )  # processor seconds since the newest pictures here; all that nodes drew for
        self._touched: float | None = float("-inf")  # when the nodes were told to draw for the next set
        self._pool_until = 0.0
        self._traces: dict[str, tuple[Ring[Any], float]] = {}  # by the viewer's word, and when it was asked for last
        self._standing: Standing | None = None
        self._closing = threading.Event()
        self._sweeper: threading.Thread | None = None

    def close(self) -> None:
        """Take no more orders, trace nothing more."""
        super().close()
        self._closing.set()

    # ---- pictures ---------------------------------------------------------------------------------------------------

    def _pictures(self, since: int, page: int, pool: bool) -> dict[str, Any]:
        now, began = time.monotonic(), time.thread_time()
        try:
            return self._told(now, began, since, page, pool)
        finally:
            self._spent += time.thread_time() - began

    def _told(self, now: float, began: float, since: int, page: int, pool: bool) -> dict[str, Any]:
        if pool:
            self._pool_until = now + ASKED
        if page == 0:
            self._draw(now, began)
        if self._easel.serial == 0 or (since == self._easel.serial and not pool):
            return {"Serial": since, "Whole": False, "Pages": 0, "Data": b"", "Bare": False}
        pages = self._easel.pages(since, now < self._pool_until)
        page = min(page, len(pages) - 1)
        whole = since not in self._easel.known
        return {
            "Serial": self._easel.serial, "Whole": whole, "Pages": len(pages), "Data": pages[page], "Bare": False
        }  # fmt: skip

    def _draw(self, now: float, began: float) -> None:
        """Take a new set of pictures where one is due, or let the nodes draw one. ``began``: processor seconds."""
        feed = self._lab.feed
        names = (*VIEWS, "pool") if now < self._pool_until or not self._lab.endpoints else tuple(VIEWS)
        if self._touched is not None and now > self._touched + ASKED:
            self._touched = None  # nobody has looked meanwhile: what was drawn since is old, and was for others
            self._spent, self._drawn = 0.0, feed.spent
        if self._touched is not None and now >= max(self._due, self._touched + DRAWN):
            pictures = {name: seen for name in names if (seen := feed.peek(name)) is not None}
            if "broker" not in pictures and isinstance(pool := pictures.get("pool"), dict):
                crew = crew_of(pool, self._seats())
                pictures |= {"broker": crew} if crew is not None else {}
            self._easel.put(pictures)
            self._easel.pages(self._easel.serial - 1)
            here, drawn = time.thread_time() - began, feed.spent
            self._due = now + max(EVERY, (self._spent + here + drawn - self._drawn) / SHARE)
            self._spent, self._drawn = -here, drawn  # it is counted once more when this question is answered
            self._touched = None
        if self._touched is None and now >= self._due - AHEAD:
            self._touched = now
            for name in names:
                feed.picture(name)

    def _legs(self, fields: dict[str, Any]) -> Said:
        """When sampled tasks of one client passed here; ``At`` is when that was drawn, and newer ones will be drawn."""
        client = fields.get("Client")
        if type(client) is not bytes:
            raise ValueError("Client")
        seen = [view for name in (FIRST, SECOND) if isinstance(view := self._lab.feed.picture(name), BrokerView)]
        legs = [leg[1:] for view in seen for leg in view.legs if leg.client == client]
        at = max((view.at for view in seen if view.serving), default=0.0)
        return "legs", {"At": at, "Data": msgpack.packb(legs)}

    # ---- messages ---------------------------------------------------------------------------------------------------

    def _tap(self, fields: dict[str, Any]) -> Said:
        """What a trace was told behind the number ``After``. It begins with the first question and ends with End."""
        name, after, now = fields.get("Tap"), _number(fields, "After"), time.monotonic()
        if type(name) is not str or len(name) > 64:
            raise ValueError("Tap")
        if fields.get("End") is True:
            self._end(name)
            return "tapped", {"Total": 0, "Data": packed_entries([])}
        standing = self._standing
        if standing is not None and name not in self._traces:
            return "tapped", {"Data": packed_entries(standing.told(after, ENTRIES)), "Total": standing.total}
        if name not in self._traces:
            if len(self._traces) >= TAPS:
                raise Refused(f"{TAPS} viewers trace messages already")
            trace = self._lab.trace(KEPT)
            self._lab.attach(trace)
            self._traces[name] = trace, now
            if self._sweeper is None or not self._sweeper.is_alive():
                self._sweeper = threading.Thread(target=self._sweep, name="roundhouse-taps", daemon=True)
                self._sweeper.start()
        trace, _ = self._traces[name]
        self._traces[name] = trace, now
        entries = [entry for entry in trace.entries(limit=ENTRIES) if entry.number > after]
        return "tapped", {"Total": trace.total, "Data": packed_entries(entries)}

    def keep_trace(self, text: str) -> str:
        """Begin a trace that all viewers are told who ask for one from now on, or end it. Raises Refused."""
        where = None if text == OFF else wanted(text)
        before, self._standing = self._standing, None
        if before is not None:
            self._lab.detach(before.trace)
        if text == OFF:
            return "messages are traced while somebody looks"
        standing = Standing(self._lab.trace(KEPT), where, KEPT)
        self._lab.attach(standing.trace)
        self._standing = standing
        return f"the newest {KEPT:,} messages are traced" + (f", and kept where {text} fits" if text != ON else "")

    def _end(self, name: str) -> None:
        trace, _ = self._traces.pop(name, (None, 0.0))
        if trace is not None:
            self._lab.detach(trace)

    def _sweep(self) -> None:
        """End what nobody asks for any more; until there is none."""
        while self._traces and not self._closing.wait(1.0):
            for name, (_, asked) in list(self._traces.items()):
                if time.monotonic() > asked + UNPULLED:
                    self._end(name)


def packed(codec: Any, args: tuple[Any, ...]) -> bytes:
    """The arguments of an order, as ``Args``."""
    data: bytes = msgpack.packb(codec.plain(args), unicode_errors="surrogateescape")
    return data


def giver_of(fields: dict[str, Any]) -> Giver:
    """Who gives an order, and from where: as the socket tells, never as the asker does."""
    return str(fields.get("Who", "an unknown process")), str(fields.get("From", "the control socket"))


def _clock(fields: dict[str, Any]) -> Said:
    return "clock", {"Now": time.monotonic(), "Clock": clock_name()}


def _number(fields: dict[str, Any], name: str) -> int:
    number = fields.get(name, 0)
    if type(number) is not int or number < 0:
        raise ValueError(name)
    return number


def _shortened(fact: Fact) -> Fact:
    return fact._replace(text=fact.text[:4000])
