"""Who of one node goes by which connection, without sockets: who probes, who waits, who rides, and what they hear."""

from __future__ import annotations

import errno
from collections import deque
from itertools import count
from random import Random
from typing import Any

import pytest
import zmq

from engine.core import Connected, Disconnected, Event, Frames, Seat, Send, Socket
from engine.drive.hosted import HostedCore, Port
from engine.drive.security.greetings import HANDSHAKE
from engine.drive.sharing import company as module
from engine.drive.sharing.company import Company
from engine.drive.sharing.ride import Ride
from tests.helpers.toys import Probe


class FakePort(Port):
    """A socket of somebody's own."""

    __slots__ = ("closed", "news_of")

    def __init__(self, hosted: HostedCore, spec: Socket) -> None:
        self.hosted, self.spec, self.outbox = hosted, spec, deque()
        self.closed = False
        self.news_of: list[Event] = []

    def hear(self) -> list[Event]:
        return self.news_of


class FakeCarrier:
    def __init__(self, now: float) -> None:
        self.way: list[Frames] = []
        self.stands = self.closed = False
        self.heard = self.opened = now
        self.sent: list[Frames] = []

    def part(self, rider: bytes) -> None:
        self.way.append([rider])

    def put(self) -> None:
        self.sent += self.way
        self.way.clear()


class Opens:
    """Opens nothing, and says what was opened and closed."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.open: list[FakePort] = []
        self.carriers: list[FakeCarrier] = []
        self.looked: list[Any] = []
        self.complaints: list[str] = []
        self.left = 10**6  # sockets that can be opened

    def _take(self) -> None:
        if not self.left:
            raise zmq.ZMQError(errno.EMFILE)
        self.left -= 1

    def own(self, hosted: HostedCore, spec: Socket) -> FakePort:
        self._take()
        port = FakePort(hosted, spec)
        self.open.append(port)
        return port

    def carry(self, spec: Socket, company: Any) -> Any:
        self._take()
        self.carriers.append(FakeCarrier(self.clock.now))
        return self.carriers[-1]

    def look(self, port: Any) -> None:
        self.looked.append(port)

    def unwatch(self, port: Any) -> None:
        self.looked = [one for one in self.looked if one is not port]

    def close(self, port: Any, linger: int = 0) -> None:
        if isinstance(port, FakePort):
            self.open.remove(port)
        if not isinstance(port, Ride):
            port.closed = True

    def complain(self, hosted: HostedCore, error: zmq.ZMQError) -> None:
        self.complaints.append(hosted.name)


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


class Rig:
    """A company, and all_hosted by name. What ``company`` is told goes through here."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.opens = Opens(clock)
        self.company = Company(self.opens)
        self.all_hosted: dict[str, HostedCore] = {}

    def joins(self, *names: str) -> None:
        for name in names:
            spec = Socket("dealer", connect=("tcp://there:1",), routing_id=name.encode(), shares=True)
            hosted = self.all_hosted[name] = HostedCore(name, Seat(Probe(), (spec,)), lambda *_: None)
            hosted.ports["main"] = self.company.join(hosted, spec)

    def leaves(self, name: str, linger: int = 0) -> None:
        self.company.leave(self.all_hosted.pop(name).ports["main"], linger)

    def told(self, name: str, agreed: bool = True) -> None:
        self.company.told(self.all_hosted[name].ports["main"], agreed)

    def reopens(self, name: str) -> None:
        port = self.all_hosted[name].ports["main"]
        self.company.doubt(port, self.clock.now)
        self.leaves(name)
        self.joins(name)

    def up(self) -> None:
        carrier = self.carrier
        carrier.stands = True
        self.company.up()

    @property
    def carrier(self) -> FakeCarrier:
        carrier: Any = self.company.carrier
        assert carrier is not None
        return carrier  # type: ignore[no-any-return]

    def ways(self) -> dict[str, str]:
        """How each goes: by its own, riding, or waiting."""
        return {
            name: ("rides" if port.rides else "waits") if isinstance(port, Ride) else "own"
            for name, hosted in self.all_hosted.items()
            for port in hosted.ports.values()
        }

    def hears(self, name: str) -> list[Event]:
        """What the core of a rider hears."""
        return [event for _, event in self.all_hosted[name].ports["main"].receive()]

    def shared(self, *names: str) -> None:
        """All ride, and have heard of it; the first has probed."""
        self.joins(*names)
        self.told(names[0])
        self.up()
        for name in names:
            self.hears(name)
        self.carrier.put()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def rig(clock: Clock) -> Rig:
    return Rig(clock)


def test_one_probes_and_the_others_wait_without_a_socket(rig: Rig) -> None:
    rig.joins("a", "b", "c")
    assert rig.ways() == {"a": "own", "b": "waits", "c": "waits"} and len(rig.opens.open) == 1


