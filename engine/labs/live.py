"""The live lab, used by console and command line: open, run, order, close.

A lab is a broker, a pool of workers and a client of one system on threads of this process, any of them optional; with
``connect`` its workers and client join a broker elsewhere. Its methods never block longer than they say, may be called
from any one thread, and raise ``Refused`` with words for the operator.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.core import Note, Seat
from engine.drive.control.place import NOWHERE
from engine.drive.node import Node
from engine.drive.security.curve import Curve
from engine.drive.security.users import Trust
from engine.drive.sockets import make_context
from engine.drive.statestore import StateStore
from engine.drive.waiting import wait_until
from engine.drive.wallclock import wall_offset
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.write import Journal
from engine.labs.brokers import FIRST, SECOND, Brokers, orders_of, paired
from engine.labs.controlsession import BrokerControlSession
from engine.labs.elsewhere import Elsewhere
from engine.labs.health import Health, health_of
from engine.labs.liveruns import LiveRuns
from engine.labs.operated import ask_broker, word_of
from engine.labs.pool import BULK, Nonces
from engine.labs.pools import POOL
from engine.labs.record import begin
from engine.labs.steered import said
from engine.labs.stored import keeper_of, place_of
from engine.labs.taps import Taps
from engine.parts.orders import Inspect
from engine.parts.store import Revive
from engine.parts.view import BrokerView, ClientView
from engine.runs.history import History
from engine.settings.pools import NamedPool
from engine.system import System
from engine.tracing.trace import Trace

CLOSE = 1.5  # seconds that closing may take


class LiveLab(LiveRuns):
    """A running system: broker, workers and client."""

    def __init__(
        self,
        system: System,
        options: Any = None,
        *,
        bind: Sequence[str] = (),
        connect: str | None = None,
        workers: int = BULK,
        slots: int = 10,
        pools: Sequence[NamedPool] = (),
        broker: bool = True,
        client: bool = True,
        pair: bool = False,
        history: History | None = None,
        state: Path | None = None,
        journal: Path | None = None,
        readonly: bool = False,
        trust: Trust | None = None,
        control: Path | None = None,
        listens: Path | None = None,
        role: str = "",
        curve: Curve | None = None,
        elsewhere: Elsewhere | None = None,
        later: bool = False,
    ) -> None:
        """``trust``: whose peers private sockets serve; ``control``: the folder of control sockets.

        ``role``: what its own one calls it; without one only a broker has any. ``listens``: the path of its own one, in
        place of the usual one in ``control``; ``NOWHERE`` for none.
        ``elsewhere``: the broker that is joined, where its clock is asked. ``later``: ``fill`` starts the workers.
        """
        super().__init__(history, elsewhere)
        self.system, self.readonly, self._trust, self._curve = system, readonly, trust, curve
        self._folder, self._listens = control, listens
        self._role = role or ("broker" if broker else "")
        self._desk: BrokerControlSession | None = None
        self.options = system.options() if options is None else options
        self.feed = Feed()
        self.started = time.monotonic()
        self.endpoints: tuple[str, ...] = tuple(bind)
        self._connect, self._wanted, self._slots, self._named = connect, workers, slots, pools
        self._with_broker, self._with_client = broker, client
        self._record = journal
        self._state, self._state_store = state, StateStore(state)
        self._journal: Journal | None = None
        self._nonce = Nonces()
        self._nodes: dict[str, Node] = {}
        self._brokers = Brokers(system, self._nodes, self._sit, self._left, curve is not None)
        self._taps = Taps(self._nodes)
        pairing = paired(system, self.options) if pair and broker else None
        self._pair, self.options = pairing is not None, pairing or self.options
        self._later = later

    # ---- life -------------------------------------------------------------------------------------------------------

    def open(self) -> LiveLab:
        """Start everything. Raises Refused where an endpoint can not be bound or is not for binding."""
        self._context = make_context(self._say, self._trust, self._curve)
        try:
            if self._record is not None:
                self._journal = begin(self._record, self.system, self.options, self._say)
            if self._with_broker:
                self.endpoints = self._brokers.open(self.endpoints, self._say)
                if self._pair:
                    self._brokers.open_fallback()
            self._open_pools(self._slots)
            if not self._later:
                self.fill()
            if self._with_client:
                self._seat_client()
            if self._folder is not None and self._role and self._listens != NOWHERE:
                self._desk = BrokerControlSession(self, self._role, lambda: self._pool.seats)
                orders = orders_of(self.system) if self._with_broker else None
                self._desk.listen(self._context, self._folder, self._listens, orders)
        except BaseException:
            self.close()
            raise
        self._keeper.start()
        return self

    def close(self) -> None:
        """Let the workers say goodbye, then stop every thread and close every socket; under two seconds."""
        self._closing.set()
        if self._desk is not None:
            self._desk.close()
        if self._keeper.is_alive():
            self._keeper.join(CLOSE)
        pools = [name for name in self._nodes if name.startswith(POOL)]
        if pools and not any(self._nodes[name].dead for name in pools):
            self._pool.close(CLOSE / 3)
        nodes = [self._nodes[name] for name in ("client", *pools, FIRST, SECOND) if name in self._nodes]
        stopped = [node.stop(CLOSE / 3) for node in nodes]
        self._nodes.clear()
        if self._journal is not None:
            self._journal.close()
            self.unkept += [self._journal.lost] if self._journal.lost else []
        (self._context.term if all(stopped) else lambda: self._context.destroy(0))()

    def health(self) -> Health:
        """Dead threads and the lag of the living."""
        return health_of(self._nodes.values(), {"door": self._context.door, "control": self._desk})

    def attach(self, trace: Trace) -> None:
        """Attach a trace: it is told the seats, and shown all events from now on."""
        self._taps.attach(trace)

    def detach(self, trace: Trace) -> None:
        """Detach a trace."""
        self._taps.detach(trace)

    def client_view(self) -> ClientView:
        """The client as it is now; the answers to its orders are in ``answers``."""
        view: ClientView = self._ask("client", "client")
        return view

    # ---- workers ----------------------------------------------------------------------------------------------------

    def _order_broker(self, order: object) -> str | None:
        if not self._with_broker:
            return super()._order_broker(order)
        name, _ = self._brokers.serving()
        try:
            return said(self._nodes[name].carry(name, order).result(CLOSE))
        except (RuntimeError, TimeoutError) as error:
            raise Refused(f"the {name} has not said what came of it: {str(error) or 'it is too busy'}") from None

    def _served(self) -> BrokerView | None:
        return self.table() if self._with_broker else None

    def inspect(self, key: bytes | None) -> None:
        """Show the details of one worker in the broker's pictures; None: of nobody."""
        self._brokers.order(Inspect(key))

    def table(self) -> BrokerView:
        """The picture of the broker that serves. Refused where none is here."""
        return self._brokers.serving()[1]

    def wait_linked(self, timeout: float) -> bool:
        """Wait until the client is linked to a broker; False if it is not in ``timeout`` seconds."""
        return wait_until(lambda: self.client_view().linked, timeout)

    # ---- the pair ---------------------------------------------------------------------------------------------------

    def pull_plug(self) -> None:
        """End the primary of a pair as if its process had died, to see its fallback take over."""
        self._change("pulling the plug of the primary")
        self._brokers.pull_plug()

    def hand_back(self) -> None:
        """Start the primary again where it is gone; where it waits, let the fallback give the service back to it."""
        self._change("handing the service back")
        self._brokers.hand_back()

    def operate(self, word: str, **fields: str) -> str | None:
        """See ``WorkerOrders.operate``. Of two brokers this one is asked; one of another process over its socket."""
        if word != "pair":
            self._change("operating a pair")
        if fields and self._with_broker:
            return super().operate(word, **fields)
        asked = word_of(self.system, word, **fields)
        if word == "back" and self._pair:
            self._brokers.hand_back()
            return None
        endpoint = self.endpoints[0] if self._with_broker else self._reach("")
        if self._folder is None:
            raise Refused("no folder for control sockets is known here")
        lines = ask_broker(self._folder, endpoint, *asked).lines
        for line in lines:
            self._say(Note("info", line))
        return "; ".join(lines)

    def revive(self, place: str, numbers: tuple[int, ...]) -> None:
        """Have dead tasks of the broker here tried again; ``place``: where it has to keep them. Refused otherwise."""
        self._change("reviving dead tasks")
        if not self._with_broker or place != place_of(self.system, self.options, self._state):
            raise Refused(f"no broker here keeps its tasks in {place}")
        self._order_broker(Revive(numbers))

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _sit(self, name: str, endpoints: tuple[str, ...]) -> None:
        seat = self._brokers.checked(self._made("broker", name, name, endpoints))
        keeper = keeper_of(self.system, self.options, self._state, self._say)
        self._node(name).seat(name, seat, keeper).result(CLOSE)

    def _tell_client(self, order: object) -> None:
        self._nodes["client"].order("client", order)

    def _left(self, node: str, name: str = "") -> None:
        if self._journal is not None:
            self._journal.left(node, name or node)
        self._taps.left(node, name or node)

    def _say(self, note: Note) -> None:
        self.feed.fact(note, "lab", time.time())

    def _node(self, name: str) -> Node:
        node = self._nodes.get(name)
        if node is None:
            alone = self._with_broker and self._with_client
            node = self._nodes[name] = Node(
                name, self._context, self.feed, self._save, share=alone, told=self._with_broker
            )
            node.taps = (self._journal.tap,) if self._journal is not None else ()
            self._taps.came(node)
            node.start()
        return node

    def _save(self, name: str, content: bytes) -> None:
        try:
            self._state_store.save(self.system.name, content)
        except OSError as error:
            self._lose(f"{name} could not be kept: {error}")

    def _ask(self, node: str, name: str | None = None) -> Any:
        """The picture of one core, or of all on a node, by name."""
        try:
            return (self._nodes[node].ask_all() if name is None else self._nodes[node].ask(name)).result(CLOSE)
        except KeyError:
            raise Refused(f"the {name or node} has left") from None
        except (RuntimeError, TimeoutError) as error:
            raise Refused(f"the {node} does not answer: {str(error) or 'it is too busy'}") from None

    def _made(self, role: str, node: str, name: str, *args: Any) -> Seat:
        """Make a seat of this system, and record in the journal, if one is kept, how it was made."""
        world = self._world(role)
        if self._journal is not None:
            plain = [list(arg) if isinstance(arg, tuple) else arg for arg in args]
            self._journal.seated(node, name, role, plain, world)
        try:
            seat: Seat = getattr(self.system, role)(self.options, *args, **world)
        except ValueError as error:  # settings or an endpoint that this protocol can not do with
            raise Refused(f"{self.system.name}: {error}") from None
        return seat

    def _world(self, role: str) -> dict[str, Any]:
        """The wall clock offset and saved state for a maker, if its protocol needs them."""
        if not self.system.wall:
            return {}
        wall: dict[str, Any] = {"wall_offset": wall_offset()}
        return wall if role == "broker" else {**wall, "saved": self._state_store.recall(self.system.name, self._say)}
