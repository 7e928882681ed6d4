"""The workers of a lab that runs: its pools, the transport over which peers of the process reach its broker."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import count
from threading import Event
from typing import Any

from engine.core import Note, Seat
from engine.drive.node import Node
from engine.drive.sockets import descriptors_of
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.labs.brokers import inner
from engine.labs.controlsession import BrokerControlSession
from engine.labs.health import Workers
from engine.labs.livefaults import LiveFaults
from engine.labs.orders import PATIENCE
from engine.labs.pool import BULK, Nonces, Pool, passed, wait_seated
from engine.labs.pools import TRANSPORTS, Kind, Pools
from engine.parts.orders import Pack
from engine.parts.view import WorkerView
from engine.settings.pools import NamedPool

AT_ONCE = 1000  # workers that are started together where many are wanted from the beginning


class LiveWorkers(LiveFaults):
    """Orders to the pools of a lab that runs, and to its client about its transport."""

    _pool: Pools
    _with_broker: bool
    _with_client: bool
    _connect: str | None
    _client_id: bytes
    _nonce: Nonces
    _desk: BrokerControlSession | None
    _transport = ""  # of peers of this process; empty: they stay in it
    _wanted: int
    _named: Sequence[NamedPool]
    _closing: Event

    # ---- pools ------------------------------------------------------------------------------------------------------

    def _open_pools(self, slots: int) -> None:
        numbers = count(1)
        tell = self._brokers.order if self._with_broker and not self.system.goodbye else None

        def made(name: str, node: str, _: Kind) -> Pool:
            def cost() -> int:
                return descriptors_of(self._reach(self._pool.kinds[name].transport))

            return Pool(self._node(node), lambda seat: self._worker(name, node, seat), cost, tell, numbers)

        self._pool = Pools(made, Kind(slots))

    def fill(self) -> None:
        """Start the workers that were wanted from the beginning, ``AT_ONCE`` at a time: closing waits for no more.

        Raises Refused where there can not be so many.
        """
        self._pool.afford(self._wanted)
        for begun in range(0, self._wanted, AT_ONCE):
            if self._closing.is_set():
                return
            self._pool.add(min(AT_ONCE, self._wanted - begun), PATIENCE)
        for named in self._named:
            for begun in range(0, named.workers, AT_ONCE):
                if self._closing.is_set():
                    return
                kind = Kind(named.slots, named.transport)
                self._pool.bulk(min(begun + AT_ONCE, named.workers), PATIENCE, named.name, kind)

    def bulk(self, workers: int = BULK, pool: str = "", slots: int | None = None, transport: str = "") -> None:
        """The seed's ``bulk``: start children until a pool has so many workers in all; see ``Pools.bulk``."""
        self._change("starting workers")
        kind = None
        if slots is not None or transport:
            known = self._pool.kinds.get(pool, self._pool.kinds[""])
            kind = Kind(known.slots if slots is None else slots, transport or known.transport)
            self._reach(kind.transport)
        self._pool.bulk(workers, PATIENCE, pool, kind)
        self._brief()

    def endbulk(self, pool: str = "") -> None:
        """See ``WorkerOrders``; it is told how many messages each of those workers has passed."""
        self._change("stopping workers")
        views, before = self.crew(), set(self._pool.alive())
        self._pool.endbulk(pool)
        ended = before - set(self._pool.alive())
        self._say(Note("info", passed({name: views[name].done for name in ended if name in views})))

    def pool_of(self, key: bytes) -> str | None:
        """The pool of a worker of this process; None where it is of another. Any thread."""
        return self._pool.name_of(key)

    def pool_pictures(self) -> Sequence[str]:
        """The names of the pictures of our workers, by pool. Any thread."""
        return self._pool.nodes

    def _stop_elsewhere(self, key: bytes) -> None:
        if not self._with_broker:
            raise Refused("that worker is not in this process")
        super()._stop_elsewhere(key)

    def _own_view(self, seat: str) -> WorkerView:
        return self.crew()[seat]

    def keep_trace(self, text: str) -> str:
        """See ``BrokerLab``."""
        self._change("tracing messages")
        if self._desk is None:
            raise Refused("no control socket is open here, over which a trace could be seen")
        return self._desk.keep_trace(text)

    def crew(self) -> dict[str, WorkerView]:
        """How each worker of this process that has not left sees itself, by its seat."""
        return {name: view for node in self._pool.nodes for name, view in self._ask(node).items()}

    def registered(self) -> int:
        """Workers that have joined: as the broker sees it, or where it is elsewhere as ours see it."""
        if self._with_broker:
            _, picture = self._brokers.serving()
            return sum(row.state not in ("lost", "drain") for row in picture.workers)
        return self.workers().joined

    def seat_of(self, key: bytes) -> str | None:
        """The name of our worker with this routing id in the pool's pictures; None where it is not ours. Any thread."""
        return self._pool.seat_of(key)

    def workers(self) -> Workers:
        """The workers of this process that have not left."""
        views = self.crew().values()
        return Workers(len(views), sum(view.joined for view in views))

    def wait_registered(self, n: int, timeout: float) -> bool:
        """Wait until n workers have joined; False if they have not in ``timeout`` seconds."""
        return wait_until(lambda: self.registered() >= n, timeout)

    # ---- transport --------------------------------------------------------------------------------------------------

    @property
    def transport(self) -> str:
        """The transport that was asked for; empty where peers are inside this process, or where they always were."""
        return self._transport

    def choose_transport(self, transport: str) -> None:
        """Let client and workers of this process go over ``tcp``, or inside it: they leave, and others come.

        Workers of a pool with a transport of its own stay. Refused while a run goes on.
        """
        self._change("changing the transport")
        if transport not in TRANSPORTS:
            raise Refused(f"no transport {transport!r}: there are {' and '.join(TRANSPORTS)}")
        view = self.run_view()
        if view is not None and view.state != "ended":
            raise Refused("a run is going on: stop it first")
        self._reach(transport)
        asked = "" if transport == TRANSPORTS[0] else transport
        if asked == self._transport:
            raise Refused(f"client and workers are over {transport} already")
        before, self._transport = self._transport, asked
        try:
            self._pool.afford_move()
        except Refused:
            self._transport = before
            raise
        if self._with_client:
            self._reseat_client()
        self._pool.move(PATIENCE)
        self._brief()
        self._say(Note("info", f"client and workers go over {transport} from now on"))

    def _reach(self, transport: str) -> str:
        """The endpoint at which peers of this process find their broker. Refused where it is not reached so."""
        if self._connect is not None or not self._with_broker:
            if transport:
                raise Refused("the broker is elsewhere: its endpoint says over which transport")
            return self._connect or self.system.endpoint
        if (transport or self._transport) != TRANSPORTS[1]:
            return inner(self.system)
        for endpoint in self.endpoints:
            if endpoint.startswith("tcp:"):
                return endpoint
        raise Refused(f"this broker is not bound to tcp: {' '.join(self.endpoints)}")

    def _worker(self, pool: str, node: str, seat: str) -> Seat:
        kind = self._pool.kinds[pool]
        return self._made("worker", node, seat, self._reach(kind.transport), self._nonce(seat), kind.slots)

    def _seat_client(self) -> None:
        seat = self._made("client", "client", "client", self._reach(""), self._nonce())
        self._client_id = seat.sockets[0].routing_id
        wait_seated([self._node("client").seat("client", seat)], PATIENCE)

    def _reseat_client(self) -> None:
        """Another client takes the place of this one, which goes without a word."""
        self.vanish("client", "client")
        self._seat_client()
        if self._packs is not None:
            self._tell_client(Pack(self._packs))

    @abstractmethod
    def _node(self, name: str) -> Node:
        """The node of this name, started where it is new."""

    @abstractmethod
    def _made(self, role: str, node: str, name: str, *args: Any) -> Seat:
        """A seat of this system."""

    @abstractmethod
    def _ask(self, node: str, name: str | None = None) -> Any:
        """The picture of one core, or of all on a node, by name."""