def test_where_the_broker_agrees_all_ride_on_one_connection_once_it_stands(rig: Rig) -> None:
    rig.joins("a", "b")
    rig.all_hosted["b"].ports["main"].send([Send([b"PING"])], 0)
    rig.told("a")
    assert rig.ways() == {"a": "waits", "b": "waits"} and len(rig.opens.open) == 1, "the own one is still open"
    rig.all_hosted["a"].ports["main"].send([Send([b"REGISTER"])], 0)
    rig.joins("c")
    rig.up()
    assert rig.ways() == {"a": "rides", "b": "rides", "c": "rides"} and rig.opens.open == []
    assert rig.hears("a") == [], "to its core it is the same connection"
    assert rig.hears("b") == rig.hears("c") == [Connected()]
    assert rig.carrier.way == [[b"b"], [b"b", b"PING"], [b"a"], [b"a", b"REGISTER"], [b"c"]]
    rig.joins("d")
    assert rig.ways()["d"] == "rides" and rig.hears("d") == [Connected()] and rig.carrier in rig.opens.looked
    rig.told("a", False)
    assert rig.ways()["a"] == "rides", "what is said over the shared connection changes nothing"


def test_where_it_does_not_agree_everybody_has_a_connection_of_its_own(rig: Rig) -> None:
    rig.joins("a", "b")
    rig.all_hosted["b"].ports["main"].send([Send([b"PING"])], 0)
    rig.told("a", False)
    rig.joins("c")
    assert rig.ways() == {"a": "own", "b": "own", "c": "own"} and not rig.opens.carriers
    assert (
        list(rig.all_hosted["b"].ports["main"].outbox) == [[b"PING"]]
        and rig.all_hosted["b"].ports["main"] in rig.opens.looked
    )
    rig.told("c", False)
    rig.reopens("c")
    assert rig.ways()["c"] == "own"


def test_one_that_is_alone_keeps_its_connection_and_comes_with_its_next_link(rig: Rig) -> None:
    rig.joins("a")
    rig.told("a")
    assert rig.ways() == {"a": "own"}
    rig.joins("b", "c")
    assert rig.ways() == {"a": "own", "b": "own", "c": "waits"}
    rig.told("b")
    rig.up()
    assert rig.ways() == {"a": "own", "b": "rides", "c": "rides"}
    rig.told("a")
    assert rig.ways() == {"a": "rides", "b": "rides", "c": "rides"} and rig.opens.open == []
    assert len(rig.opens.carriers) == 1


def test_a_broker_that_agrees_later_has_them_ride_one_by_one(rig: Rig) -> None:
    rig.joins("a", "b", "c")
    rig.told("a", False)
    rig.told("b")
    assert rig.ways() == {"a": "own", "b": "waits", "c": "own"}
    rig.told("c")
    rig.up()
    assert rig.ways() == {"a": "own", "b": "rides", "c": "rides"}
    rig.told("a", False)
    rig.joins("d")
    assert rig.ways()["d"] == "rides", "one that hears otherwise does not end what stands"


def test_when_the_probers_connection_ended_meanwhile_nothing_goes_over_the_other(rig: Rig) -> None:
    rig.joins("a", "b", "c")
    rig.told("a")
    rig.opens.open[0].news_of = [Disconnected()]
    carrier = rig.carrier
    rig.up()
    assert carrier.closed and carrier.way == [] and sorted(rig.ways().values()) == ["own", "waits", "waits"]
    (prober,) = [name for name, way in rig.ways().items() if way == "own"]
    assert prober == "b" and rig.hears("a") == [Disconnected()], "its core was told that it stands"
    assert rig.hears("c") == []


def test_the_end_of_the_shared_connection_is_told_to_all_and_one_probes(rig: Rig) -> None:
    rig.shared("a", "b", "c")
    rig.all_hosted["c"].ports["main"].send([Send([b"lost"])], 0)
    rides = {name: hosted.ports["main"] for name, hosted in rig.all_hosted.items()}
    carrier = rig.carrier
    rig.company.down()
    assert carrier.closed and sorted(rig.ways().values()) == ["own", "waits", "waits"]
    for ride in rides.values():
        assert [event for _, event in ride.receive()] == [Disconnected()] and ride in rig.opens.looked
    assert not rig.all_hosted["c"].ports["main"].outbox
    (prober,) = [name for name, way in rig.ways().items() if way == "own"]
    rig.told(prober, False)
    assert set(rig.ways().values()) == {"own"}, "what came back may be an original"


