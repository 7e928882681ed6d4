"""An operator's question to the broker of another process, over its control socket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.drive.control.caller import Caller
from engine.drive.control.place import place
from engine.errors import Refused
from engine.system import Orders, System

STEP = 0.1  # seconds between two looks


def word_of(system: System, word: str, **fields: str) -> tuple[Orders, Any]:
    """How a word to a broker of a pair is asked. Raises Refused where there are none, or no such word."""
    orders = system.orders
    if system.paired is None or orders is None:
        raise Refused(f"{system.name} {'serves no configuration' if word == 'config' else 'knows no pairs'}")
    request = orders.parse({"Ask": word, "Ref": 0, **fields})
    if isinstance(request, str):
        raise Refused(f"{system.name} knows no such word: {' '.join((word, *fields.values()))}")
    return orders, request[1]


class Declined(Refused):
    """A broker was asked, and says no."""


def ask_broker(folder: Path, endpoint: str, orders: Orders, request: Any) -> Any:
    """What the broker at this endpoint answers first, within ``engine.drive.control.caller.SILENCE``.

    Raises Refused where none is there, and Declined where it refuses.
    """
    with Caller(place(folder, endpoint), endpoint, orders) as caller:
        caller.order(request)
        while caller.linked:
            for answer in caller.answers(STEP):
                if why := getattr(answer, "why", ""):
                    raise Declined(f"the broker at {endpoint}: {why}")
                return answer
    raise Refused(f"the broker at {endpoint} does not answer")
