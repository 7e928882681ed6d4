"""Plain TCP peers of a private socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator

import pytest

from engine.core import Note
from engine.core import Socket as Spec
from engine.drive.links import ZSocket
from engine.drive.security import streams as module
from engine.drive.security.users import Trust
from engine.drive.sockets import Context, make_context, open_socket, receiver
from tests.engine.drive.security.test_door import closed
from tests.helpers.processes import free_endpoint, until

OWN = os.geteuid()
Take = Callable[[], list[bytes]]


class Shop:
    """A private socket of a context with this trust, and what it said."""

    def __init__(self, trust: Trust) -> None:
        self.notes: list[Note] = []
        self.context: Context = make_context(self.notes.append, trust)
        self.address = ("127.0.0.1", int(free_endpoint().rpartition(":")[2]))
        spec = Spec("stream", bind=(f"tcp://127.0.0.1:{self.address[1]}",), private=True)
        self.socket: ZSocket = open_socket(self.context, spec)
        self._receive = receiver(self.context, spec)
        self.heard: list[bytes] = []

    def take(self) -> list[bytes]:
        self.heard += [frames[1] for frames in self._receive(self.socket, 100, "stream")]
        return self.heard

    def close(self) -> None:
        self.socket.close()
        self.context.term()


@pytest.fixture
def shop() -> Iterator[Callable[[Trust], Shop]]:
    made: list[Shop] = []

    def make(trust: Trust) -> Shop:
        made.append(Shop(trust))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_a_stranger_is_cut_off_and_nothing_of_it_is_heard(shop: Callable[[Trust], Shop]) -> None:
    it = shop(Trust(OWN + 1))
    peer = socket.create_connection(it.address, 10)
    peer.sendall(b"hello")
    until(lambda: it.take() or it.notes)
    closed(peer)
    assert it.take() == [] and "was refused at" in it.notes[0].text


def test_others_are_heard_from_their_beginning_to_their_end(shop: Callable[[Trust], Shop]) -> None:
    it = shop(Trust(OWN))
    peer = socket.create_connection(it.address, 10)
    peer.sendall(b"hello")
    until(lambda: b"hello" in it.take())
    peer.close()
    until(lambda: len(it.take()) == 3)
    assert it.heard == [b"", b"hello", b""] and it.notes == []


def test_what_is_remembered_of_peers_is_bounded(shop: Callable[[Trust], Shop], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JUDGED", 2)
    it = shop(Trust(OWN))
    peers = [socket.create_connection(it.address, 10) for _ in range(5)]
    until(lambda: len(it.take()) == 5)
    for peer in peers:
        peer.sendall(b"x")
    until(lambda: it.take().count(b"x") == 5)
    for peer in peers:
        peer.close()