def test_one_that_leaves_says_so_and_the_last_one_closes_the_connection(rig: Rig) -> None:
    rig.shared("a", "b")
    rig.all_hosted["a"].ports["main"].send([Send([b"goodbye"])], 0)
    rig.leaves("a", 100)
    assert rig.carrier.way == [[b"a", b"goodbye"], [b"a"]]
    carrier = rig.carrier
    rig.leaves("b")
    assert carrier.closed and carrier.sent[-3:] == [[b"a", b"goodbye"], [b"a"], [b"b"]] and rig.company.empty
    rig.joins("a")
    assert rig.ways() == {"a": "own"}


def test_a_prober_that_leaves_is_followed_by_another(rig: Rig) -> None:
    rig.joins("a", "b", "c")
    rig.leaves("a")
    assert rig.ways() == {"b": "own", "c": "waits"}
    rig.leaves("c")
    rig.reopens("b")
    assert rig.ways() == {"b": "own"} and len(rig.opens.open) == 1
    rig.leaves("b")
    assert rig.company.empty and rig.opens.open == []


def test_a_rider_that_hears_nothing_where_others_do_begins_anew_on_the_same_connection(rig: Rig) -> None:
    rig.shared("a", "b")
    rig.clock.now = 106.0
    rig.carrier.heard = 105.0
    rig.reopens("a")
    assert rig.ways() == {"a": "rides", "b": "rides"} and rig.carrier.way == [[b"a"], [b"a"]]
    assert rig.hears("a") == [Connected()] and rig.hears("b") == []


def test_where_nobody_hears_anything_the_connection_is_given_up(rig: Rig) -> None:
    rig.shared("a", "b", "c")
    rig.clock.now = 106.0
    rig.carrier.heard = 102.0
    other = rig.all_hosted["b"].ports["main"]
    carrier = rig.carrier
    rig.reopens("a")
    assert carrier.closed and sorted(rig.ways().values()) == ["own", "waits", "waits"]
    assert [event for _, event in other.receive()] == [Disconnected()]


def test_a_connection_that_does_not_come_is_given_up_after_a_while(rig: Rig) -> None:
    rig.joins("a", "b")
    rig.told("a")
    carrier = rig.carrier
    rig.reopens("b")
    assert rig.ways() == {"a": "waits", "b": "waits"} and rig.carrier is carrier, "it may yet come"
    rig.clock.now += HANDSHAKE + 1
    rig.reopens("b")
    assert carrier.closed and sorted(rig.ways().values()) == ["own", "waits"] and len(rig.opens.open) == 1


def test_two_of_one_name_do_not_share_it(rig: Rig) -> None:
    rig.joins("a", "b")
    first = rig.all_hosted["b"]
    rig.joins("b")
    assert rig.ways() == {"a": "own", "b": "own"} and isinstance(first.ports["main"], Ride)
    rig.told("b")
    assert rig.ways()["b"] == "own"


def test_where_no_socket_can_be_opened_that_is_said_and_tried_again(rig: Rig) -> None:
    rig.joins("a", "b")
    rig.opens.left = 0
    rig.told("a")
    assert rig.ways() == {"a": "own", "b": "waits"} and rig.opens.complaints == ["a"]
    rig.leaves("a")
    assert rig.ways() == {"b": "waits"} and rig.opens.complaints == ["a", "b"]
    with pytest.raises(zmq.ZMQError):
        rig.joins("c")
    rig.opens.left = 1
    rig.reopens("b")
    assert rig.ways()["b"] == "own"


def test_whatever_happens_somebody_probes_or_nobody_waits(clock: Clock) -> None:
    """And there is a carrier only with riders, an open socket only with an owner or while the carrier is made."""
    random = Random(3)
    for _ in range(80):
        rig, names = Rig(clock), count()
        for _ in range(60):
            clock.now += random.random() * 3
            name = random.choice(list(rig.all_hosted)) if rig.all_hosted else ""
            carrier: Any = rig.company.carrier
            match random.randrange(8):
                case 0 | 1:
                    rig.joins(f"w{next(names)}")
                case 2 if name:
                    rig.leaves(name, random.choice((0, 100)))
                case 3 | 4 if name:
                    rig.told(name, random.random() < 0.7)
                case 5 if carrier is not None and not carrier.stands:
                    rig.up()
                case 6 if carrier is not None:
                    rig.company.down()
                case 7 if name:
                    rig.reopens(name)
            ways = list(rig.ways().values())
            carrier = rig.company.carrier
            assert rig.company.empty == (not rig.all_hosted)
            if carrier is None:
                assert "rides" not in ways and ("waits" not in ways or "own" in ways)
                assert len(rig.opens.open) == ways.count("own")
            else:
                assert "rides" in ways or "waits" in ways
                assert not carrier.stands or "waits" not in ways
                assert len(rig.opens.open) <= ways.count("own") + (not carrier.stands)
            assert sum(not one.closed for one in rig.opens.carriers) == (carrier is not None)
