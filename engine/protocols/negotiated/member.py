"""A worker, as a broker of seed 004 knows it."""

from __future__ import annotations

from engine.core import NEVER
from engine.parts.served import Served
from engine.parts.view import WorkerRow
from engine.protocols.negotiated.machine import Seen


class Member:
    """A worker. ``away``: known from the other broker only, and not yet heard here. Times: monotonic seconds.

    ``apart``: it gets nothing until it is empty, for it is kept for a suspect, or alone with one.
    ``checked``: when it was sent its configuration, until its READY; NEVER otherwise.
    ``state``: as the machine has it; a dispatcher that is not served from leaves it alone.
    ``asked``: when it was last asked what it holds. ``extra``: seconds of silence that it may have beyond the usual,
    for it asked for a longer interval. ``row``: its picture, None when that is out of date.
    """

    __slots__ = (
        "apart",
        "asked",
        "away",
        "checked",
        "done",
        "draining",
        "extra",
        "failed",
        "free",
        "heard",
        "joined",
        "key",
        "name",
        "row",
        "served",
        "services",
        "skew",
        "slots",
        "state",
        "version",
    )

    def __init__(self, key: bytes, services: tuple[str, ...], slots: int) -> None:
        self.key, self.services, self.slots = key, services, slots
        self.name = ""
        self.state: str = Seen.UNKNOWN
        self.free = slots
        self.away = self.draining = self.apart = False
        self.version = 0
        self.checked = NEVER
        self.extra = self.skew = self.joined = self.heard = self.asked = 0.0
        self.done = self.failed = 0
        self.served = Served()
        self.row: WorkerRow | None = None

    @property
    def stands(self) -> str:
        """The state that all the rest of it comes to."""
        if self.away:
            return Seen.UNKNOWN
        if self.draining or not self.services:
            return Seen.DRAINING
        return Seen.READY if self.free else Seen.BUSY
