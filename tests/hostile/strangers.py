"""Strangers on every endpoint that a broker binds: they speak nearly its protocol, nearly ZMTP, or nothing at all."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress
from random import Random
from socket import create_connection

import zmq

from engine.core import Frames, Socket
from engine.parts.limits import MAX_FRAME
from tests.helpers.mutator import Mutator

SPOKEN = 200  # messages of one stranger
PATIENCE = 5.0  # seconds for one send or connection
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 1 + 31)  # ZMTP 3.0, no security
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


class Strangers:
    """``mutator``: what is said at a socket of the broker, by its name. It depends on the seed alone."""

    def __init__(self, sockets: tuple[Socket, ...], mutator: Callable[[str], Mutator], random: Random) -> None:
        self._sockets, self._mutator, self._random = sockets, mutator, random
        self.messages = self.connections = 0

    def all(self, n: int) -> None:
        """So many messages, and a tenth as many raw connections, at each endpoint."""
        for socket in self._sockets:
            for endpoint in socket.bind:
                if socket.kind == "router":
                    self.speak(endpoint, socket.name, n)
                self.knock(endpoint, socket.name, n // 10)

    def speak(self, endpoint: str, name: str, n: int) -> None:
        """Over ZeroMQ, under names of their own; some of them listen."""
        mutator = self._mutator(name)
        with zmq.Context() as context:
            while n > 0:
                with context.socket(zmq.DEALER) as dealer:
                    dealer.linger = dealer.sndtimeo = int(PATIENCE * 1000)
                    dealer.routing_id = b"stranger-%d" % self._random.getrandbits(64)
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
        """Over plain TCP, many at once."""
        host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
        with ExitStack() as stack:
            for _ in range(n):
                self.connections += 1
                with suppress(OSError):  # it has hung up already
                    connection = stack.enter_context(create_connection((host, int(port)), PATIENCE))
                    connection.sendall(self._raw(name))

    def _raw(self, name: str) -> bytes:
        random, mutator = self._random, self._mutator(name)
        hello = GREETING + ready(random.randbytes(random.choice((0, 5, 255, 256, 4000))))
        match random.randrange(8):
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
            case _:
                return hello + b"".join(on_the_wire(mutator()) for _ in range(20))
