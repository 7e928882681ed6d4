"""Cores that are cut off and cores that are stopped, with real sockets and toy cores."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine.core import Command, Event, Ordered, Paused, Received, Reopen, Seat, Send, Woken
from engine.drive import holding
from tests.engine.drive.test_node import ROUTER, Scripted, dealer, nodes
from tests.helpers.processes import WAIT

__all__ = ["nodes"]

LONG = 3600.0
SOON = 0.2


def says(event: Event, now: float) -> list[Command]:
    return [Send([b"", str(event.order).encode()])] if isinstance(event, Ordered) else []


def two(nodes: Any) -> tuple[Any, Scripted, Scripted]:
    """A broker that echoes, and a peer that says what it is ordered to."""
    node = nodes("both")
    broker = Scripted(lambda event, now: [Send(frames) for frames in getattr(event, "messages", [])])
    peer = Scripted(says)
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    return node, broker, peer


def test_what_is_sent_while_a_core_is_cut_off_arrives_at_the_end_and_its_timers_go_on(nodes: Any) -> None:
    node, broker, peer = two(nodes)
    peer.wake = time.monotonic() + SOON / 4
    node.hold("peer", SOON, False).result(WAIT)
    node.order("peer", "one")
    assert peer.next(Ordered) == Ordered("one")
    assert isinstance(peer.next(Woken), Woken)
    peer.wake = float("inf")
    assert broker.next(Received) == Received([[b"p1", b"", b"one"]])
    assert peer.next(Received) == Received([[b"", b"one"]])


def test_a_core_that_is_stopped_hears_of_everything_at_the_end(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "PAUSE", SOON / 2)
    node, broker, peer = two(nodes)
    node.hold("peer", SOON, True).result(WAIT)
    node.order("peer", "one")
    assert peer.next(Paused).seconds >= SOON / 2
    assert peer.next(Ordered) == Ordered("one")
    assert broker.next(Received) == Received([[b"p1", b"", b"one"]])


def test_nothing_passes_until_then(nodes: Any) -> None:
    node, broker, peer = two(nodes)
    node.hold("peer", LONG, False).result(WAIT)
    node.order("peer", "one")
    assert peer.next(Ordered) == Ordered("one")
    node.hold("peer", LONG, True).result(WAIT)
    node.order("peer", "two")
    node.ask("peer").result(WAIT)
    assert (broker.seen.qsize(), peer.seen.qsize()) == (1, 0), "Started alone, and nothing after the first order"


def test_a_socket_that_is_opened_anew_while_it_is_cut_off_is_cut_off_too(nodes: Any) -> None:
    node, broker, peer = two(nodes)
    peer.script = lambda event, now: (
        [Reopen(routing_id=b"p2"), Send([b"", b"anew"])] if isinstance(event, Ordered) else []
    )
    node.hold("peer", LONG, False).result(WAIT)
    node.order("peer", "go")
    peer.next(Ordered)
    node.ask("broker").result(WAIT)
    assert broker.seen.qsize() == 1
    node.remove("peer").result(WAIT)
    assert node.names() == ["broker"]


def test_whoever_is_gone_can_not_be_held(nodes: Any) -> None:
    node, _, _ = two(nodes)
    with pytest.raises(KeyError):
        node.hold("nobody", 1.0, True).result(WAIT)
