"""Several peers by one connection, at the broker's end: what its core hears, in which order, and what it sends."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from random import Random

import msgpack
import pytest
import zmq

from engine.core import Command, Connected, Disconnected, Event, Frames, Note, Send, Unsent
from engine.drive.links import Links
from engine.drive.sharing import riders as module
from engine.drive.sharing.envelope import MAGIC, SMALL, unwrap, wrap
from engine.drive.sharing.riders import Riders

ACCEPTED, ENDED = int(zmq.EVENT_ACCEPTED), int(zmq.EVENT_DISCONNECTED)
C, D = b"carrier", b"another carrier"


def connected(peer: bytes) -> Event:
    return Connected("main", peer)


def disconnected(peer: bytes) -> Event:
    return Disconnected("main", peer)


class Rig:
    """A ROUTER's links and riders, without the ROUTER. ``sent``: what was put on it."""

    def __init__(self) -> None:
        self.links = Links("main")
        self.riders = Riders("main", self.links)
        self.sent: list[Frames] = []
        self.fds: dict[bytes, int] = {}
        self.refusing: dict[bytes, int] = {}

    def put(self, frames: Frames) -> int:
        if error := self.refusing.get(frames[0]):
            return error
        self.sent.append(frames)
        return 0

    def connects(self, peer: bytes, fd: int) -> None:
        self.fds[peer] = fd
        self.links.hear(ACCEPTED, fd)

    def ends(self, peer: bytes) -> list[Event | Frames]:
        self.links.hear(ENDED, self.fds.pop(peer))
        return self.gets()

    def gets(self, *messages: Frames) -> list[Event | Frames]:
        """What the core gets of these messages, events and messages in order."""
        for frames in messages:
            if frames[0] in self.fds and (self.links.fresh or frames[0] not in self.links.known):
                self.links.look(frames[0], self.fds[frames[0]])
        self.links.drained(not messages)
        told, self.links.told = self.links.told, []
        found: list[Event | Frames] = list(self.riders.told(told))
        if messages:
            self.riders.take([list(frames) for frames in messages])
            self.riders.answers(self.put)
        for events, run in self.riders.runs:
            found += [*events, *run]
        self.riders.runs.clear()
        return found

    def says(self, *peers: bytes) -> list[Command]:
        """Sends to them, each numbered."""
        return [Send([peer, b"%d" % number]) for number, peer in enumerate(peers)]


@pytest.fixture
def rig() -> Rig:
    return Rig()


def by(carrier: bytes, *messages: Frames) -> list[Frames]:
    return [[carrier, *outer] for outer, _ in wrap(messages)]


def inner(sent: Iterable[Frames]) -> list[tuple[bytes, Frames]]:
    """(carrier, inner message) of what was sent."""
    found = []
    for carrier, *outer in sent:
        messages = unwrap(outer)
        assert not isinstance(messages, str)
        found += [(carrier, message) for message in messages]
    return found


def test_riders_are_peers_like_any_other(rig: Rig) -> None:
    plain = [b"p", b"", b"hello"]
    got = rig.gets(plain, *by(C, [b"a", b"1"], [b"b", b"", b"2"]), plain, *by(C, [b"a", b"3"]))
    assert got == [connected(b"a"), connected(b"b"), plain, [b"a", b"1"], [b"b", b"", b"2"], plain, [b"a", b"3"]]
    assert rig.riders.carriers == {b"a": C, b"b": C}


def test_what_is_large_comes_by_itself_from_who_sent_a_batch_before_and_from_nobody_else(rig: Rig) -> None:
    large = [b"a", b"", b"x" * (SMALL + 1)]
    (alone,) = by(C, large)
    assert len(alone) == 5 and rig.gets(alone) == [alone], "a worker may answer a client whose id is MAGIC"
    assert rig.gets(*by(C, [b"b", b"1"]), alone) == [connected(b"b"), connected(b"a"), [b"b", b"1"], large]


def test_one_that_is_gone_is_told_behind_its_last_words_and_answered(rig: Rig) -> None:
    got = rig.gets(*by(C, [b"a", b"1"], [b"b", b"2"], [b"a"], [b"b", b"3"], [b"a", b"again"]))
    assert got == [
        *(connected(b"a"), connected(b"b"), [b"a", b"1"], [b"b", b"2"]),
        *(disconnected(b"a"), connected(b"a"), [b"b", b"3"], [b"a", b"again"]),
    ]
    assert inner(rig.sent) == [(C, [b"a"])]
    assert rig.gets(*by(C, [b"nobody"])) == [] and inner(rig.sent)[1:] == [(C, [b"nobody"])]


