"""One lab at the console, and what was seen of it so far. Many may run; one is on the screen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

from console.pictures.runevents import RunEvents
from console.sessions.kind import Kind
from engine.labs.lab import Lab, Mode
from engine.tracing.ring import Ring

L = TypeVar("L", bound=Lab)

RUNNING = ("live", "remote")
"""Modes of labs that go on whatever is on the screen."""

Give = Callable[[Any], object]
"""Gives an order to the lab that it is called with. May raise ``engine.errors.Refused``."""


class Orders(Protocol):
    """Carries out orders to one lab; the future raises what the order raised."""

    def __call__(self, give: Give) -> Future[object]: ...


class Session(Generic[L]):
    """``name``: as it is shown. ``picture``: what was seen last. ``trace``: the one that is attached, or None."""

    trace: Any = None

    def __init__(self, name: str, lab: L, kind: Kind, order: Orders | None = None) -> None:
        """``order``: carries out orders to the lab; at once by default."""
        self.name, self.lab, self.kind = name, lab, kind
        self.order = order or at_once(lab)
        self.bridge: Any = kind.bridge(lab)
        self.picture: Any = None
        self._runs = RunEvents()
        self._zero = (-1.0, 0.0)  # ``started`` of the lab, and when that was

    def zero(self, wall: float, clock: float) -> float:
        """When the lab began, in seconds since the epoch; ``wall`` and ``clock``: now, also of the clock of labs."""
        lab: Any = self.lab
        if self.mode not in RUNNING:
            return float(lab.began)
        if self._zero[0] != lab.started:
            self._zero = lab.started, wall - (clock - lab.started)
        return self._zero[1]

    def now(self, wall: float) -> float:
        """The time that an event of this moment has, in seconds since the epoch. ``wall``: now."""
        lab: Any = self.lab
        return wall if self.mode in RUNNING else float(lab.began + lab.now - lab.started)

    @property
    def mode(self) -> Mode:
        """Where its time comes from."""
        return self.lab.mode

    @property
    def tour(self) -> str:
        """The first keys, for a new user."""
        return self.kind.tour

    @property
    def idle_keys(self) -> frozenset[str]:
        """Ids of keys that do nothing here now, so nobody offers them."""
        return frozenset()

    def look(self, now: float) -> Any:
        """What the lab shows at monotonic time ``now``."""
        self.picture = self.bridge.poll(now)
        return self.picture

    def tell(self, wall: float) -> None:
        """Make events of the runs of this process. ``wall``: now, in seconds since the epoch."""
        client = getattr(self.picture, "client", None)
        if self.mode in ("live", "sandbox") and (note := self._runs.look(client and client.run)) is not None:
            lab: Any = self.lab
            lab.feed.fact(note, "client", self.now(wall))

    def listen(self) -> Ring[Any]:
        """A trace to attach to the lab."""
        return self.kind.trace(self.lab)


def at_once(lab: Any) -> Orders:
    """Orders for a lab of this thread."""

    def order(give: Give) -> Future[object]:
        done: Future[object] = Future()
        try:
            came = give(lab)
        except Exception as error:  # of whoever asked
            done.set_exception(error)
        else:
            done.set_result(came)
        return done

    return order
