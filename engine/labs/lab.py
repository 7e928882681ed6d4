"""The lab interface: what the console asks of a lab, whatever its mode and its content.

The rules of this file:

- A mode says where time comes from: live, replay or sandbox; remote is another process. What a lab holds, brokers or
  disk queues, is its content (``engine.labs.content``). Both only add to this interface.
- The console speaks to nothing else. It tells labs apart by ``mode`` and by ``system.kind``, never by their class.
- No method waits for longer than it says. Orders raise ``Refused`` with words for the operator.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from engine.drive.control.server import Control
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.audit import Audit, audited
from engine.labs.carried import ORDERS
from engine.labs.health import Health
from engine.tracing.ring import Ring

_NAMES = frozenset(name for orders in ORDERS.values() for name in orders)
Mode = Literal["live", "replay", "sandbox", "remote"]


class Lab(ABC):
    """One system that runs, is simulated, or was recorded; ``open`` it or use it in ``with``.

    ``started``: when it was opened, in monotonic seconds of its own clock. ``feed``: its snapshots and events.
    ``unkept``: what could not be written to the disk, in words; all of it once the lab is closed. ``audit``: where a
    line is kept of each order; nowhere where nothing real is ordered.
    """

    mode: ClassVar[Mode] = "live"
    system: Any  # an engine.system.System or QueueSystem, as the content says
    options: Any
    readonly: bool = False
    started: float
    feed: Feed
    turn: threading.RLock
    unkept: Sequence[str] = ()
    audit: Audit | None = None
    control: Control | None = None  # its own control socket, where one is open
    log: Callable[[str], str] | None = None  # takes the name of a level; of a process that tells events on stderr
    watcher: Any = None
    """The ``engine.labs.watcher.Watcher`` of this process; None where nobody watches over its alerts."""

    def __init_subclass__(cls) -> None:
        """Every order that a lab defines keeps its line where lines are kept (``engine.labs.audit``)."""
        super().__init_subclass__()
        _audit(cls)

    def __new__(cls, *_: object, **__: object) -> Self:
        """``turn``: a lock that is held while an order is carried out, so that no two run at the same time."""
        lab = super().__new__(cls)
        lab.turn = threading.RLock()
        return lab

    @property
    def stale(self) -> float:
        """Seconds for which another process that is looked at has not been heard; 0 where it is, or there is none."""
        return 0.0

    def minutes(self) -> bytes:
        """The history of another process, as it told it, for ``engine.files.minutes``; empty where there is none."""
        return b""

    @cached_property
    def words(self) -> dict[str, Any]:
        """What its control socket answers beside orders, by word. The program that runs the lab may add words."""
        return {}

    def open(self) -> Self:
        """Start everything. Raises Refused where that can not be."""
        return self

    def fill(self) -> None:  # noqa: B027 - most labs are whole when they are open
        """Start what was left for later, so that a screen need not wait for it. Raises Refused where it can not be."""

    def close(self) -> None:  # noqa: B027 - most labs hold nothing
        """Stop everything, in under two seconds. Does nothing where the lab holds no resources."""

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def health(self) -> Health:
        """Dead threads, and how late the living are."""

    # ---- taps -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def trace(self, kept: int) -> Ring[Any]:
        """A new trace of this system that keeps so many messages; it is attached to nothing yet."""

    @abstractmethod
    def attach(self, trace: Any) -> None:
        """Show a trace of this content everything from now on; a recording also what came just before."""

    @abstractmethod
    def detach(self, trace: Any) -> None:
        """Show it nothing more."""

    def listening(self) -> tuple[float, int]:
        """Seconds that other processes have spent on telling what happened, and how many messages were lost."""
        return 0.0, 0

    # ---- orders -----------------------------------------------------------------------------------------------------

    def acknowledge(self, alert: str) -> None:
        """Somebody knows of an alert of this process. Raises Refused unless it fires."""
        self._change("acknowledging an alert")
        if self.watcher is None:
            raise self.unable()
        self.watcher.acknowledge(alert)

    def silence(self, alert: str, seconds: float) -> None:
        """Say nothing of an alert of this process for so long; 0: say it again. Raises Refused as ``Watch`` does."""
        self._change("silencing an alert")
        if self.watcher is None:
            raise self.unable()
        self.watcher.silence(alert, seconds)

    def log_level(self, level: str) -> str | None:
        """Tell so much on stderr from now on. Refused where nothing is told there, and for what is no level."""
        self._change("changing what is logged")
        if self.log is None:
            raise Refused("this process logs nothing on stderr")
        return self.log(level)

    def unable(self) -> Refused:
        """Why an order that a content knows is not for this lab."""
        return Refused("this lab does not take that order")

    def _change(self, what: str) -> None:
        """Raises Refused where nothing may be changed."""
        if self.readonly:
            raise Refused(f"{what} is refused: readonly is set")


def _audit(lab: type) -> None:
    for name in {*vars(lab)} & _NAMES:
        setattr(lab, name, audited(name, vars(lab)[name]))


_audit(Lab)