def test_the_end_of_a_connection_is_the_end_of_all_that_ride_on_it(rig: Rig) -> None:
    rig.connects(C, 7)
    rig.connects(b"p", 8)
    rig.gets(*by(C, [b"a", b"1"], [b"b", b"2"]), [b"p", b"x"])
    assert rig.ends(b"p") == [disconnected(b"p")]
    assert rig.ends(C) == [disconnected(C), disconnected(b"a"), disconnected(b"b")]
    assert rig.riders.carriers == {} and rig.gets(*by(D, [b"a", b"3"])) == [connected(b"a"), [b"a", b"3"]]


def test_the_newer_of_two_connections_is_served(rig: Rig) -> None:
    rig.connects(C, 7)
    rig.gets(*by(C, [b"a", b"1"], [b"b", b"1"]))
    got = rig.gets(*by(C, [b"b", b"2"]), *by(D, [b"a", b"3"]))
    assert got == [[b"b", b"2"], connected(b"a"), [b"a", b"3"]], "told again, as of any connection"
    assert rig.gets(*by(C, [b"a"])) == [], "whom the older says to be gone is somebody else by now"
    rig.connects(b"a", 9)
    assert rig.gets([b"a", b"4"]) == [connected(b"a"), [b"a", b"4"]] and b"a" not in rig.riders.carriers
    assert rig.gets(*by(D, [b"a", b"5"])) == [connected(b"a"), [b"a", b"5"]] and rig.ends(b"a") == []
    assert rig.ends(C) == [disconnected(C), disconnected(b"b")]


def test_one_that_comes_from_a_connection_of_its_own_says_first_that_it_is_gone_from_there(rig: Rig) -> None:
    rig.connects(b"a", 7)
    assert rig.gets([b"a", b"1"]) == [connected(b"a"), [b"a", b"1"]]
    got = rig.gets(*by(C, [b"a"], [b"a", b"2"]))
    assert got == [disconnected(b"a"), connected(b"a"), [b"a", b"2"]] and inner(rig.sent) == [(C, [b"a"])]
    assert rig.ends(b"a") == [], "it is there"


def test_a_carrier_whose_id_another_connection_takes_is_deaf_and_its_riders_are_gone(rig: Rig) -> None:
    rig.connects(C, 7)
    rig.gets(*by(C, [b"a", b"1"]))
    rig.connects(C, 8)
    assert rig.gets([C, b"plain"]) == [disconnected(b"a"), connected(C), [C, b"plain"]]


WRONG = (
    [C, MAGIC],
    [C, MAGIC + b"\xc1"],
    [C, MAGIC + msgpack.packb([[b"x", 1]])],
    [C, MAGIC + msgpack.packb([[b"", b"x"]])],
)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_the_carriers_and_nothing_of_it_is_done(rig: Rig, wrong: Frames) -> None:
    assert rig.gets(wrong) == [wrong] and rig.riders.carriers == {}


def test_nobody_rides_under_the_name_of_one_that_carries(rig: Rig) -> None:
    rig.gets(*by(D, [b"a", b"1"]))
    got = rig.gets(*by(C, [C, b"1"], [D, b"2"], [D], [b"b", b"3"]))
    assert got == [connected(b"b"), *([[C, MAGIC]] * 3), [b"b", b"3"]]
    assert rig.riders.carriers == {b"a": D, b"b": C}
    nested = [b"b", *by(b"b", [b"e", b"1"])[0][1:]]
    assert rig.gets(*by(C, nested)) == [nested], "nothing is unwrapped twice"


