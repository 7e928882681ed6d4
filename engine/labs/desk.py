"""What a control socket tells of a lab, and how it takes orders to it: the words beside ``hello``.

The rules of this file:

- Viewers ask, nobody is sent anything unasked: one that is stopped costs nothing.
- Pictures are taken at most once in ``EVERY`` seconds, and so seldom that this takes a ``SHARE`` of the time at most,
  whoever asks and how often. The nodes draw them a little earlier, because they were looked at.
- Orders are carried out one after the other on a thread of their own, under the lab's ``turn``, so that the socket goes
  on answering. Only orders of ``engine.labs.carried`` are known.
"""

from __future__ import annotations

import secrets
import time
from collections import ChainMap
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgpack

from engine.drive.control.found import about
from engine.drive.control.place import place_of
from engine.drive.control.server import Control, Said, Word, listen
from engine.drive.sockets import Context
from engine.errors import Refused
from engine.feed import Fact
from engine.labs.carried import arguments
from engine.labs.content import BrokerLab
from engine.labs.shared import VIEWS, Easel, codec_of, crew_of
from engine.parts.unpacking import unpack
from engine.system import Orders

EVERY = 0.2  # seconds between two sets of pictures, at least
SHARE = 0.02  # of the time that may be spent on them
DRAWN = 0.12  # seconds that a node may take to draw
AHEAD = 0.3  # seconds before pictures are due at which the nodes are to begin
ASKED = 3.0  # seconds for which the workers' own pictures are drawn after somebody has asked for them
FACTS = 200  # in one answer
WAITING = 100  # orders


class Desk:
    """Of a lab with a broker, or with the workers of one. ``control``: its socket, where there is one.

    ``role``: what it is called; ``seats``: the names of its workers by their routing ids, as they are now.
    """

    control: Control | None = None

    def __init__(self, lab: BrokerLab, role: str, seats: Callable[[], Mapping[bytes, str]]) -> None:
        self.words: Mapping[str, Word] = {"look": self._look, "order": self._order}
        self.instance = secrets.token_hex(8)  # tells this run from the next one at the same socket
        self._role, self._lab, self._seats, self._codec = role, lab, seats, codec_of(lab.system)
        self._easel = Easel(self._codec, lab.seat_of)
        self._due = 0.0
        self._touched: float | None = None  # when the nodes were told to draw for the next set
        self._pool_until = 0.0
        self._waiting = 0
        self._clerk = ThreadPoolExecutor(1, "roundhouse-orders")

    def listen(self, context: Context, folder: Path, at: Path | None, orders: tuple[Orders, str] | None) -> None:
        """Open the socket, ``at`` this path or at the usual one in the folder. ``orders``: as in ``Control``."""
        place = at or place_of(folder, self._role, self._lab.endpoints)
        told = about(self._lab.system.name, self._role, self._lab.endpoints)
        words = ChainMap(self._lab.words, dict(self.words))  # whoever runs the lab may add some later
        self.control = listen(context, place, told, words, orders, readonly=self._lab.readonly)

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
        page, now = _number(fields, "Page"), time.monotonic()
        if fields.get("Pool") is True:
            self._pool_until = now + ASKED
        if page == 0:
            self._draw(now)
        told = self._about()
        if self._easel.serial == 0 or (since == self._easel.serial and not fields.get("Pool")):
            told |= {"Serial": since, "Whole": False, "Pages": 0, "Data": b""}
        else:
            pages = self._easel.pages(since, now < self._pool_until)
            page = min(page, len(pages) - 1)
            whole = since not in self._easel.known
            told |= {"Serial": self._easel.serial, "Whole": whole, "Pages": len(pages), "Data": pages[page]}
        facts, lost = self._lab.feed.since(_number(fields, "Facts"))
        told["Facts"] = [list(_shortened(fact)) for fact in facts[:FACTS]]
        return "looked", {**told, "Lost": lost, "More": max(0, len(facts) - FACTS)}

    def _draw(self, now: float) -> None:
        """Take a new set of pictures where one is due, or let the nodes draw one."""
        feed = self._lab.feed
        names = (*VIEWS, "pool") if now < self._pool_until or not self._lab.endpoints else tuple(VIEWS)
        if self._touched is not None and now >= max(self._due, self._touched + DRAWN):
            began = time.perf_counter()
            pictures = {name: seen for name in names if (seen := feed.peek(name)) is not None}
            if "broker" not in pictures and isinstance(pool := pictures.get("pool"), dict):
                crew = crew_of(pool, self._seats())
                pictures |= {"broker": crew} if crew is not None else {}
            self._easel.put(pictures)
            self._easel.pages(self._easel.serial - 1)
            self._due = now + max(EVERY, (time.perf_counter() - began) / SHARE)
            self._touched = None
        if self._touched is None and now >= self._due - AHEAD:
            self._touched = now
            for name in names:
                feed.picture(name)

    def _about(self) -> dict[str, Any]:
        lab = self._lab
        health = lab.health()
        return {
            "Instance": self.instance,
            "Up": time.monotonic() - lab.started,
            "Endpoints": list(lab.endpoints),
            "Readonly": lab.readonly,
            "Lane": lab.lane,
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
        return self._clerk.submit(self._carry_out, name, args)

    def _carry_out(self, name: str, args: tuple[Any, ...]) -> Said:
        try:
            with self._lab.turn:
                if name == "operate":
                    self._lab.operate(args[0], **dict(args[1]))
                else:
                    getattr(self._lab, name)(*args)
        finally:
            self._waiting -= 1
        return "done", {}


def packed(codec: Any, args: tuple[Any, ...]) -> bytes:
    """The arguments of an order, as ``Args``."""
    data: bytes = msgpack.packb(codec.plain(args), unicode_errors="surrogateescape")
    return data


def _number(fields: dict[str, Any], name: str) -> int:
    number = fields.get(name, 0)
    if type(number) is not int or number < 0:
        raise ValueError(name)
    return number


def _shortened(fact: Fact) -> Fact:
    return fact._replace(text=fact.text[:4000])
