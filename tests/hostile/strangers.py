"""Strangers on every endpoint that a broker binds: they speak nearly its protocol, nearly ZMTP, or nothing at all."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress
from random import Random
from socket import AF_UNIX, create_connection

import zmq

from engine.core import Frames, Socket
from engine.parts.limits import MAX_FRAME
from tests.helpers.mutator import Mutator

SPOKEN = 200  # messages of one stranger
PATIENCE = 5.0  # seconds for one send or connection
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 1 + 31)  # ZMTP 3.0, no security
CURVE = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15 + 1 + 31)
HELLO = bytes((4, 200)) + b"\x05HELLO\x01\x00"  # a command of 200 bytes; what follows is to be anything
OLD = b"\xff" + bytes(8) + b"\x7f\x01\x05\x00\x00"  # ZMTP 2.0, an anonymous DEALER
MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame


def ready(identity: bytes) -> bytes:
    """The command that ends a handshake; longer identities than 255 bytes are possible here and nowhere else."""
    body = b"\x05READY"
    for name, value in ((b"Socket-Type", b"DEALER"), (b"Identity", identity)):
        body += bytes((len(name),)) + name + struct.pack(">I", len(value)) + value
    return bytes((COMMAND | LONG,)) + struct.pack(">Q", len(body)) + body


def on_the_wire(frames: Frames) -> bytes:
    """A message in ZMTP 3."""
    words = b""
    for n, frame in enumerate(frames, 1):
        more = MORE if n < len(frames) else 0
        words += bytes((more | LONG,)) + struct.pack(">Q", len(frame)) + frame
    return words


def connected(endpoint: str) -> socket.socket:
    """A connection to an endpoint of tcp or ipc."""
    if endpoint.startswith("ipc://"):
        connection = socket.socket(AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(endpoint.removeprefix("ipc://"))
        return connection
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return create_connection((host, int(port)), PATIENCE)


class Strangers:
    """``mutator``: what is said at a socket of the broker, by its name. It depends on the seed alone.

    ``keys``: sets those of a peer that speaks.
    """

    def __init__(
        self,
        sockets: tuple[Socket, ...],
        mutator: Callable[[str], Mutator],
        random: Random,
        keys: Callable[[zmq.Socket[bytes]], None] = lambda dealer: None,
    ) -> None:
        self._sockets, self._mutator, self._random, self._keys = sockets, mutator, random, keys
        self.messages = self.connections = 0

    def all(self, n: int) -> None:
        """So many messages, and a tenth as many raw connections, at each endpoint."""
        for bound in self._sockets:
            for endpoint in bound.bind:
                if bound.kind == "router":
                    self.speak(endpoint, bound.name, n)
                self.knock(endpoint, bound.name, n // 10)

    def speak(self, endpoint: str, name: str, n: int) -> None:
        """Over ZeroMQ, under names of their own; some of them listen."""
        mutator = self._mutator(name)
        with zmq.Context() as context:
            while n > 0:
                with context.socket(zmq.DEALER) as dealer:
                    dealer.linger = dealer.sndtimeo = int(PATIENCE * 1000)
                    dealer.routing_id = b"stranger-%d" % self._random.getrandbits(64)
                    self._keys(dealer)
                    dealer.connect(endpoint)
                    for _ in range(min(n, SPOKEN)):
                        dealer.send_multipart(mutator())
                        self.messages += 1
                    if self._random.random() < 0.5:
                        with suppress(zmq.Again):
                            while True:
                                dealer.recv_multipart(zmq.NOBLOCK)
                n -= SPOKEN

    def knock(self, endpoint: str, name: str, n: int) -> None:
        """Over plain TCP or a Unix socket, many at once."""
        self.pour(endpoint, lambda: self._raw(name), n)

    def pour(self, endpoint: str, said: Callable[[], bytes], n: int) -> None:
        """So many connections that say this."""
        with ExitStack() as stack:
            for _ in range(n):
                self.connections += 1
                with suppress(OSError):  # it has hung up already
                    stack.enter_context(connected(endpoint)).sendall(said())

    def _raw(self, name: str) -> bytes:
        random, mutator = self._random, self._mutator(name)
        hello = GREETING + ready(random.randbytes(random.choice((0, 5, 255, 256, 4000))))
        match random.randrange(10):
            case 0:
                return random.randbytes(random.choice((1, 9, 64, 65, 5000)))
            case 1:
                return hello[: random.randrange(len(hello))]
            case 2:
                spoilt = bytearray(hello)
                spoilt[random.randrange(len(spoilt))] ^= 1 << random.randrange(8)
                return bytes(spoilt) + on_the_wire(mutator())
            case 3:
                return hello + bytes((LONG,)) + struct.pack(">Q", random.choice((MAX_FRAME + 1, 2**32, 2**63))) + b"x"
            case 4:
                return OLD + on_the_wire(mutator())
            case 5:
                return b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" + b"\x01\x00" + on_the_wire(mutator())
            case 6:
                return b"".join(mutator())  # a protocol over plain TCP
            case 7:
                return CURVE + HELLO + random.randbytes(random.choice((0, 100, 192, 193, 5000)))
            case 8:
                return CURVE + ready(b"x") + on_the_wire(mutator())
            case _:
                return hello + b"".join(on_the_wire(mutator()) for _ in range(20))
