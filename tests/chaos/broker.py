"""``python -m tests.chaos.broker SYSTEM ENDPOINT OPTIONS [ANNOUNCED]``: a broker that shows its picture.

``OPTIONS`` is JSON; ``lease`` in it are the seconds of a lease in a store that brokers share. It prints ``ready``; for
each line that it is told it prints its picture as one line of JSON. The line ``hand back`` is an order to it first.
``ANNOUNCED``: where its peers are told to find it, as behind a translation of addresses; of negotiated nobody is told
anything without one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.catalogue import SYSTEMS
from engine.core import Seat
from engine.drive.stores import jetstream
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.parts.view import BrokerView
from engine.system import System
from tests.helpers.processes import SIDES, beside


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
        "serving": view.serving,
        "terms": dict(view.terms),
    }


def translated(system: System, endpoint: str, announced: str) -> System:
    """It binds at ``endpoint`` and beside it, and says ``announced`` in its place; a wildcard: it says nothing."""
    theirs = [(beside(announced, side), beside(endpoint, side)) for side in SIDES]

    def broker(options: Any, bind: Sequence[str], **world: Any) -> Seat:
        ports = {**dict(theirs), options.peer: beside(endpoint, SIDES[-1])}
        seat = system.broker(options, [announced if at == endpoint else at for at in bind], **world)
        sockets = [replace(one, bind=tuple(ports.get(at, at) for at in one.bind)) for one in seat.sockets]
        return Seat(seat.core, tuple(sockets))

    return replace(system, broker=broker)


def main() -> None:
    """Serve until stdin ends."""
    name, endpoint, options, *announced = sys.argv[1:]
    system, said = SYSTEMS[name], json.loads(options)
    jetstream.LEASE = said.pop("lease", jetstream.LEASE)
    if name == "negotiated":
        system = translated(system, endpoint, *(announced or [endpoint.replace("127.0.0.1", "*")]))
    with LiveLab(system, system.options(**said), bind=(endpoint,), workers=0, client=False) as lab:
        print("ready", flush=True)
        for line in sys.stdin:
            if line.strip() == "hand back":
                lab._brokers.order(system.hand_back)
            try:
                shown = picture(lab._ask("broker", "broker"))
            except Refused as refusal:  # too busy, or its thread has died
                shown = {"refused": str(refusal), "dead": lab.health().dead}
            print(json.dumps(shown), flush=True)


if __name__ == "__main__":
    main()
