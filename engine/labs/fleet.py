"""All that runs on this machine, with a few figures of each: the worst first, and lost ones as they were seen last."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.drive.control.found import Found, asked
from engine.drive.control.wire import Message
from engine.errors import Refused
from engine.labs.attaching import Around
from engine.parts.plain import clean

EVERY = 2.0  # seconds between two looks
STALE = 6.0  # seconds without an answer after which one counts as lost
KEPT = 1000  # members that are remembered

LOST, CRITICAL, WARNING, WELL = range(4)


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

    def state(self, now: float) -> int:
        """How it is: ``LOST``, ``CRITICAL``, ``WARNING`` or ``WELL``."""
        if now > self.heard + STALE:
            return LOST
        if self.critical:
            return CRITICAL
        return WARNING if self.alerts or self.lost_workers else WELL


class Fleet:
    """Looks every so often while it is open, on a thread of its own. ``trouble``: why it can not, in words."""

    def __init__(self, around: Around) -> None:
        self.members: tuple[Member, ...] = ()
        self.trouble = ""
        self._around = around
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._main, name="roundhouse-fleet", daemon=True)

    def open(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more; does not wait for the last look."""
        self._closing.set()

    def ranked(self, now: float) -> list[Member]:
        """The worst first, then by name."""
        return sorted(self.members, key=lambda member: (member.state(now), member.found.name))

    def look(self) -> None:
        """Ask everybody once."""
        found = self._around.found()
        paths = {one: one.path for one in found if isinstance(one.path, Path)}  # of this machine, so all of them
        said = asked([*paths.values()], Message(1, "status", {"Brief": True}))
        now = time.monotonic()
        known = {member.found.path: member for member in self.members}
        for one, path in paths.items():
            known[path] = member_of(one, now, said.get(path))
        self.members = tuple(known.values())[-KEPT:]

    def _main(self) -> None:
        while not self._closing.is_set():
            try:
                self.look()
                self.trouble = ""
            except (Refused, OSError) as error:
                self.trouble = clean(str(error))
            self._closing.wait(EVERY)


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
    )


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if type(value) is int else None
