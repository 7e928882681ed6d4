"""The node with real sockets and toy cores: what arrives, what is refused, what ends."""

from __future__ import annotations

import queue
from typing import Any

import pytest
import zmq

from engine.core import (
    NEVER,
    Command,
    Connected,
    Event,
    Exit,
    Finished,
    Note,
    Ordered,
    Received,
    Reopen,
    Seat,
    Send,
    Socket,
    Start,
    Started,
    Unsent,
    Woken,
)
from engine.drive.hosted import Port
from engine.drive.node import Node
from engine.drive.sockets import make_context
from engine.feed import Feed
from tests.helpers.processes import WAIT, free_endpoint


class Scripted:
    """A core that puts every event on a queue and answers with what its script says."""

    def __init__(self, script: Any = lambda event, now: []) -> None:
        self.seen: queue.Queue[Event] = queue.Queue()
        self.script = script
        self.wake = NEVER

    def handle(self, event: Event, now: float) -> list[Command]:
        self.seen.put(event)
        return self.script(event, now)  # type: ignore[no-any-return]

    def wake_at(self) -> float:
        return self.wake

    def check(self) -> None:
        pass

    def snapshot(self, now: float) -> object:
        return ("picture", self.seen.qsize())

    def next(self, kind: type[Event]) -> Any:
        while True:
            event = self.seen.get(timeout=WAIT)
            if isinstance(event, kind):
                return event


@pytest.fixture
def nodes() -> Any:
    context, feed = make_context(), Feed()
    made: list[Node] = []

    def make(name: str) -> Node:
        node = Node(name, context, feed)
        node.start()
        made.append(node)
        return node

    make.expected = []  # type: ignore[attr-defined]
    make.feed = feed  # type: ignore[attr-defined]
    yield make
    assert all(node.stop(WAIT) for node in made)
    assert [node.dead for node in made if node.dead] == make.expected  # type: ignore[attr-defined]
    context.term()


ROUTER = Socket("router", bind=("inproc://toy",), routing_id=b"toy")


def dealer(routing_id: bytes) -> Socket:
    return Socket("dealer", connect=("inproc://toy",), routing_id=routing_id)


def echo(event: Event, now: float) -> list[Command]:
    return [Send(frames) for frames in event.messages] if isinstance(event, Received) else []


def test_messages_go_there_and_back_and_nothing_else(nodes: Any) -> None:
    node = nodes("both")
    broker, peer = Scripted(echo), Scripted()
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    peer.script = lambda event, now: [Send([b"", b"hello"])] if isinstance(event, Ordered) else []
    node.order("peer", "go")
    assert broker.next(Received) == Received([[b"p1", b"", b"hello"]])
    assert peer.next(Received) == Received([[b"", b"hello"]])
    node.ask("peer").result(WAIT)
    assert broker.seen.empty()
    assert peer.seen.empty()


def test_a_batch_is_one_event_in_order(nodes: Any) -> None:
    node = nodes("both")
    broker, peer = Scripted(), Scripted()
    peer.script = lambda event, now: [Send([b"%d" % i]) for i in range(10)] if isinstance(event, Ordered) else []
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    got: list[list[bytes]] = []
    while len(got) < 10:
        got += broker.next(Received).messages
    assert got == [[b"p1", b"%d" % i] for i in range(10)]


def test_a_message_to_nobody_comes_back_as_unsent(nodes: Any) -> None:
    node = nodes("broker")
    core = Scripted(lambda event, now: [Send([b"nobody", b"x"])] if isinstance(event, Ordered) else [])
    node.seat("broker", Seat(core, (ROUTER,))).result(WAIT)
    node.order("broker", "go")
    assert core.next(Unsent) == Unsent([b"nobody", b"x"], "unreachable")


