"""What a protocol promises about a fault: words, a time, and a check on what an operator sees.

The rules of this file:

- A promise is made before its fault is injected, and judged on pictures alone: what an operator can not see is not
  promised.
- Its times count from the injection, in seconds of the broker's world. ``always`` must hold from ``since`` to
  ``within``; any other must come true between the two, once.
- A promise speaks of one fault. Two at a time may break what each alone may not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from engine.parts.view import BrokerView, ClientView, WorkerRow


class Observation(NamedTuple):
    """Everything that can be seen at one moment."""

    at: float
    broker: BrokerView | None  # of the broker that serves; None where none does
    client: ClientView | None
    serving: tuple[str, ...] = ()  # the brokers that serve, by seat

    def row(self, key: bytes) -> WorkerRow | None:
        """The broker's row of a worker that it counts on; None for one that is lost or unknown."""
        rows = self.broker.workers if self.broker else ()
        return next((row for row in rows if row.key == key and row.state != "lost"), None)

    def count(self, name: str) -> int:
        """One of the broker's named totals, 0 where it has none."""
        return dict(self.broker.counters).get(name, 0) if self.broker else 0

    def blamed(self, peer: bytes) -> int:
        """The violations of a peer that are on record."""
        incidents = self.broker.incidents if self.broker else ()
        return sum(incident.times for incident in incidents if incident.peer == peer)


Check = Callable[[Any, Any], bool]
"""Given what was seen just before the fault and what is seen now (``Observation``, or a system's own): whether it is as
was promised."""


class Promise(NamedTuple):
    """``since``, ``within``: seconds after the injection."""

    text: str
    within: float
    check: Check
    since: float = 0.0
    always: bool = False


class Times(NamedTuple):
    """What a protocol's settings come to, in seconds; bounds that hold with links of a few milliseconds."""

    kept: float  # silence that never loses a worker
    lost: float  # silence after which a worker is lost whatever it was doing, with tasks of a bulk run
    back: float  # after an outage: until everybody who is alive is in the table, or linked, again
    repair: float  # after single messages were lost, doubled or garbled: until no slot is missing
