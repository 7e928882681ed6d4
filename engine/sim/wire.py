"""Sockets and the connections between them, as libzmq behaves and as ``engine.drive`` sets it up.

The rules of this file:

- A connection keeps the order of its messages, whatever delay each of them draws.
- A cut connection loses nothing at first, as TCP does not: what was sent arrives when the cut heals. Only a reset
  loses what was on the wire, and only a link's ``loss`` loses single messages.
- A ROUTER knows a peer by the routing id that the peer chose, or by one made up anew for every connection. Of two
  peers of one id the newer is heard (HANDOVER); the older stays connected and deaf, and is not told.
- A DEALER is told that it is connected at once, a ROUTER with the connection's first message. Both are told of an end
  that was not their own command; over inproc nobody is told anything.
- A DEALER spreads over its connections in turn. Without one that has room, messages wait in a bounded outbox
  (IMMEDIATE, and the driver's outbox).
- A peer that is gone is noticed when its end of the connection is heard to close, and not before.
- On a stream there are no messages: bytes are split and joined at random, and a lost piece breaks the connection.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, groupby
from random import Random
from typing import Literal, cast

from engine.core import Connected, Disconnected, Frames, Socket
from engine.sim.agenda import Agenda
from engine.sim.spoil import flipped, garbled

GRID = 1000  # moments a second at which messages arrive, so that some arrive together
DRAIN = 64  # messages in one batch at most, as the driver takes them
HANDSHAKE = (0.001, 0.02)  # seconds from connect to connected
RECONNECT = (0.05, 0.2)  # seconds before a lost connection is tried again

Refusal = Literal["unreachable", "full"]
Change = Connected | Disconnected


@dataclass(frozen=True, slots=True)
class Link:
    """What every message meets between two seats. ``delay``: least and most seconds; the others: probabilities."""

    delay: tuple[float, float] = (0.0005, 0.005)
    loss: float = 0.0
    duplicate: float = 0.0
    corrupt: float = 0.0  # one bit of a message is flipped, or one of its frames cut short


class Host:
    """A process, as far as wires care: frozen, it takes nothing, and what comes up is done ``later``."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.later: list[Callable[[], object]] = []


class Port:
    """An open socket. ``ends``: its connections by the id under which it knows the peer."""

    def __init__(self, host: Host, spec: Socket) -> None:
        self.host, self.spec = host, spec
        self.open = True
        self.ends: dict[bytes, End] = {}
        self.deaf: list[End] = []  # taken over, still connected in the peer's eyes
        self.outbox: deque[Frames] = deque()
        self.moments: dict[float, list[End]] = {}  # when something arrives, and on which connections
        self.called: dict[str, bytes] = {}  # endpoint → id of its peer: a STREAM that connects again keeps it


class End:
    """One side of a connection. ``queue``: what is under way to it, oldest first; None is the peer's close."""

    __slots__ = ("clear_at", "endpoint", "key", "known", "open", "peer", "port", "queue", "stalled")

    def __init__(self, port: Port, key: bytes, endpoint: str | None) -> None:
        self.port, self.key = port, key
        self.endpoint = endpoint  # where this side connected to; None on the side that was bound
        self.peer = self
        self.open = True
        self.queue: deque[Frames | None] = deque()
        self.clear_at = 0.0  # the latest arrival so far: nothing sent later comes sooner
        self.stalled = 0  # arrivals that a cut holds back
        self.known = False  # whether its port was told that it is there, and is to be told when it ends


