"""A TCP proxy between peers and broker whose lines can be made slow, silent, half-open, wrong, or be cut.

One thread, one selector. A ``Link`` listens at a port and its neighbours (``SIDES``) and leads each connection to the
broker's port of the same distance, so one peer has one link whatever sockets its protocol asks for.
"""

from __future__ import annotations

import random
import selectors
import socket
import struct
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Literal

from tests.helpers.processes import SIDES, free_endpoint

CHUNK = 65_536  # bytes read at once
HELD = 2**20  # bytes that wait in one direction before nothing more is read
DEAD = 64  # half-open connections that are kept; the oldest is reset
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close sends RST

State = Literal["open", "frozen", "half-open", "shut"]


class Way:
    """One direction of one connection: what was read, and when it may go on."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.held: deque[tuple[float, bytes]] = deque()
        self.size = 0
        self.ended = False  # the source has said its last; told to the sink behind what is held

    def take(self, data: bytes, due: float) -> None:
        """Keep what was read until it is due."""
        self.held.append((due, data))
        self.size += len(data)

    def give(self, now: float) -> None:
        """Send what is due. Raises OSError where the sink is gone."""
        while self.held and self.held[0][0] <= now:
            due, data = self.held.popleft()
            self.size -= len(data)
            try:
                sent = self.sink.send(data)
            except BlockingIOError:
                sent = 0
            if sent < len(data):
                self.held.appendleft((due, data[sent:]))
                self.size += len(data) - sent
                return


class Pair:
    """One connection through the proxy: the peer's socket and the broker's."""

    def __init__(self, peer: socket.socket, broker: socket.socket, newer: bool) -> None:
        self.ways = (Way(peer, broker), Way(broker, peer))
        self.sockets = (peer, broker)
        self.dead = False  # half-open: nothing goes on and nothing is closed, for ever
        self.newer = newer  # it came while its link was half-open


class Link:
    """The lines of one peer. Its methods may be called from any thread."""

    def __init__(self, proxy: Proxy, target: str, seed: int) -> None:
        self._proxy, self._target = proxy, int(target.rpartition(":")[2])
        self._random = random.Random(seed)
        self.listeners: dict[socket.socket, int] = {}  # and the broker's port that each leads to
        self.pairs: list[Pair] = []
        self.state: State = "open"
        self.lag = 0.0  # seconds that everything is late
        self.noise = 0.0  # share of chunks of which one bit is flipped
        self.carried = 0  # bytes
        self.accepted = 0  # connections so far
        self.endpoint = self._listen()

    def _listen(self) -> str:
        while True:
            endpoint = free_endpoint()
            port = int(endpoint.rpartition(":")[2])
            try:
                for side in SIDES:
                    listener = socket.create_server(("127.0.0.1", port + side))
                    listener.setblocking(False)
                    self.listeners[listener] = self._target + side
            except OSError:  # somebody was quicker
                for listener in self.listeners:
                    listener.close()
                self.listeners.clear()
                continue
            return endpoint

    def change(self, state: State = "open", lag: float = 0.0, noise: float = 0.0) -> None:
        """From now on; ``open`` ends what was wrong before."""
        with self._proxy.lock:
            if self.state == "half-open":  # who came meanwhile has reached nobody
                self.cut(RESET, [pair for pair in self.pairs if pair.newer])
            if state == "half-open":
                for pair in self.pairs:
                    pair.dead = True
            self.state, self.lag, self.noise = state, lag, noise
        self._proxy.wake()

    def close(self, reset: bool) -> None:
        """End every connection now, what was under way is lost: by RST, or in the ordinary way."""
        with self._proxy.lock:
            self.cut(RESET if reset else b"", self.pairs)
        self._proxy.wake()

    def cut(self, linger: bytes, pairs: list[Pair]) -> None:
        """Close these pairs. The proxy's lock is held."""
        for pair in list(pairs):
            self.pairs.remove(pair)
            for one in pair.sockets:
                if linger:
                    with suppress(OSError):
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self._proxy.forget(one)
                one.close()

    def spoilt(self, data: bytes) -> bytes:
        """What leaves a line that flips bits."""
        if self._random.random() >= self.noise:
            return data
        wrong = bytearray(data)
        wrong[self._random.randrange(len(wrong))] ^= 1 << self._random.randrange(8)
        return bytes(wrong)