def test_too_many_frames_are_cut_where_every_parser_refuses_them(nodes: Any) -> None:
    node = nodes("both")
    broker, peer = Scripted(), Scripted()
    sends = [Send([b"f"] * 5000), Send([b"next"])]
    peer.script = lambda event, now: sends if isinstance(event, Ordered) else []
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    got = broker.next(Received).messages
    if len(got) < 2:
        got += broker.next(Received).messages
    assert [len(frames) for frames in got] == [33, 2]
    assert got[1] == [b"p1", b"next"]


def test_a_dealer_whose_broker_is_not_there_yet_keeps_its_messages(nodes: Any) -> None:
    node = nodes("both")
    peer, broker = Scripted(), Scripted()
    peer.script = lambda event, now: [Send([b"early"]), Send([b"later"])] if isinstance(event, Ordered) else []
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    node.ask("peer").result(WAIT)
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    got = broker.next(Received).messages
    if len(got) < 2:
        got += broker.next(Received).messages
    assert got == [[b"p1", b"early"], [b"p1", b"later"]]


def test_what_waited_for_a_connection_goes_when_it_is_there_without_another_cause(nodes: Any) -> None:
    """Over tcp a connection takes a moment, in which the first message waits; nothing else ever wakes this peer."""
    probe = zmq.Context()
    listener = probe.socket(zmq.ROUTER)
    port = listener.bind_to_random_port("tcp://127.0.0.1")
    peer = Scripted(lambda event, now: [Send([b"early"])] if isinstance(event, Started) else [])
    socket = Socket("dealer", connect=(f"tcp://127.0.0.1:{port}",), routing_id=b"p1")
    nodes("peer").seat("peer", Seat(peer, (socket,))).result(WAIT)
    assert listener.poll(int(WAIT) * 1000)
    assert listener.recv_multipart() == [b"p1", b"early"]
    assert not listener.poll(0)
    listener.close(0)
    probe.term()


def test_reopen_takes_the_new_routing_id(nodes: Any) -> None:
    node = nodes("both")
    broker, peer = Scripted(), Scripted()
    peer.script = lambda event, now: [Reopen(routing_id=b"p2"), Send([b"x"])] if isinstance(event, Ordered) else []
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    assert broker.next(Received) == Received([[b"p2", b"x"]])


