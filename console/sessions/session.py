"""One lab at the console, and what was seen of it so far. Many may run; one is on the screen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar, Literal, Protocol

Mode = Literal["live", "sandbox", "replay"]

Give = Callable[[Any], object]
"""Gives an order to the lab that it is called with. May raise ``engine.errors.Refused``."""


class Orders(Protocol):
    """Carries out orders to one lab; the future raises what the order raised."""

    def __call__(self, give: Give) -> Future[None]: ...


class Session(ABC):
    """``name``: as it is shown. ``picture``: what was seen last. ``trace``: the one that is attached, or None."""

    mode: ClassVar[Mode] = "live"
    trace: Any = None

    def __init__(self, name: str, lab: Any, orders: Orders) -> None:
        self.name, self.lab, self.order = name, lab, orders
        self.picture: Any = None

    @abstractmethod
    def look(self, now: float) -> Any:
        """What the lab shows at monotonic time ``now``."""

    @abstractmethod
    def listen(self) -> Any:
        """A trace to attach to the lab."""

    @property
    def busy(self) -> bool:
        """Whether tasks are under way."""
        return False


def at_once(lab: Any) -> Orders:
    """Orders for a lab of this thread."""

    def order(give: Give) -> Future[None]:
        done: Future[None] = Future()
        try:
            give(lab)
        except Exception as error:  # of whoever asked
            done.set_exception(error)
        else:
            done.set_result(None)
        return done

    return order
