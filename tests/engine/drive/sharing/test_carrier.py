"""The shared connection at the workers' end, on a real socket to a ROUTER that is played by the test."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pytest
import zmq

from engine.core import Event, Frames, Received, Seat, Send, Socket, Unsent
from engine.drive import hosted
from engine.drive.hosted import HostedCore
from engine.drive.sharing.carrier import TAKEN, Carrier
from engine.drive.sharing.envelope import MAGIC, SMALL, unwrap, wrap
from engine.drive.sharing.ride import Ride
from engine.drive.sockets import make_context
from tests.helpers.processes import WAIT
from tests.helpers.toys import Probe

SPEC = Socket("dealer", connect=("inproc://broker",), routing_id=b"carrier")


class Rig:
    """A carrier for two riders. ``router``: the other end. It is also whom the carrier tells what becomes of it."""

    def __init__(self, router: zmq.Socket[bytes], carrier: Carrier | None = None) -> None:
        self.router = router
        self.rides = {name: self._ride(name) for name in (b"a", b"b")}
        self.told: list[str] = []

    def _ride(self, name: bytes) -> Ride:
        spec = Socket("dealer", connect=SPEC.connect, routing_id=name)
        return Ride(HostedCore(name.decode(), Seat(Probe(), (spec,)), lambda *_: None), spec, deque())

    def up(self) -> None:
        self.told.append("up")

    def down(self) -> None:
        self.told.append("down")

    def sends(self, name: bytes, *frames: bytes) -> None:
        assert self.rides[name].send([Send(list(frames))], 0) == (1, ())

    def came(self) -> list[Frames]:
        """The inner messages of what the other end has."""
        found = []
        while self.router.poll(0):
            carrier, *outer = self.router.recv_multipart()
            messages = unwrap(outer)
            assert carrier == b"carrier" and not isinstance(messages, str)
            found += messages
        return found

    def gives(self, carrier: Carrier, *messages: Frames) -> list[tuple[str, Event]]:
        """What riders are to hear of these inner messages."""
        for outer, _ in wrap(messages):
            self.router.send_multipart([b"carrier", *outer])
        return self.hears(carrier)

    def hears(self, carrier: Carrier) -> list[tuple[str, Event]]:
        assert carrier.socket.poll(int(WAIT * 1000))
        return [(hosted.name, event) for hosted, event in carrier.receive()]


@pytest.fixture
def rig() -> Iterator[tuple[Rig, Carrier]]:
    context = make_context()
    with context.socket(zmq.ROUTER) as router:
        router.bind("inproc://broker")
        made = Rig(router)
        carrier = Carrier(SPEC, context, made)
        carrier.batch = 64
        for ride in made.rides.values():
            ride.board(carrier.way, carrier, 0.0)
        yield made, carrier
        carrier.close()
    context.term()


def test_what_riders_send_in_one_round_goes_together(rig: tuple[Rig, Carrier]) -> None:
    world, carrier = rig
    world.sends(b"a", b"1")
    world.sends(b"b", b"", b"2")
    world.sends(b"a", b"3")
    assert not world.router.poll(0) and carrier.receive() == []
    assert world.router.recv_multipart()[1:] == [
        next(wrap([[b"a", b"1"], [b"b", b"", b"2"], [b"a", b"3"]]))[0][0],
    ]
    world.sends(b"b", b"x" * (SMALL + 1))
    carrier.receive()
    assert world.router.recv_multipart() == [b"carrier", MAGIC, b"b", b"x" * (SMALL + 1)]
    assert carrier.receive() == [] and not world.router.poll(0)


def test_each_rider_gets_its_own_and_nobody_what_is_anothers(rig: tuple[Rig, Carrier]) -> None:
    world, carrier = rig
    world.sends(b"a", b"hello")
    carrier.receive()
    got = world.gives(carrier, [b"a", b"1"], [b"b", b"2"], [b"nobody", b"3"], [b"a", b"", b"4"], [b"b"])
    assert got == [("a", Received([[b"1"], [b"", b"4"]])), ("b", Received([[b"2"]]))]
    assert carrier.heard == world.rides[b"a"].heard > 0.0
    world.rides[b"a"].held = True
    assert world.gives(carrier, [b"a", b"5"], [b"b", b"6"]) == [("b", Received([[b"6"]]))]
    assert world.rides[b"a"].arrived == [[b"5"]]


def test_what_is_wrong_is_shown_to_a_core_which_counts_it(rig: tuple[Rig, Carrier]) -> None:
    world, carrier = rig
    world.sends(b"a", b"hello")
    carrier.receive()
    world.router.send_multipart([b"carrier", MAGIC + b"\xc1"])
    world.router.send_multipart([b"carrier", b"", b"plain"])
    got = world.gives(carrier, [b"b", b"1"])
    assert got == [("a", Received([[MAGIC + b"\xc1"], [b"", b"plain"]])), ("b", Received([[b"1"]]))]


def test_what_was_meant_for_whoever_had_an_id_before_is_dropped(rig: tuple[Rig, Carrier]) -> None:
    world, carrier = rig
    carrier.part(b"a")
    carrier.part(b"a")
    world.sends(b"a", b"anew")
    carrier.receive()
    assert world.came() == [[b"a"], [b"a"], [b"a", b"anew"]]
    assert world.gives(carrier, [b"a", b"old"], [b"a"], [b"a", b"older"], [b"b", b"1"]) == [("b", Received([[b"1"]]))]
    assert world.gives(carrier, [b"a"], [b"a", b"new"]) == [("a", Received([[b"new"]]))]


def test_nothing_is_left_unread_that_nobody_would_look_for_again(rig: tuple[Rig, Carrier]) -> None:
    """What is of no rider gives no event, and where a port gives none its node sleeps until something new comes."""
    world, carrier = rig
    carrier.part(b"a")
    carrier.receive()
    for message in [[b"nobody", b"x"]] * (TAKEN + 1) + [[b"a"], [b"a", b"1"]]:
        world.router.send_multipart([b"carrier", *next(wrap([message]))[0]])
    got: list[tuple[str, Event]] = []
    while not got:
        got = world.hears(carrier)
    assert got == [("a", Received([[b"1"]]))]


def test_riders_are_told_as_many_at_a_time_as_are_quick(rig: tuple[Rig, Carrier]) -> None:
    world, carrier = rig
    carrier.part(b"nobody")
    carrier.receive()
    carrier.batch = 1
    assert world.gives(carrier, [b"a", b"1"], [b"b", b"2"]) == [("a", Received([[b"1"]]))]
    world.sends(b"a", b"done")
    assert [(hosted.name, event) for hosted, event in carrier.receive()] == [("b", Received([[b"2"]]))]
    assert world.came() == [[b"nobody"], [b"a", b"done"]], "what one has said does not wait for the other"


def test_what_the_socket_does_not_take_waits_and_beyond_is_refused_to_each(
    rig: tuple[Rig, Carrier], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, carrier = rig
    monkeypatch.setattr(hosted, "OUTBOX", 1)
    carrier.calls.down = True
    world.sends(b"a", b"1")
    assert carrier.receive() == [] and len(carrier.outbox) == 1
    world.sends(b"a", b"2")
    world.sends(b"b", b"3")
    carrier.part(b"b")
    refused = [(hosted.name, event) for hosted, event in carrier.receive()]
    assert refused == [("a", Unsent([b"2"], "full")), ("b", Unsent([b"3"], "full"))]
    carrier.calls.down = False
    assert carrier.flushes() and world.came() == [[b"a", b"1"]]


def test_what_becomes_of_the_connection_is_told_and_libzmq_makes_no_other(rig: tuple[Rig, Carrier]) -> None:
    world, carrier = rig
    assert carrier.socket.get(zmq.RECONNECT_IVL) == -1
    carrier.news.append((int(zmq.EVENT_HANDSHAKE_SUCCEEDED), 7))
    carrier.receive()
    assert world.told == ["up"] and carrier.stands
    carrier.news.append((int(zmq.EVENT_DISCONNECTED), 7))
    carrier.receive()
    assert world.told == ["up", "down"] and not carrier.stands
