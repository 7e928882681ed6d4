"""Which workers are there: which peers the broker PINGs, and what follows from connections that come and go.

The rules of this file (numbers are those of README.md):

- A worker that was silent for most of a heartbeat is PINGed, one of ours only when its own PING is overdue; so is a
  lost one, for as long as it is remembered: an original that was cut off never says anything first. (R3, R13)
- One of ours is PINGed behind every eighth of its own PINGs, so that its round trip is known. (R3)
- A connection that ended took with it what was under way, and its worker may not know: it is lost, at once. (R13)
- Of two live connections of one registered id the newer is served, and that is told. (R14)
- A client whose connection ended and who does not come back is gone: what waits of it is its owner's no longer. (R17)
- A peer of ours whose PING claims nothing is no worker, whatever its id was before it: it is given nothing until it
  registers. Else a client whose id had been registered by somebody else would keep that worker alive. (R14)
"""

from __future__ import annotations

from engine.core import NEVER, Command, Note, Send
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.lanes import KEPT
from engine.protocols.roundrobin.machine import On
from engine.protocols.roundrobin.pool import Pool
from engine.protocols.roundrobin.table import EAGER, Worker

SOON = 0.25  # seconds until a worker is looked for whose connection ended: libzmq makes another in a tenth


class Presence:
    """Of the workers of one pool. ``takeovers``: registered ids that came by a second live connection."""

    def __init__(self, pool: Pool) -> None:
        self.takeovers = 0
        self._pool = pool
        self._pings = 0
        self._seek_at = NEVER  # when lost workers are PINGed next
        self._linked: dict[bytes, None] = {}  # peers whose connection stands, as far as it was told
        self._taken: dict[bytes, None] = {}  # workers whose id came by another connection since they registered

    def wake_at(self) -> float:
        """The next PING of the lost."""
        return self._seek_at

    def beat(self, now: float, out: list[Command]) -> None:
        """PING the workers that were silent for so long, and those that are lost."""
        pool = self._pool
        for key in pool.liveness.beats(now):
            self._ask(pool.workers[key], now, out)
        if now >= self._seek_at:
            out += map(self._ping, pool.lost)
            self._seek_at = NEVER
        self.seek(now)

    def seek(self, now: float, after: float | None = None) -> None:
        """Lost workers are PINGed after so many seconds, as others where none are named, or earlier."""
        at = now + (self._pool.options.heartbeat * EAGER if after is None else after)
        self._seek_at = min(self._seek_at, at) if self._pool.lost else NEVER

    def pinged(self, worker: Worker, ident: bytes, now: float, out: list[Command]) -> None:
        """Behind the PONG to a worker's PING: PING it as well where its round trip is due."""
        if wire.measures(ident) and not worker.leaving:
            self._ask(worker, now, out)

    def _ask(self, worker: Worker, now: float, out: list[Command]) -> None:
        out.append(self._ping(worker.key))
        worker.asked(self._pings, now)

    def _ping(self, worker: bytes) -> Send:
        self._pings += 1
        return Send([worker, *wire.link_ping(self._pings.to_bytes(8, "little"))])

    def connected(self, peer: bytes, out: list[Command]) -> None:
        """A peer came by a connection that is new."""
        self._pool.backlog.owners.back(peer)
        worker = self._pool.workers.get(peer)
        if peer not in self._linked:
            self._linked[peer] = None
            if len(self._linked) > KEPT:
                del self._linked[next(iter(self._linked))]
        elif worker is not None:
            self.takeovers += 1
            self._taken[peer] = None
            out.append(Note("warn", f"{worker.name}: a second live connection took its id over", peer))

    def unclaimed(self, peer: bytes, now: float, out: list[Command]) -> None:
        """A peer of ours says that it is not registered."""
        worker = self._pool.workers.get(peer)
        if worker is not None and peer in self._taken:
            self._pool.lose(worker, On.ENDED, now, out)
            self._pool.drain(now, out)
        self._pool.table.estrange(peer)

    def registered(self, peer: bytes) -> None:
        """By the connection that it has now."""
        self._taken.pop(peer, None)

    def disconnected(self, peer: bytes, now: float, out: list[Command]) -> None:
        """The connection of a peer ended; what it sent before has been read."""
        self._linked.pop(peer, None)
        self._taken.pop(peer, None)
        worker = self._pool.workers.get(peer)
        if worker is None:
            self._pool.backlog.owners.ended(peer, now)
        else:
            self._pool.lose(worker, On.ENDED, now, out)
            self.seek(now, SOON)
            self._pool.drain(now, out)
