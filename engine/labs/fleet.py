"""All that runs on this machine and all of ``[[fleet]]``: a few figures of each, the worst first.

Lost ones stay as they were seen last.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.drive.control.dial import Place
from engine.drive.control.found import Found, asked
from engine.drive.control.several import Heard, Several
from engine.drive.control.wire import Message
from engine.errors import Refused
from engine.labs.attaching import Around
from engine.parts.plain import clean

EVERY = 2.0  # seconds between two looks
STALE = 6.0  # seconds without an answer after which one counts as lost
ANSWER = 1.0  # seconds that all of this machine may take to answer: one that is stopped makes nobody else look lost
STEP = 0.2  # seconds that it waits for those elsewhere, before it looks whether to end
KEPT = 1000  # members that are remembered

LOST, CRITICAL, WARNING, WELL = range(4)


class Queue(NamedTuple):
    """What one of several brokers says of the queue that they share."""

    place: str
    waiting: int
    brokers: int
    leader: str  # the server that leads it; empty for none
    copies: int
    behind: int  # of them


class Member(NamedTuple):
    """One of them. Figures are None where they are not known; ``heard``: monotonic seconds."""

    found: Found
    heard: float
    workers: int | None = None
    lost_workers: int | None = None
    backlog: int | None = None
    in_flight: int | None = None
    rate: float | None = None  # tasks done a second
    alerts: int = 0
    critical: bool = False
    trouble: str = ""  # why it is not heard, in words
    store: str = ""  # why its store refuses, in words
    queue: Queue | None = None

    def state(self, now: float) -> int:
        """How it is: ``LOST``, ``CRITICAL``, ``WARNING`` or ``WELL``."""
        if now > self.heard + STALE or (self.trouble and not self.found.system):
            return LOST
        if self.critical:
            return CRITICAL
        return WARNING if self.alerts or self.lost_workers else WELL


class Fleet:
    """Looks every so often while it is open, on a thread of its own. ``trouble``: why it can not, in words.

    It can be opened again, and remembers whom it has seen.
    """

    def __init__(self, around: Around) -> None:
        self.members: tuple[Member, ...] = ()
        self.trouble = ""
        self._around = around
        self._known: dict[object, Member] = {}  # by control socket, or by name in the configuration
        self._closing = threading.Event()

    def open(self) -> threading.Thread:
        """Begin to look; the thread that does."""
        self._closing = threading.Event()
        thread = threading.Thread(target=self._main, args=(self._closing,), name="roundhouse-fleet", daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Look no more; does not wait for the last look."""
        self._closing.set()

    def ranked(self, now: float) -> list[Member]:
        """The worst first, then by name."""
        return sorted(self.members, key=lambda member: (member.state(now), member.found.name))

    def look(self, named: Collection[Place] = ()) -> None:
        """Ask every process on this machine once, except those that are ``named`` in the configuration."""
        paths = {
            one: one.path for one in self._around.found(ANSWER) if isinstance(one.path, Path) and one.path not in named
        }
        said = asked([*paths.values()], Message(1, "status", {"Brief": True}), ANSWER)
        now = time.monotonic()
        for one, path in paths.items():
            self._known[path] = member_of(one, now, said.get(path))
        self._publish()

    def hear(self, heard: Heard) -> None:
        """What was heard of one of the configuration."""
        if heard.found is not None and heard.found.system in self._around.systems:
            self._known[heard.name] = member_of(heard.found, time.monotonic(), heard.said)
        else:
            trouble = heard.trouble or "it runs a system that is not known here"
            self._known[heard.name] = self._known[heard.name]._replace(trouble=trouble)
        self._publish()

    def _publish(self) -> None:
        newest = sorted(self._known.items(), key=lambda item: item[1].heard)[-KEPT:]
        self._known = dict(newest)
        self.members = tuple(self._known.values())

    def _places(self) -> dict[str, Place]:
        """Those of the configuration; each has its line before it is heard. One without usable keys stays unheard."""
        places: dict[str, Place] = {}
        for name, place in self._around.fleet.items():
            trouble = ""
            try:
                places[name] = place()
            except Refused as refusal:
                trouble = str(refusal)
            nobody = Member(Found(Path(name), "", "", (), 0, called=name), time.monotonic())
            self._known[name] = self._known.get(name, nobody)._replace(trouble=trouble)
        self._publish()
        return places

    def _main(self, closing: threading.Event) -> None:
        places = self._places()
        with Several(places) as several:
            while not closing.is_set():
                several.ask()
                try:
                    self.look(places.values())
                    self.trouble = ""
                except (Refused, OSError) as error:
                    self.trouble = clean(str(error))
                until = time.monotonic() + EVERY
                while not closing.is_set() and time.monotonic() < until:
                    for heard in several.hear(STEP) if places else ():
                        self.hear(heard)
                    if not places:
                        closing.wait(EVERY)


def member_of(found: Found, now: float, said: Message | str | None) -> Member:
    """What a status tells; the figures of one that gives none are not known."""
    status: Any = None
    if isinstance(said, Message) and type(data := said.fields.get("Status")) is bytes:
        try:
            status = json.loads(data)
        except (ValueError, RecursionError):
            status = None
    if not isinstance(status, dict):
        return Member(found, now)
    totals, rates, alerts = (_map(status.get("totals")), _map(status.get("rates")), status.get("alerts"))
    firing = [one for one in alerts if _map(one).get("state") == "firing"] if isinstance(alerts, list) else []
    return Member(
        found,
        now,
        _count(totals.get("alive")),
        _count(totals.get("lost")),
        _count(status.get("backlog")),
        _count(status.get("in_flight")),
        rate if isinstance(rate := rates.get("done_per_s"), float) else None,
        len(firing),
        any(_map(one).get("severity") == "critical" for one in firing),
        store=clean(str(_map(status.get("store")).get("trouble", ""))),
        queue=_queue(_map(_map(status.get("store")).get("shared"))),
    )


def waiting_in_all(members: Iterable[Member]) -> int:
    """Tasks that wait at these, those of a queue that several share counted once."""
    waiting, queues = 0, dict[str, int]()
    for member in members:
        waiting += member.backlog or 0
        if (queue := member.queue) is not None:
            waiting -= min(queue.waiting, member.backlog or 0)
            queues[queue.place] = max(queue.waiting, queues.get(queue.place, 0))
    return waiting + sum(queues.values())


def _queue(shared: Mapping[str, Any]) -> Queue | None:
    place, leader, brokers, behind = (shared.get(name) for name in ("place", "leader", "brokers", "behind"))
    waiting, copies = _count(shared.get("waiting")), _count(shared.get("copies"))
    if not (isinstance(place, str) and isinstance(leader, str) and waiting is not None and copies is not None):
        return None
    there, late = (len(one) if isinstance(one, list) else 0 for one in (brokers, behind))
    return Queue(place, waiting, there, clean(leader), copies, late)


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if type(value) is int else None