def test_riders_and_carriers_are_bounded(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WORKERS", 2)
    monkeypatch.setattr(module, "KEPT", 3)
    got = rig.gets(*by(C, *([b"%d" % n, b"x"] for n in range(3))))
    assert got[-1] == [C, MAGIC] and len(rig.riders.carriers) == 2
    assert rig.gets(*by(D, [b"a", b"x"], [b"b", b"x"]))[1:] == [[b"a", b"x"], [D, MAGIC]]
    assert rig.gets(*by(b"third", [b"nobody"])) == []
    (fourth,) = by(b"fourth", [b"nobody"])
    assert rig.gets(fourth) == [fourth]


# ---- sending ---------------------------------------------------------------------------------------------------------


def test_what_goes_to_riders_of_one_carrier_goes_together(rig: Rig) -> None:
    rig.gets(*by(C, [b"a", b"x"], [b"b", b"x"]), *by(D, [b"d", b"x"]))
    commands = [*rig.says(b"a", b"p", b"b", b"d", b"a"), Note("info", "not sent"), *rig.says(b"a")]
    assert rig.riders.send(rig.put, commands, 0) == (5, [])
    assert rig.sent[0] == [b"p", b"1"] and len(rig.sent) == 3
    assert inner(rig.sent[1:]) == [(C, [b"a", b"0"]), (C, [b"b", b"2"]), (C, [b"a", b"4"]), (D, [b"d", b"3"])]
    other = [Send([b"a", b"x"], "another socket")]
    assert rig.riders.send(rig.put, list(other), 0) == (0, [])


@pytest.mark.parametrize(("error", "reason"), [(errno.EAGAIN, "full"), (errno.EHOSTUNREACH, "unreachable")])
def test_what_is_refused_is_each_ones_own(rig: Rig, error: int, reason: str) -> None:
    rig.gets(*by(C, [b"a", b"x"], [b"b", b"x"]))
    rig.refusing = {C: error, b"p": error}
    at, unsent = rig.riders.send(rig.put, rig.says(b"a", b"p", b"b"), 0)
    assert at == 3 and rig.sent == []
    expected = [([b"p", b"1"], reason), ([b"a", b"0"], reason), ([b"b", b"2"], reason)]
    assert unsent == [Unsent(frames, reason) for frames, reason in expected]  # type: ignore[arg-type]


def test_an_answer_that_does_not_go_is_given_later_and_is_nobodys_message(rig: Rig) -> None:
    rig.gets(*by(C, [b"a", b"x"]))
    rig.refusing = {C: errno.EAGAIN}
    assert rig.gets(*by(C, [b"a"])) == [disconnected(b"a")] and rig.sent == []
    assert rig.riders.send(rig.put, [], 0) == (0, [])
    rig.refusing = {}
    assert rig.riders.send(rig.put, [], 0) == (0, []) and inner(rig.sent) == [(C, [b"a"])]
    rig.riders.answers(rig.put)
    assert len(rig.sent) == 1


def test_who_was_cut_off_is_sent_nothing(rig: Rig) -> None:
    rig.gets(*by(C, [b"a", b"x"]), *by(D, [b"d", b"x"]))
    at, unsent = rig.riders.send(rig.put, rig.says(b"a", b"d", b"p"), 0, cut=(C, b"p"))
    assert at == 3 and unsent == [Unsent([b"p", b"2"], "unreachable"), Unsent([b"a", b"0"], "unreachable")]
    assert inner(rig.sent) == [(D, [b"d", b"1"])]


def test_whatever_comes_a_core_hears_of_connections_in_order() -> None:
    """Who is heard was told before, and an end is told of one that was told only."""
    random = Random(5)
    for _ in range(60):
        rig, live, fds = Rig(), set[bytes](), iter(range(7, 9999))
        for _ in range(40):
            ids = (b"a", b"b", b"c")
            messages = [random.choice(([one], [one, b"x"], [one, b"x"])) for one in random.choices(ids, k=5)]
            for peer in (C, D, b"a"):
                if random.random() < 0.1 and peer not in rig.fds:
                    rig.connects(peer, next(fds))
            came = by(random.choice((C, D)), *messages)
            if b"a" in rig.fds and random.random() < 0.3:
                came.append([b"a", b"plain"])
            got = rig.gets(*came)
            if random.random() < 0.1 and rig.fds:
                got += rig.ends(random.choice(list(rig.fds)))
            for one in got:
                if isinstance(one, Connected):
                    live.add(one.peer)
                elif isinstance(one, Disconnected):
                    live.remove(one.peer)
                elif isinstance(one, list) and one[1] == b"x":
                    assert one[0] in live, one
            assert rig.riders.carriers.keys() <= live
