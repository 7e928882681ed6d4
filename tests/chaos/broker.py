"""``python -m tests.chaos.broker SYSTEM ENDPOINT OPTIONS``: a broker that shows its picture.

``OPTIONS`` is JSON. It prints ``ready``; for each line that it is told it prints its picture as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.catalogue import SYSTEMS
from engine.core import Seat
from engine.errors import Refused
from engine.labs.live import Lab
from engine.parts.view import BrokerView
from engine.system import System


def picture(view: BrokerView) -> dict[str, Any]:
    """What is judged of a broker."""
    ledger = view.ledger
    rows = [(row.key.hex(), row.state, row.slots, row.free, row.in_flight) for row in view.workers]
    books = ledger._asdict() | {"failed": dict(ledger.failed), "balanced": ledger.balanced}
    return {
        "workers": rows,
        "backlog": view.backlog,
        "in_flight": view.in_flight,
        "ledger": books,
        "counters": dict(view.counters),
    }


def hidden(system: System) -> System:
    """Nobody is told of the broker's own endpoint, as behind a translation of addresses: peers stay on their lines."""

    def broker(options: Any, bind: Sequence[str], **world: Any) -> Seat:
        seat = system.broker(options, [at.replace("127.0.0.1", "*") for at in bind], **world)
        ours = [replace(one, bind=tuple(at.replace("*", "127.0.0.1") for at in one.bind)) for one in seat.sockets]
        return Seat(seat.core, tuple(ours))

    return replace(system, broker=broker)


def main() -> None:
    """Serve until stdin ends."""
    name, endpoint, options = sys.argv[1:]
    system = SYSTEMS[name]
    if name == "negotiated":
        system = hidden(system)
    with Lab(system, system.options(**json.loads(options)), bind=(endpoint,), workers=0, client=False) as lab:
        print("ready", flush=True)
        for _ in sys.stdin:
            try:
                shown = picture(lab._ask("broker", "broker"))
            except Refused as refusal:  # too busy, or its thread has died
                shown = {"refused": str(refusal), "dead": lab.health().dead}
            print(json.dumps(shown), flush=True)


if __name__ == "__main__":
    main()
