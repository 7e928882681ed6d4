"""An operator's orders to a broker: which system takes which, what each does in words, and what takes it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.core import Note
from engine.errors import Refused
from engine.parts.orders import Drain, Expire, Requeue, Throttle, Undrain
from engine.parts.view import BrokerView
from engine.system import System

WORDS: dict[type, str] = {
    Drain: "drain",
    Undrain: "undrain",
    Throttle: "throttle",
    Expire: "expire",
    Requeue: "requeue",
}
"""The word of each for people."""

ENDED = "the newest order told a worker of this process to end, which nothing takes back: start another"


def refuse(system: System, order: Any) -> None:
    """Raises Refused where this system's broker does not take it, and says what it takes."""
    if type(order) is not Drain and type(order) not in system.takes:
        taken = ", ".join(dict.fromkeys(WORDS[kind] for kind in (Drain, *system.takes)))
        why = f": {why}" if (why := dict(system.untaken).get(type(order), "")) else ""
        raise Refused(
            f"{system.name} knows no {WORDS.get(type(order), type(order).__name__)}{why}; its broker takes {taken}"
        )


def inverse(system: System, order: Any, view: BrokerView | None) -> Any:
    """What takes it back at a broker of this system, given the picture before it; None where nothing does."""
    match order:
        case Drain(worker) if Undrain in system.takes:
            return Undrain(worker)
        case Undrain(worker):
            return Drain(worker)
        case Throttle(_, client):
            return Throttle(limits(view).get(client), client)
    return None


class NotDone(Refused):
    """The broker has the order, and does not carry it out."""


def said(notes: Sequence[Note] | None) -> str:
    """What a broker noted of an order. Raises Refused where it is gone, NotDone where it does not carry it out."""
    if notes is None:
        raise Refused("the broker has left")
    if why := "; ".join(note.text for note in notes if note.declines):
        raise NotDone(why)
    return "; ".join(note.text for note in notes)


def limits(view: BrokerView | None) -> dict[bytes, float]:
    """The limits of dispatch that a broker's picture shows, by client; ``engine.parts.valve.ALL`` of all."""
    return dict(view.limits) if view is not None else {}
