"""Which lane a broker's messages to a peer take; what the packed one takes is collected, and sent once an event.

The rules of this file (README.md, the packed lane):

- A peer packs when its newest link PING asked for it. Peers are remembered up to a bound, the oldest forgotten first:
  a forgotten one gets the seed's messages until its next PING; every peer of ours understands those.
- A batch is whatever one event gives a peer: it goes at ``flush``, or as soon as it is full. It never waits for more.
- The lane decides how a message looks, and nothing else. Once it was on, packed messages are read for good: a peer may
  send some before it hears that the broker agrees no longer.
"""

from __future__ import annotations

from typing import Any

from engine.core import MAIN, Command, Frames, Send, Share, send
from engine.parts.limits import MAX_WORKERS
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed

KEPT = 2 * MAX_WORKERS  # peers that pack

_DELIVERIES = 2 * packed.BATCH  # values of a full batch
_RESULTS = 3 * packed.BATCH


class Lanes:
    """``peers``: who packs, newest PING last; ``ours``: who is no original, as far as is known.

    ``on``: whether this broker agrees to the packed lane; ``reads``: whether it ever did; ``shares``: whether it ever
    agreed that peers share a connection.
    """

    __slots__ = ("_deliveries", "_results", "on", "ours", "peers", "reads", "shares")

    def __init__(self, on: bool) -> None:
        self.on = self.reads = on
        self.shares = False
        self.peers: dict[bytes, None] = {}
        self.ours: dict[bytes, None] = {}
        self._deliveries: dict[bytes, list[Any]] = {}  # by worker, of the event at hand
        self._results: dict[bytes, list[Any]] = {}  # by client

    def switch(self, on: bool) -> None:
        """Agree from each peer's next PING on, or send packed messages to nobody any longer; between two events."""
        self.on, self.reads = on, self.reads or on
        if not on:
            self.peers.clear()

    def pinged(self, peer: bytes, ident: bytes, out: list[Command]) -> bytes:
        """A peer's link PING: note what it asks for; the id of the PONG."""
        answer = wire.agreed(ident) if self.on else None
        _note(self.ours, peer, wire.is_ours(ident))
        _note(self.peers, peer, answer is not None)
        if answer is None:
            if peer in self._deliveries or peer in self._results:
                self._unpack(peer, out)
        elif not self.shares and wire.agreement(answer)[1]:
            self.shares = True
            out.append(Share(True))
        return answer or ident

    def _unpack(self, peer: bytes, out: list[Command]) -> None:
        """What was collected for one who is, under the same routing id, another program by now."""
        tasks, answers = iter(self._deliveries.pop(peer, ())), iter(self._results.pop(peer, ()))
        out += [Send(wire.delivery(peer, client, task)) for client, task in zip(tasks, tasks, strict=True)]
        out += [Send(wire.relayed(peer, *answer)) for answer in zip(answers, answers, answers, strict=True)]

    def deliver(self, worker: bytes, client: bytes, task: Frames, out: list[Command]) -> None:
        """A task, to a worker."""
        batch = self._deliveries.get(worker) if self._deliveries else None
        if batch is None or len(task) > wire.PLAIN:
            if worker not in self.peers or not packed.fits(task):
                out.append(send((wire.delivery(worker, client, task), MAIN)))
                return
            batch = self._deliveries.setdefault(worker, [])
        batch += (client, task)
        if len(batch) == _DELIVERIES:
            out.append(Send([worker, packed.deliveries(self._deliveries.pop(worker))]))

    def relay(self, client: bytes, ident: bytes, worker: bytes, data: bytes | None, out: list[Command]) -> None:
        """An answer, to its client; ``data``: None for a reply without."""
        batch = self._results.get(client)
        if batch is None or data is not None:
            if client not in self.peers or (data is not None and len(data) > packed.SMALL):
                out.append(Send(wire.relayed(client, ident, worker, data)))
                return
            batch = self._results.setdefault(client, [])
        batch += (ident, worker, data)
        if len(batch) == _RESULTS:
            out.append(Send([client, packed.results(self._results.pop(client))]))

    def relay_run(self, worker: bytes, answers: list[packed.Answer], out: list[Command]) -> None:
        """Packed answers of one worker that are replies, to their clients: ``relay`` for each of them."""
        results = self._results
        for client, ident, answer in answers:
            data = None if answer is True else answer
            batch = results.get(client)
            if batch is None or data is not None:
                self.relay(client, ident, worker, data, out)
                continue
            batch += (ident, worker, None)
            if len(batch) == _RESULTS:
                out.append(Send([client, packed.results(results.pop(client))]))

    def flush(self, out: list[Command]) -> None:
        """Send what is collected, at the end of an event and before what must not overtake it.

        Answers first, as on the seed's lane, where the reply comes before the INCREMENT whose slot the next task takes.
        """
        if self._results:
            out += [Send([client, packed.results(batch)]) for client, batch in self._results.items()]
            self._results.clear()
        if self._deliveries:
            out += [Send([worker, packed.deliveries(batch)]) for worker, batch in self._deliveries.items()]
            self._deliveries.clear()

    def check(self) -> None:
        """Between events nothing is kept back."""
        assert not self._deliveries and not self._results, "a batch was not sent"
        assert len(self.peers) <= KEPT >= len(self.ours) and (self.on or not self.peers)


def _note(peers: dict[bytes, None], peer: bytes, known: bool) -> None:
    """Add this peer as the newest, or take it out."""
    peers.pop(peer, None)
    if known:
        peers[peer] = None
        if len(peers) > KEPT:
            del peers[next(iter(peers))]
