"""What a core hears of its connections, on real sockets: that they came, were reset, or were taken over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import zmq

from engine.core import Connected, Disconnected, Event, Reopen
from engine.drive import links
from engine.drive.links import Calls, Links
from engine.drive.node import Node
from engine.drive.sockets import make_context
from engine.feed import Feed
from tests.chaos.proxy import Proxy
from tests.helpers.processes import WAIT, free_endpoint, until
from tests.helpers.toys import Probe, dealer, router

A = b"A"


@pytest.fixture
def node() -> Iterator[Node]:
    context = make_context()
    one = Node("node", context, Feed())
    one.start()
    yield one
    assert one.stop(WAIT) and one.dead is None
    context.term()


def changes(core: Probe) -> list[Event]:
    return [event for _, event in core.events if isinstance(event, Connected | Disconnected)]


def heard(core: Probe, *events: Event) -> None:
    """Wait until a core was told of these changes, and of no others."""
    until(lambda: changes(core) == list(events), f"{events} and nothing else")


def said(node: Node, name: str, broker: Probe, *events: Event) -> None:
    """Say something until the broker was told of these changes: the door may tell a little later who was accepted."""

    def there() -> bool:
        node.order(name, [b"", b"again"])
        return changes(broker) == list(events)

    until(there, f"{events} and nothing else")


def hello(node: Node, name: str, broker: Probe, *frames: bytes) -> None:
    """Say something and wait until it has come."""
    before = len(broker.got)
    node.order(name, list(frames))
    until(lambda: len(broker.got) > before)


@pytest.mark.parametrize("scheme", ["tcp", "ipc"])
def test_both_ends_are_told_of_a_connection_and_of_its_end(node: Node, scheme: str, tmp_path: Any) -> None:
    endpoint = free_endpoint() if scheme == "tcp" else f"ipc://{tmp_path}/s"
    broker, peer = Probe(), Probe()
    node.seat("broker", router(broker, endpoint)).result()
    node.seat("peer", dealer(peer, endpoint, A)).result()
    heard(peer, Connected())
    assert changes(broker) == []  # nobody knows yet who that is
    said(node, "peer", broker, Connected(peer=A))
    node.remove("peer").result()
    heard(broker, Connected(peer=A), Disconnected(peer=A))
    node.seat("again", dealer(Probe(), endpoint, A)).result()
    said(node, "again", broker, Connected(peer=A), Disconnected(peer=A), Connected(peer=A))
    node.remove("broker").result()
    heard(peer, Connected())


def test_inproc_tells_nothing(node: Node) -> None:
    broker, peer = Probe(), Probe()
    node.seat("broker", router(broker, "inproc://links")).result()
    node.seat("peer", dealer(peer, "inproc://links", A)).result()
    hello(node, "peer", broker, b"", b"hello")
    node.remove("peer").result()
    assert changes(broker) == changes(peer) == []


def test_a_connection_that_is_reset_is_told_to_both_ends_though_libzmq_makes_it_anew(node: Node) -> None:
    endpoint = free_endpoint()
    broker, peer, other = Probe(), Probe(), Probe()
    node.seat("broker", router(broker, endpoint)).result()
    with Proxy() as proxy:
        line = proxy.link(endpoint)
        node.seat("peer", dealer(peer, line.endpoint, A)).result()
        node.seat("other", dealer(other, endpoint, b"B")).result()
        said(node, "peer", broker, Connected(peer=A))
        said(node, "other", broker, Connected(peer=A), Connected(peer=b"B"))
        wanted: list[Event] = [Connected(peer=A), Connected(peer=b"B")]
        for number in range(2, 5):
            line.close(reset=True)
            told: list[Event] = [Connected(), Disconnected()] * (number - 1)
            heard(peer, *told, Connected())
            wanted += [Disconnected(peer=A), Connected(peer=A)]
            said(node, "peer", broker, *wanted)
        assert changes(other) == [Connected()]
        node.remove("peer").result()
        node.remove("other").result()


def test_who_takes_an_id_over_is_told_to_the_broker_and_nothing_to_the_one_before(node: Node) -> None:
    endpoint = free_endpoint()
    broker, older, newer = Probe(), Probe(), Probe()
    node.seat("broker", router(broker, endpoint)).result()
    node.seat("older", dealer(older, endpoint, A)).result()
    said(node, "older", broker, Connected(peer=A))
    node.seat("newer", dealer(newer, endpoint, A)).result()
    said(node, "newer", broker, Connected(peer=A), Connected(peer=A))
    node.order("broker", [A, b"", b"whose"])
    until(lambda: newer.got == [[b"", b"whose"]])
    assert changes(older) == [Connected()]
    node.remove("older").result()  # its end is nobody's
    hello(node, "newer", broker, b"", b"still here")
    assert changes(broker) == [Connected(peer=A)] * 2
    node.remove("newer").result()
    heard(broker, Connected(peer=A), Connected(peer=A), Disconnected(peer=A))


def test_a_socket_that_is_opened_anew_is_watched_again_and_its_own_close_is_not_told(node: Node) -> None:
    endpoint = free_endpoint()
    broker, peer = Probe(), Probe()
    node.seat("broker", router(broker, endpoint)).result()
    node.seat("peer", dealer(peer, endpoint, A)).result()
    heard(peer, Connected())
    for number in (2, 3, 4):
        node.order("peer", Reopen())
        heard(peer, *[Connected()] * number)
    said(node, "peer", broker, Connected(peer=A))
    assert set(changes(peer)) == {Connected()}


def test_an_endpoint_that_nobody_can_connect_to_leaves_nothing_open(node: Node) -> None:
    with pytest.raises(zmq.ZMQError):
        node.seat("peer", dealer(Probe(), "tcp://nowhere", A)).result()


def test_connections_that_end_before_their_handshake_are_not_told() -> None:
    calls = Calls("main")
    assert calls.hear(zmq.EVENT_DISCONNECTED) == []
    assert calls.hear(zmq.EVENT_HANDSHAKE_SUCCEEDED) == [Connected()]
    assert calls.hear(zmq.EVENT_DISCONNECTED) == [Disconnected()]
    assert calls.hear(zmq.EVENT_DISCONNECTED) == []


def look(links: Links, peer: bytes, fd: int) -> list[Event]:
    assert links.look(peer, fd) == bool(links.fresh)
    told, links.told = links.told, []
    return told


def test_a_descriptor_that_is_used_again_is_another_connection() -> None:
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    assert look(one, A, 7) == [Connected(peer=A)] and not one.fresh
    one.hear(zmq.EVENT_DISCONNECTED, 7)
    one.hear(zmq.EVENT_ACCEPTED, 7)
    assert look(one, b"B", 7) == [Disconnected(peer=A), Connected(peer=b"B")]
    assert one.known == {b"B": 7}


def test_what_came_by_a_connection_that_has_ended_makes_nobody_connected() -> None:
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    one.hear(zmq.EVENT_DISCONNECTED, 7)
    one.drained(empty=True)
    assert look(one, A, 7) == [] and not one.known


def test_a_message_that_is_read_before_its_connection_is_told_takes_no_other_peers_descriptor() -> None:
    """The monitor is heard on another thread, so the end of A and the beginning of B come after what B has sent."""
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    assert look(one, A, 7) == [Connected(peer=A)]
    assert look(one, b"B", 7) == []
    one.hear(zmq.EVENT_DISCONNECTED, 7)
    one.hear(zmq.EVENT_ACCEPTED, 7)
    assert look(one, b"B", 7) == [Disconnected(peer=A), Connected(peer=b"B")]
    assert one.known == {b"B": 7}


def test_the_end_of_a_connection_whose_id_came_over_inproc_since_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "KEPT", 1)
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    look(one, A, 7)
    look(one, A, -1)
    look(one, b"B", -1)  # A is forgotten
    one.hear(zmq.EVENT_DISCONNECTED, 7)
    one.drained(empty=True)
    assert one.told == []


def test_an_end_is_told_when_all_is_read_or_after_so_many_batches() -> None:
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    look(one, A, 7)
    one.hear(zmq.EVENT_DISCONNECTED, 7)
    for _ in range(links.PATIENCE - 1):
        one.drained(empty=False)
        assert one.told == []
    one.drained(empty=False)
    assert one.told == [Disconnected(peer=A)]


def test_silent_connections_make_nobody_look_for_ever() -> None:
    one = Links("main")
    one.hear(zmq.EVENT_ACCEPTED, 7)
    look(one, A, 7)
    one.hear(zmq.EVENT_ACCEPTED, 8)
    for _ in range(links.LOOKS):
        assert one.fresh
        assert look(one, A, 7) == []
    assert not one.fresh


def test_no_more_peers_are_known_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "KEPT", 2)
    one = Links("main")
    for fd in (1, 2, 3):
        one.hear(zmq.EVENT_ACCEPTED, fd)
        look(one, b"%d" % fd, fd)
    look(one, b"inproc", -1)
    assert one.known == {b"3": 3, b"inproc": -1}


def test_a_thousand_connections_while_nobody_reads_do_not_stop_a_node(node: Node) -> None:
    """libzmq waits for whoever does not take what a monitor tells; the door takes it, whatever the node does."""
    endpoint, held, go = free_endpoint(), threading.Event(), threading.Event()
    broker = Probe()
    node.seat("broker", router(broker, endpoint)).result()

    def block() -> None:
        held.set()
        go.wait(WAIT)

    node._inbox.post(block)
    assert held.wait(WAIT)
    context = zmq.Context()
    try:
        for number in range(1_000):
            peer = context.socket(zmq.DEALER)
            peer.set(zmq.LINGER, 100)
            peer.connect(endpoint)
            peer.send_multipart([b"", b"%d" % number])
            peer.close()
    finally:
        context.term()
        go.set()
    node.seat("peer", dealer(Probe(), endpoint, A)).result()
    hello(node, "peer", broker, b"", b"hello")
