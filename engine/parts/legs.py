"""Where a task's time went: client, backlog, worker, return.

No seed's wire carries times, so the legs are joined afterwards from what the client and the broker each noted of the
same sampled tasks. Both read the monotonic clock of their machine, which all its processes share. Two legs, ``backlog``
and ``worker``, are by the broker's clock alone; ``client`` and ``return`` take both clocks, and the offset between them
(``engine.parts.clocks``). A leg that is shorter than the error of the offset may come out below 0: it counts as 0.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from engine.parts.clocks import SAME, Offset
from engine.parts.histogram import Histogram
from engine.parts.store import GLOBAL
from engine.parts.view import BrokerLeg, ClientLeg

KEPT = 4096
EVERY = 16  # of the tasks numbered 0, 1, 2 …, every so many are noted


def sampled(task_id: bytes) -> bool:
    """Whether both sides note this task: ids of our clients end, or begin, with the lowest byte of its number.

    An id of ``GLOBAL`` bytes is a random tag and a big-endian number; any other is a little-endian number.
    """
    return not task_id or task_id[-1 if len(task_id) == GLOBAL else 0] % EVERY == 0


class BrokerLegs:
    """What a broker notes."""

    def __init__(self) -> None:
        self._log: deque[BrokerLeg] = deque(maxlen=KEPT)

    def note(
        self,
        client: bytes,
        task_id: bytes,
        accepted: float,
        given: float,
        answered: float,
        worker: bytes = b"",
        attempt: int = 1,
    ) -> None:
        """Note one task; call it only where ``sampled``. ``attempt`` counts deliveries."""
        self._log.append(BrokerLeg(client, task_id, accepted, given, answered, worker, attempt))

    def view(self) -> tuple[BrokerLeg, ...]:
        """The noted tasks, newest last."""
        return tuple(self._log)


class ClientLegs:
    """What a client notes."""

    def __init__(self) -> None:
        self._log: deque[ClientLeg] = deque(maxlen=KEPT)

    def note(self, task_id: bytes, sent: float, received: float) -> None:
        """Note one task; call it only where ``sampled``."""
        self._log.append(ClientLeg(task_id, sent, received))

    def view(self) -> tuple[ClientLeg, ...]:
        """The noted tasks, newest last."""
        return tuple(self._log)


def join(
    client: bytes, ours: Iterable[ClientLeg], theirs: Iterable[BrokerLeg], offset: Offset = SAME
) -> dict[str, Histogram] | None:
    """The four legs of the tasks that both sides noted; None where they have none in common.

    ``offset``: of the broker's clock, from the client's.
    """
    passed = {leg.id: leg for leg in theirs if leg.client == client}
    legs = {name: Histogram() for name in ("client", "backlog", "worker", "return")}
    for leg in ours:
        broker = passed.get(leg.id)
        if broker is None:
            continue
        accepted, answered = broker.accepted - offset.seconds, broker.answered - offset.seconds
        if not leg.sent - offset.error <= accepted <= leg.received + offset.error:
            continue
        legs["client"].record(max(0.0, accepted - leg.sent))
        legs["backlog"].record(broker.given - broker.accepted)
        legs["worker"].record(broker.answered - broker.given)
        legs["return"].record(max(0.0, leg.received - answered))
    return legs if legs["client"].count else None
