"""A lab of another process, over its control socket: the same screens and orders as if it ran here.

The last pictures stay where it is not heard any more, and ``stale`` says for how long. See ``engine.labs.link``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from engine.drive.control.found import Found
from engine.feed import Feed
from engine.labs.content import BrokerLab
from engine.labs.far import FarTrace
from engine.labs.health import Health
from engine.labs.lab import Mode
from engine.labs.limits import options_of
from engine.labs.link import Link
from engine.labs.livefaults import FAULTS
from engine.labs.pool import BULK
from engine.labs.shared import VIEWS, Copy, codec_of
from engine.parts.bulk import BulkSpec
from engine.parts.fault import read_line
from engine.parts.plain import clean
from engine.runs.history import History
from engine.system import System


class Remote(BrokerLab):
    """A process with a broker, or with workers of one. ``found``: who it is; ``history``: this user's kept runs."""

    mode: ClassVar[Mode] = "remote"

    def __init__(self, found: Found, system: System, *, readonly: bool = False, history: History | None = None) -> None:
        self.system, self.options = system, system.options()
        self.endpoints = found.endpoints
        self.readonly = self._readonly = readonly
        self.feed, self.words = Feed(), {}
        self.started = time.monotonic()
        self._history = history
        self._lane = ""
        codec = codec_of(system)
        self._copy = Copy(codec)
        self._link = Link(found, codec, self.feed, self)

    # ---- life -------------------------------------------------------------------------------------------------------

    def open(self) -> Self:
        """Attach. Raises Refused where nobody answers, or in another version."""
        self._link.open()
        return self

    def close(self) -> None:
        """Disconnect. The other process goes on."""
        self._link.close()

    @property
    def stale(self) -> float:
        """Seconds for which it has not been heard; 0 while it is."""
        return self._link.stale

    def health(self) -> Health:
        """As the other side says, and whether the thread here lives."""
        return self._link.health

    @property
    def lane(self) -> str:
        """The lane that is asked for there."""
        return self._lane

    def minutes(self) -> bytes:
        """As it was told when this lab was opened."""
        return self._link.minutes

    def seat_of(self, key: bytes) -> str | None:
        """What a worker of that process is called there."""
        return self._copy.seats.get(key)

    def runs(self) -> Sequence[Mapping[str, Any]]:
        """The kept runs of this user."""
        return [dict(run) for run in self._history.list()[0]] if self._history else []

    def told(self, about: Mapping[str, Any]) -> None:
        """See ``engine.labs.link.Side``."""
        self.started = time.monotonic() - float(about["Up"])
        self.endpoints, self._lane = tuple(map(str, about["Endpoints"])), str(about["Lane"])
        self.readonly = self._readonly or about["Readonly"] is True
        if type(about["Options"]) is dict and about["Options"]:
            self.options = options_of(self.system.options, about["Options"])

    def shown(self, pages: list[bytes], whole: bool) -> None:
        """See ``engine.labs.link.Side``."""
        self._copy.take(pages, whole)
        for name in VIEWS:
            self.feed.show(name, self._copy.pictures.get(name))
        self.feed.show("pool", self._copy.pool)

    # ---- taps -------------------------------------------------------------------------------------------------------

    def trace(self, kept: int) -> FarTrace:  # type: ignore[override]
        """A trace of what passes there; it is attached to nothing yet."""
        return FarTrace(kept)

    def attach(self, trace: Any) -> None:
        """Have a trace told what passes there from now on."""
        self._link.attach(trace)

    def detach(self, trace: Any) -> None:
        """Tell it nothing more."""
        self._link.detach(trace)

    # ---- orders -----------------------------------------------------------------------------------------------------

    def inspect(self, key: bytes | None) -> None:
        """Show the details of one worker in the broker's pictures, to all who look; None: of nobody."""
        self._link.post("inspect", (key,))

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

    def bulk(self, workers: int = BULK, pool: str = "", slots: int | None = None, transport: str = "") -> None:
        """Let children be started there."""
        self._order("bulk", workers, pool, slots, transport)

    def endbulk(self, pool: str = "") -> None:
        """Let them leave."""
        self._order("endbulk", pool)

    def choose_transport(self, transport: str) -> None:
        """Let client and workers there go over another transport."""
        self._order("choose_transport", transport)

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

    def set_slots(self, key: bytes, slots: int) -> str | None:
        """Let a worker there take so many tasks at a time."""
        return self._order("set_slots", key, slots)

    def keep_trace(self, text: str) -> str | None:
        """Let messages there be traced though nobody looks."""
        return self._order("keep_trace", text)

    def log_level(self, level: str) -> str | None:
        """Let the process there tell so much on its stderr."""
        return self._order("log_level", level)

    def withdraw(self, client: bytes) -> str | None:
        """Drop what waits of a client, by its routing id."""
        return self._order("withdraw", client)

    def discard(self, client: bytes, task: bytes) -> str | None:
        """Drop one task that waits, by its client and id."""
        return self._order("discard", client, task)

    def revive(self, place: str, numbers: tuple[int, ...]) -> None:
        """Have dead tasks there tried again."""
        self._order("revive", place, numbers)

    def move(self, client: bytes, task: bytes, first: bool) -> str | None:
        """Let one task that waits be the first there, or the last."""
        return self._order("move", client, task, first)

    def hurts(self, line: str) -> str:
        """What a fault does there; whether there is such a target is known there alone."""
        fault, target, amounts = read_line(FAULTS, line)
        given = f" by {amounts[0]:g} s" if amounts else ""
        return f"{fault.name} {clean(target)}{given} in process {self._link.found.pid}: {fault.does}"

    def hurt(self, line: str) -> str | None:
        """Do the fault of a line such as ``freeze w3 5`` there."""
        return self._order("hurt", line)

    def steer(self, order: object) -> str | None:
        """An operator's order to the broker there."""
        return self._order("steer", order)

    def undo(self) -> str | None:
        """Take back the newest order there that can be taken back."""
        return self._order("undo")

    def acknowledge(self, alert: str) -> None:
        """Have an alert of the other side acknowledged there."""
        self._order("acknowledge", alert)

    def silence(self, alert: str, seconds: float) -> None:
        """Have it silenced there."""
        self._order("silence", alert, seconds)

    def pull_plug(self) -> None:
        """End the primary of a pair there as if it had died."""
        self._order("pull_plug")

    def hand_back(self) -> None:
        """Start it again, or let the fallback give the service back."""
        self._order("hand_back")

    def operate(self, word: str, **fields: str) -> str | None:
        """A word to a broker of a pair, or ``config``; ``pair`` only asks."""
        return self._order("operate", word, tuple(fields.items()), looks=word == "pair")

    def _order(self, name: str, *args: Any, looks: bool = False) -> str | None:
        if not looks:
            self._change(f"the order {name.replace('_', ' ')}")
        return self._link.order(name, args)