class Proxy:
    """All links of one house. Use it as a context manager."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.links: list[Link] = []
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._closing = False
        self._thread = threading.Thread(target=self._loop, name="chaos-proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        self.wake()
        self._thread.join()
        for link in self.links:
            link.cut(RESET, link.pairs)
            for listener in link.listeners:
                listener.close()
        self._selector.close()
        self._bell.close()
        self._ear.close()

    def link(self, target: str, seed: int = 0) -> Link:
        """A new link to the broker at ``target``; peers connect to its ``endpoint``."""
        link = Link(self, target, seed)
        with self.lock:
            self.links.append(link)
        self.wake()
        return link

    def wake(self) -> None:
        """Let the thread look at everything again."""
        with suppress(BlockingIOError):
            self._bell.send(b"!")

    def forget(self, one: socket.socket) -> None:
        """It is about to be closed."""
        with suppress(KeyError):
            self._selector.unregister(one)

    # ---- the thread -------------------------------------------------------------------------------------------------

    def _loop(self) -> None:
        while not self._closing:
            with self.lock:
                now = time.monotonic()
                for link in self.links:
                    self._give(link, now)
                wait = self._watch(now)
            ready: dict[object, int] = {key.fileobj: events for key, events in self._selector.select(wait)}
            with self.lock, suppress(BlockingIOError):
                for link in self.links:
                    self._read(link, ready)
                self._ear.recv(CHUNK)

    def _watch(self, now: float) -> float | None:
        """Tell the selector what matters now; the seconds until something held is due."""
        self._want(self._ear, selectors.EVENT_READ)
        due = []
        for link in self.links:
            for listener in link.listeners:
                self._want(listener, selectors.EVENT_READ)
            for pair in link.pairs:
                moving = not pair.dead and link.state == "open"
                there, back = pair.ways
                for one, reading, writing in ((pair.sockets[0], there, back), (pair.sockets[1], back, there)):
                    events = 0
                    if moving and not reading.ended and reading.size < HELD:
                        events |= selectors.EVENT_READ
                    if moving and writing.held:
                        at = writing.held[0][0]
                        if at <= now:
                            events |= selectors.EVENT_WRITE
                        else:
                            due.append(at - now)
                    self._want(one, events)
        return min(due, default=None)

    def _want(self, one: socket.socket, events: int) -> None:
        known = self._selector.get_map().get(one)
        if known is None:
            if events:
                self._selector.register(one, events)
        elif not events:
            self._selector.unregister(one)
        elif known.events != events:
            self._selector.modify(one, events)

    def _read(self, link: Link, ready: dict[object, int]) -> None:
        for listener, port in link.listeners.items():
            if listener in ready:
                self._accept(link, listener, port)
        for pair in list(link.pairs):
            if pair.dead or link.state != "open":
                continue
            for way in pair.ways:
                if ready.get(way.source, 0) & selectors.EVENT_READ and not self._pull(link, pair, way):
                    break

    def _accept(self, link: Link, listener: socket.socket, port: int) -> None:
        try:
            peer, _ = listener.accept()
        except BlockingIOError:
            return
        link.accepted += 1
        broker = socket.socket()
        broker.settimeout(1.0)
        try:
            if link.state == "shut":
                raise ConnectionRefusedError
            broker.connect(("127.0.0.1", port))
        except OSError:
            broker.close()
            peer.close()
            return
        for one in (peer, broker):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = Pair(peer, broker, link.state == "half-open")
        pair.dead = pair.newer
        link.pairs.append(pair)
        link.cut(RESET, [pair for pair in link.pairs if pair.dead][:-DEAD])

    def _pull(self, link: Link, pair: Pair, way: Way) -> bool:
        """Read once; False where the pair is gone."""
        try:
            data = way.source.recv(CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            link.cut(RESET, [pair])
            return False
        if not data:
            way.ended = True
            return True
        link.carried += len(data)
        way.take(link.spoilt(data), time.monotonic() + link.lag)
        return True

    def _give(self, link: Link, now: float) -> None:
        for pair in list(link.pairs):
            if pair.dead or link.state != "open":
                continue
            try:
                for way in pair.ways:
                    way.give(now)
            except OSError:
                link.cut(RESET, [pair])
                continue
            if any(way.ended and not way.held for way in pair.ways):
                link.cut(b"", [pair])
