"""A socket that can not be opened again: its core goes on, and so does everybody else on its thread."""

from __future__ import annotations

import errno
from typing import Any

import pytest
import zmq

from engine.core import Ordered, Received, Reopen, Seat, Send
from engine.drive.hosted import Port
from tests.engine.drive.test_node import ROUTER, Scripted, dealer, echo, nodes
from tests.helpers.processes import WAIT

__all__ = ["nodes"]


def test_a_socket_that_can_not_be_opened_again_ends_nobody_and_is_opened_later(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = nodes("pool")
    broker, peer, other = Scripted(echo), Scripted(), Scripted()
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    for name, core in (("peer", peer), ("other", other)):
        node.seat(name, Seat(core, (dealer(name.encode()),))).result(WAIT)

    def full(*_: object) -> Port:
        raise zmq.ZMQError(errno.EMFILE)

    peer.script = lambda event, now: [Reopen(), Send([b"", b"lost"])] if isinstance(event, Ordered) else []
    other.script = lambda event, now: [Send([b"", b"hello"])] if isinstance(event, Ordered) else []
    with monkeypatch.context() as patch:
        patch.setattr("engine.drive.ports.Port", full)
        for _ in range(2):
            node.order("peer", "go")
            node.ask("peer").result(WAIT)
    node.order("other", "go")
    assert other.next(Received) == Received([[b"", b"hello"]])
    peer.script = lambda event, now: [Reopen(), Send([b"", b"back"])] if isinstance(event, Ordered) else []
    node.order("peer", "go")
    assert peer.next(Received) == Received([[b"", b"back"]])


def test_a_core_whose_socket_could_not_be_opened_again_leaves_like_any_other(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, core = nodes("pool"), Scripted()
    node.seat("peer", Seat(core, (dealer(b"p1"),))).result(WAIT)

    def full(*_: object) -> Port:
        raise zmq.ZMQError(errno.EMFILE)

    core.script = lambda event, now: [Reopen()] if isinstance(event, Ordered) else []
    monkeypatch.setattr("engine.drive.ports.Port", full)
    node.order("peer", "go")
    node.remove("peer").result(WAIT)
    assert node.names() == []