class Wires:
    """All sockets and connections of a world.

    ``deliver(port, messages)`` is called with what arrives, ``tell(port, change)`` when a connection came or ended.
    """

    def __init__(
        self,
        agenda: Agenda,
        random: Random,
        deliver: Callable[[Port, list[Frames]], None],
        tell: Callable[[Port, Change], None],
        queue: int,
        outbox: int,
    ) -> None:
        self.link = Link()
        self.links: dict[frozenset[str], Link] = {}
        self._agenda, self._random, self._deliver, self._change = agenda, random, deliver, tell
        self._queue, self._outbox = queue, outbox
        self._cuts: set[frozenset[str]] = set()
        self._ports: dict[Port, None] = {}
        self._bound: dict[str, Port] = {}
        self._waiting: dict[str, list[Port]] = {}
        self._ids = count(1)

    # ---- sockets ------------------------------------------------------------------------------------------------

    def plug(self, host: Host, spec: Socket) -> Port:
        """Open a socket; its connections follow. A taken endpoint is the test's own mistake and raises."""
        port = Port(host, spec)
        self._ports[port] = None
        for endpoint in spec.bind:
            assert endpoint not in self._bound, f"{endpoint} is bound already, by {self._bound[endpoint].host.name}"
            self._bound[endpoint] = port
            self._retry(endpoint)
        for endpoint in spec.connect:
            self._agenda.after(self._random.uniform(*HANDSHAKE), self._connect, port, endpoint)
        return port

    def unplug(self, port: Port, crashed: bool = False) -> None:
        """Close a socket. What it sent still arrives; of what a crashed process sent, the last part may be lost."""
        port.open = False
        del self._ports[port]
        for endpoint in port.spec.bind:
            del self._bound[endpoint]
        for end in [*port.ends.values(), *port.deaf]:
            far = end.peer
            for _ in range(self._random.randint(0, len(far.queue)) if crashed else 0):
                far.queue.pop()
            self._close(end)
        port.ends.clear()
        port.outbox.clear()

    def send(self, port: Port, frames: Frames) -> Refusal | None:
        """Send one message, or say why not."""
        if port.spec.kind == "dealer":
            return self._spread(port, frames)
        assert len(frames) > 1, "a message to a peer is its routing id and at least one frame"
        end = port.ends.get(frames[0])
        if end is None:
            return "unreachable"
        if len(end.peer.queue) >= self._queue:
            return "full"
        if port.spec.kind == "stream":
            self._pour(end, frames)
        else:
            self._carry(end, frames[1:])
        return None

    # ---- faults -------------------------------------------------------------------------------------------------

    def cut(self, a: str, b: str) -> None:
        """Let nothing pass between two seats."""
        self._cuts.add(frozenset((a, b)))

    def heal(self, a: str, b: str) -> None:
        """End a cut; what it held back arrives."""
        pair = frozenset((a, b))
        self._cuts.discard(pair)
        for end in self._between(pair):
            stalled, end.stalled = end.stalled, 0
            for _ in range(stalled):
                self._arrange(end)
        for endpoint in list(self._waiting):
            self._retry(endpoint)

    def reset(self, a: str, b: str) -> None:
        """Break the connections between two seats; what was on the wire is lost, and whoever connected tries again."""
        for end in self._between(frozenset((a, b))):
            self._break(end)

    def _between(self, pair: frozenset[str]) -> list[End]:
        """Both ends of what connects two seats, and single ends whose peer is gone and was not heard to close."""
        ends = [end for port in self._ports if port.host.name in pair for end in (*port.ends.values(), *port.deaf)]
        return [end for end in ends if {end.port.host.name, end.peer.port.host.name} == pair]

    # ---- connecting ---------------------------------------------------------------------------------------------

    def _retry(self, endpoint: str) -> None:
        for port in self._waiting.pop(endpoint, ()):
            self._agenda.after(self._random.uniform(*RECONNECT), self._connect, port, endpoint)

    def _connect(self, near: Port, endpoint: str) -> None:
        far = self._bound.get(endpoint)
        if not near.open:
            return
        if far is None or self._is_cut(near, far):
            self._waiting.setdefault(endpoint, []).append(near)
            return
        for port in (near, far):
            if port.host.frozen:
                port.host.later.append(partial(self._connect, near, endpoint))
                return
        ours, theirs = End(near, self._key(near, far, endpoint), endpoint), End(far, self._key(far, near), None)
        ours.peer, theirs.peer = theirs, ours
        for end in (theirs, ours):
            port = end.port
            older = port.ends.get(end.key)
            if older is not None:
                older.open = False
                older.queue.clear()
                port.deaf.append(older)
            port.ends[end.key] = end
        for end in (theirs, ours):  # only now: whoever is told first may answer, and that may break the connection
            if end.port.spec.kind == "stream":
                self._tell(end.port, [[end.key, b""]])
            elif end.port.spec.kind == "dealer" and self._is_told(end):
                end.known = True
                self._tell(end.port, [Connected(end.port.spec.name)])
        self._flush(near)
        self._flush(far)

    def _key(self, of: Port, peer: Port, endpoint: str | None = None) -> bytes:
        if of.spec.kind == "router" and peer.spec.routing_id:
            return peer.spec.routing_id
        key = b"\0" + next(self._ids).to_bytes(4, "big")
        return of.called.setdefault(endpoint, key) if endpoint and of.spec.kind == "stream" else key

    def _is_told(self, end: End) -> bool:
        return not (end.endpoint or end.peer.endpoint or "").startswith("inproc://")

    def _is_cut(self, a: Port, b: Port) -> bool:
        return bool(self._cuts) and frozenset((a.host.name, b.host.name)) in self._cuts

    def _close(self, end: End) -> None:
        """This side ends; the other hears of it behind everything that was sent."""
        end.open = False
        far = end.peer
        if far in far.port.deaf:
            far.port.deaf.remove(far)
        self._push(far, None)

    def _break(self, end: End) -> None:
        """Both sides end on their own; this is the part of one side."""
        end.queue.clear()
        messages: list[Frames | Change] = []
        self._lose(end, messages)
        if messages:
            self._agenda.after(0.0, self._tell, end.port, messages)

    def _lose(self, end: End, messages: list[Frames | Change]) -> None:
        """A connection is over: forget it, say so, and try again if it was this side that connected."""
        port = end.port
        if end in port.deaf:
            port.deaf.remove(end)
        if not end.open:
            return
        end.open = False
        del port.ends[end.key]
        if port.spec.kind == "stream":
            messages.append([end.key, b""])
        elif end.known:
            messages.append(Disconnected(port.spec.name, end.key if port.spec.kind == "router" else b""))
        if end.endpoint is not None:
            self._agenda.after(self._random.uniform(*RECONNECT), self._connect, port, end.endpoint)

    # ---- sending ------------------------------------------------------------------------------------------------

    def _spread(self, port: Port, frames: Frames) -> Refusal | None:
        end = None if port.outbox else self._roomy(port)
        if end is not None:
            self._carry(end, frames)
        elif len(port.outbox) < self._outbox:
            port.outbox.append(frames)
        else:
            return "full"
        return None

    def _roomy(self, port: Port) -> End | None:
        """The next connection in turn that has room."""
        for key in list(port.ends):
            end = port.ends[key] = port.ends.pop(key)
            if len(end.peer.queue) < self._queue:
                return end
        return None

    def _flush(self, port: Port) -> None:
        while port.outbox and (end := self._roomy(port)) is not None:
            self._carry(end, port.outbox.popleft())

    def _carry(self, end: End, frames: Frames) -> None:
        link, random = self._link(end), self._random
        if link.loss and random.random() < link.loss:
            return
        if link.corrupt and random.random() < link.corrupt:
            frames = garbled(random, frames)
        self._push(end.peer, frames)
        if link.duplicate and random.random() < link.duplicate:
            self._push(end.peer, list(frames))

    def _pour(self, end: End, frames: Frames) -> None:
        peer, data = frames
        if not data:  # as on a STREAM socket: nothing more for this peer
            del end.port.ends[peer]
            self._close(end)
            return
        link = self._link(end)
        if link.loss and self._random.random() < link.loss:
            for side in (end, end.peer):
                self._break(side)
            return
        if link.corrupt and self._random.random() < link.corrupt:
            data = flipped(self._random, data)
        while data:
            size = self._random.choice((len(data), self._random.randint(1, len(data))))
            self._push(end.peer, [data[:size]])
            data = data[size:]

    def _link(self, end: End) -> Link:
        if not self.links:
            return self.link
        return self.links.get(frozenset((end.port.host.name, end.peer.port.host.name)), self.link)

    def _push(self, far: End, item: Frames | None) -> None:
        if far.open:
            far.queue.append(item)
            self._arrange(far)

    # ---- arriving -----------------------------------------------------------------------------------------------

    def _arrange(self, end: End) -> None:
        """Fix when the next item of this end's queue, counted from its last, arrives."""
        when = self._agenda.now + self._random.uniform(*self._link(end).delay)
        end.clear_at = when = max(end.clear_at, math.ceil(when * GRID) / GRID)
        port = end.port
        ends = port.moments.get(when)
        if ends is None:
            ends = port.moments[when] = []
            self._agenda.at(when, self._arrive, port)
        ends.append(end)

    def _arrive(self, port: Port) -> None:
        if not port.open:
            return
        if port.host.frozen:
            port.host.later.append(partial(self._arrive, port))
            return
        messages: list[Frames | Change] = []
        for moment in sorted(moment for moment in port.moments if moment <= self._agenda.now):
            for end in port.moments.pop(moment):
                self._land(end, messages)
        self._tell(port, messages)

    def _land(self, end: End, messages: list[Frames | Change]) -> None:
        """One item comes out of the wire; there is none if a reset or a crash lost it."""
        port, sender = end.port, end.peer.port
        if self._is_cut(port, sender):
            end.stalled += 1
            return
        if not end.queue:
            return
        frames = end.queue.popleft()
        if frames is None:
            self._lose(end, messages)
        elif port.spec.kind == "dealer":
            messages.append(frames)
        elif port.spec.kind == "router":
            if not end.known and self._is_told(end):
                end.known = True
                messages.append(Connected(port.spec.name, end.key))
            messages.append([end.key, *frames])
        elif messages and self._joins(last := cast(Frames, messages[-1]), end):
            last[1] += frames[0]
        else:
            messages.append([end.key, *frames])
        if sender.outbox:
            self._flush(sender)

    def _joins(self, last: Frames, end: End) -> bool:
        """Whether bytes on a stream come together with those before them."""
        return last[0] == end.key and bool(last[1]) and self._random.random() < 0.5

    def _tell(self, port: Port, messages: Sequence[Frames | Change]) -> None:
        if port.host.frozen:
            port.host.later.append(partial(self._tell, port, messages))
            return
        for plain, group in groupby(messages, lambda item: isinstance(item, list)):
            if plain:
                found = cast(list[Frames], list(group))
                for start in range(0, len(found), DRAIN):
                    if port.open:
                        self._deliver(port, found[start : start + DRAIN])
                continue
            for change in cast(Iterable[Change], group):
                if port.open:
                    self._change(port, change)
