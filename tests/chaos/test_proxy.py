"""What the proxy does to a line, seen from both of its ends."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.chaos.proxy import CHUNK, HELD, Link, Proxy
from tests.helpers.processes import WAIT, until


class Line:
    """A server, a link to it and a client."""

    def __init__(self, proxy: Proxy, server: socket.socket) -> None:
        self.server = server
        self.sockets: list[socket.socket] = []
        self.link: Link = proxy.link(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        self.peer, self.broker = self.connect()

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """Both ends of a new connection."""
        peer = socket.create_connection(("127.0.0.1", int(self.link.endpoint.rpartition(":")[2])), WAIT)
        broker, _ = self.server.accept()
        broker.settimeout(WAIT)
        self.sockets += (peer, broker)
        return peer, broker

    def came(self, data: bytes) -> None:
        """It has come to the broker's end."""
        got = b""
        while len(got) < len(data):
            got += self.broker.recv(65_536)
        assert got == data


def silent(one: socket.socket) -> bool:
    """Whether nothing is there to be read now."""
    one.setblocking(False)
    try:
        with suppress(BlockingIOError):
            one.recv(1)
            return False
    finally:
        one.settimeout(WAIT)
    return True


@pytest.fixture
def line() -> Iterator[Line]:
    with Proxy() as proxy, socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(WAIT)
        line = Line(proxy, server)
        yield line
        for one in line.sockets:
            one.close()


def test_an_open_line_carries_everything_both_ways_and_ends(line: Line) -> None:
    line.peer.sendall(b"there")
    line.came(b"there")
    line.broker.sendall(b"back")
    assert line.peer.recv(10) == b"back"
    assert line.link.carried == 9
    line.peer.sendall(b"last")
    line.peer.close()
    line.came(b"last")
    assert line.broker.recv(1) == b""
    until(lambda: line.link.pairs == [], "the end of the pair")


def test_a_frozen_line_carries_everything_late(line: Line) -> None:
    line.link.change("frozen")
    line.peer.sendall(b"late")
    line.connect()  # a second connection stands, and carries nothing either
    assert silent(line.broker)
    line.link.change()
    line.came(b"late")


def test_a_half_open_line_never_carries_again_but_new_ones_do(line: Line) -> None:
    line.link.change("half-open")
    line.peer.sendall(b"lost")
    newer, _ = line.connect()
    line.link.change()
    assert resets(newer)
    peer, broker = line.peer, line.broker
    line.peer, line.broker = line.connect()
    line.peer.sendall(b"new")
    line.came(b"new")
    assert silent(broker) and silent(peer)


def resets(one: socket.socket) -> bool:
    """Whether a read ends with a reset."""
    try:
        one.recv(1)
    except ConnectionResetError:
        return True
    return False


def test_a_reset_is_seen_at_both_ends(line: Line) -> None:
    line.link.close(reset=True)
    assert resets(line.peer) and resets(line.broker)


def test_a_shut_line_refuses_whoever_comes(line: Line) -> None:
    line.link.change("shut")
    line.link.close(reset=False)
    assert line.peer.recv(1) == line.broker.recv(1) == b""
    port = int(line.link.endpoint.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), WAIT) as peer, suppress(ConnectionResetError):
        assert peer.recv(1) == b""
    line.link.change()
    line.peer, line.broker = line.connect()
    line.peer.sendall(b"new")
    line.came(b"new")


def test_a_late_line_keeps_the_order(line: Line) -> None:
    line.link.change(lag=0.05)
    line.peer.sendall(b"first ")
    until(lambda: line.link.carried == 6, "the first")
    line.link.change()
    line.peer.sendall(b"second")
    line.came(b"first second")


def test_noise_flips_one_bit_of_a_piece(line: Line) -> None:
    line.link.change(noise=1.0)
    line.peer.sendall(bytes(100))
    got = b""
    while len(got) < 100:
        got += line.broker.recv(100)
    assert 1 <= sum(byte.bit_count() for byte in got) <= 100
    assert all(byte.bit_count() <= 1 for byte in got)


def test_what_waits_is_bounded(line: Line) -> None:
    line.link.change(lag=3600.0)
    line.peer.setblocking(False)

    def full() -> bool:
        with suppress(BlockingIOError):
            while line.peer.send(bytes(CHUNK)):
                pass
        return line.link.carried >= HELD

    until(full, "as much as the proxy holds")
    full()
    assert line.link.carried < HELD + 2 * CHUNK