def test_a_core_may_open_its_socket_anew_when_it_hears_of_a_connection(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where messages wait for that connection: they go with the socket that is closed."""
    monkeypatch.setattr(Port, "flush", lambda port: None)  # the connection is told before it takes what waits
    endpoint = free_endpoint()
    broker, peer = Scripted(), Scripted()
    reopened = []

    def script(event: Event, now: float) -> list[Command]:
        if isinstance(event, Started):
            return [Send([b"early"])]
        if isinstance(event, Connected):
            reopened.append(event)
            return [Reopen()] if len(reopened) == 1 else [Send([b"anew"])]
        return []

    peer.script = script
    nodes("peer").seat("peer", Seat(peer, (Socket("dealer", connect=(endpoint,), routing_id=b"p1"),))).result(WAIT)
    nodes("broker").seat("broker", Seat(broker, (Socket("router", bind=(endpoint,)),))).result(WAIT)
    peer.next(Connected)
    peer.next(Connected)
    assert broker.next(Received) == Received([[b"p1", b"anew"]])


def test_a_core_that_has_left_hears_nothing_more(nodes: Any) -> None:
    node = nodes("broker")
    core = Scripted()
    core.script = lambda event, now: [Send([b"nobody", b"x"]), Send([b"nobody", b"y"]), Exit("done")]
    node.seat("broker", Seat(core, (ROUTER,))).result(WAIT)
    assert node.ask_all().result(WAIT) == {}
    assert list(core.seen.queue) == [Started()]


def test_what_waits_for_a_broker_is_bounded(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.drive.hosted.OUTBOX", 2)
    core = Scripted()
    core.script = lambda event, now: [Send([b"%d" % i]) for i in range(3)] if isinstance(event, Started) else []
    nodes("peer").seat("peer", Seat(core, (Socket("dealer", connect=(free_endpoint(),)),))).result(WAIT)
    assert core.next(Unsent) == Unsent([b"2"], "full")


def test_an_endpoint_that_can_not_be_connected_to_is_said_and_the_one_before_stays(nodes: Any) -> None:
    """A broker may name another one; whatever it names does not end a pool's thread."""
    node = nodes("both")
    broker, peer = Scripted(), Scripted()
    peer.script = lambda event, now: (
        [Reopen(endpoint="tcp://*:5", routing_id=b"p2"), Send([b"x"])] if isinstance(event, Ordered) else []
    )
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    assert broker.next(Received) == Received([[b"p2", b"x"]])
    assert [fact.text for fact in nodes.feed.since(0)[0]] == ["peer can not go to tcp://*:5: Invalid argument"]


def test_a_core_is_woken_at_its_time(nodes: Any) -> None:
    node = nodes("one")
    core = Scripted()
    woken: list[float] = []

    def script(event: Event, now: float) -> list[Command]:
        if isinstance(event, Ordered):
            core.wake = now + 0.01
        if isinstance(event, Woken):
            woken.append(now - core.wake)
            core.wake = NEVER
        return []

    core.script = script
    node.seat("one", Seat(core, ())).result(WAIT)
    node.order("one", "go")
    core.next(Woken)
    assert woken[0] >= 0


def test_exit_sends_the_last_words_and_frees_the_seat(nodes: Any) -> None:
    node = nodes("both")
    broker, peer = Scripted(), Scripted()
    peer.script = lambda event, now: [Send([b"bye"]), Exit("done")] if isinstance(event, Ordered) else []
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    assert broker.next(Received) == Received([[b"p1", b"bye"]])
    node.ask("broker").result(WAIT)
    assert node.names() == ["broker"]
    assert [fact.text for fact in nodes.feed.since(0)[0]] == ["peer left: done"]
    assert node.failed == 0


def test_who_left_for_an_error_is_counted(nodes: Any) -> None:
    node = nodes("one")
    core = Scripted(lambda event, now: [Exit("nobody answers", failed=True)] if isinstance(event, Ordered) else [])
    for name in ("a", "b"):
        node.seat(name, Seat(core, ())).result(WAIT)
    assert sorted(node.ask_all().result(WAIT)) == ["a", "b"]
    node.order("b", "go")
    assert list(node.ask_all().result(WAIT)) == ["a"]
    assert node.failed == 1


def test_an_exception_in_a_core_is_seen_and_said(nodes: Any) -> None:
    def broken(event: Event, now: float) -> list[Command]:
        raise ValueError("our own mistake")

    node = nodes("one")
    nodes.expected.append("ValueError: our own mistake")
    with pytest.raises(RuntimeError, match="our own mistake"):
        node.seat("one", Seat(Scripted(broken), (ROUTER,))).result(WAIT)
    assert node.dead == "ValueError: our own mistake"
    (fact,), lost = nodes.feed.since(0)
    assert fact.text == "the one thread died: ValueError: our own mistake"
    assert lost == 0
    with pytest.raises(RuntimeError, match="our own mistake"):
        node.ask("one").result(WAIT)


def test_an_endpoint_that_is_taken_is_the_callers_error_and_the_node_lives(nodes: Any) -> None:
    node = nodes("one")
    node.seat("a", Seat(Scripted(), (ROUTER,))).result(WAIT)
    with pytest.raises(zmq.ZMQError, match="inproc://toy: Address already in use"):
        node.seat("b", Seat(Scripted(), (ROUTER,))).result(WAIT)
    assert node.names() == ["a"]
    assert node.ask("a").result(WAIT)[0] == "picture"


def test_a_body_that_nothing_here_runs_has_failed_and_the_node_lives(nodes: Any) -> None:
    node = nodes("one")
    core = Scripted(lambda event, now: [Start(7, "make tea")] if isinstance(event, Ordered) else [])
    node.seat("one", Seat(core, ())).result(WAIT)
    node.order("one", "go")
    assert core.next(Finished) == Finished(7, False, b"nothing here runs a str")
    assert [fact.text for fact in nodes.feed.since(0)[0]] == ["one: nothing here runs a str"]


def test_notes_become_facts_and_pictures_are_drawn_only_for_who_looks(nodes: Any) -> None:
    node = nodes("one")
    core = Scripted(lambda event, now: [Note("good", "hello", b"x")] if isinstance(event, Ordered) else [])
    node.seat("one", Seat(core, ())).result(WAIT)
    node.order("one", "go")
    node.ask("one").result(WAIT)
    (fact,), _ = nodes.feed.since(0)
    assert (fact.number, fact.source, fact.level, fact.text, fact.subject) == (1, "one", "good", "hello", b"x")
    assert nodes.feed.pictures == {}


def test_whoever_gives_an_order_may_have_what_the_core_notes_of_it_and_of_nothing_else(nodes: Any) -> None:
    node = nodes("pool")
    core = Scripted()
    core.script = lambda event, now: [Note("info", f"{event.order}")] if isinstance(event, Ordered) else []
    node.seat("core", Seat(core, (dealer(b"p1"),))).result(WAIT)
    node.order("core", "first")
    assert node.carry("core", "second").result(WAIT) == [Note("info", "second")]
    node.order("core", "third")
    assert node.carry("nobody", "fourth").result(WAIT) is None
    core.script = lambda event, now: [Exit("done")]
    assert node.carry("core", "fifth").result(WAIT) == [] and node.carry("core", "sixth").result(WAIT) is None


def test_a_batch_that_took_long_is_followed_by_a_smaller_one(nodes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that one peer's messages that take long do not hold up those of all others."""
    monkeypatch.setattr("engine.drive.node.QUICK", -1.0)
    node = nodes("both")
    broker, peer = Scripted(), Scripted()
    peer.script = lambda event, now: [Send([b"%d" % i]) for i in range(20)] if isinstance(event, Ordered) else []
    node.seat("broker", Seat(broker, (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer, (dealer(b"p1"),))).result(WAIT)
    node.order("peer", "go")
    got = [broker.next(Received).messages for _ in range(20)]
    assert got == [[[b"p1", b"%d" % i]] for i in range(20)]


def test_a_thread_that_never_runs_out_of_messages_has_time_for_its_inbox(
    nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a core takes for a batch: what bounds the turn of the messages is time, not their number."""
    monkeypatch.setattr("engine.drive.node.ROUNDS", 10**9)
    node = nodes("both")
    node.seat("broker", Seat(Scripted(echo), (ROUTER,))).result(WAIT)
    node.seat("peer", Seat(peer := Scripted(echo), (dealer(b"p1"),))).result(WAIT)
    peer.script = lambda event, now: [Send([b"go"])] if isinstance(event, Ordered) else echo(event, now)
    node.order("peer", "go")
    peer.next(Received)
    node.ask("peer").result(WAIT)


def test_a_core_that_uses_wall_time_hears_of_a_clock_that_was_set_before_any_other_event(nodes: Any) -> None:
    core, without = Scripted(), Scripted()
    node = nodes("clocks")
    node.seat("with", Seat(core, (), wall=1.0)).result(WAIT)  # the wall clock shows something else
    node.seat("without", Seat(without, ())).result(WAIT)
    for name in ("with", "without"):
        node.order(name, "first")
        node.order(name, "second")
    told = [core.next(Started), *(core.next(Ordered) for _ in range(3))]
    assert told[0] == Started() and told[2:] == [Ordered("first"), Ordered("second")]
    assert told[1].order.offset > 1e9
    assert [without.next(Ordered).order for _ in range(2)] == ["first", "second"]
