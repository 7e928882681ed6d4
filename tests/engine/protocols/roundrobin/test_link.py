from __future__ import annotations

from itertools import product

import pytest

from engine.core import NEVER, Command, Note, Reopen, Send
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.link import Another, Link

ONE, TWO, THREE, FOUR = (wire.link_id(number) for number in (1, 2, 3, 4))


def ping(ident: bytes) -> list[Command]:
    return [Send(wire.link_ping(ident))]


def test_a_link_is_up_with_the_pong_of_its_ping() -> None:
    link = Link(2.0, 6.0)
    assert link.wake_at() == NEVER
    assert link.open(10.0) == ping(ONE) and (link.up, link.waits) == (False, True)
    assert not link.ponged(TWO, 10.5) and (link.up, link.waits) == (False, True)
    assert link.ponged(ONE, 10.5) and (link.up, link.waits) == (True, False)
    assert (link.number, link.heard, link.rtt, link.wake_at()) == (1, 10.5, 0.5, 12.0)
    assert not link.ponged(ONE, 10.6), "nobody asked any more"


def test_an_open_link_is_pinged_every_heartbeat() -> None:
    link = Link(2.0, 6.0)
    link.open(10.0)
    link.ponged(ONE, 10.0)
    assert link.tick(11.9) == [] and link.tick(12.0) == ping(TWO)
    link.ponged(TWO, 12.1)
    assert link.tick(12.1) == [] and link.tick(14.0) == ping(THREE)


def test_one_question_is_open_at_a_time_and_outlasts_a_heartbeat() -> None:
    link = Link(2.0, 6.0)
    link.open(10.0)
    assert link.tick(12.0) == ping(ONE) and link.tick(14.0) == ping(ONE)
    assert link.ponged(ONE, 15.0) and link.rtt == 5.0 and link.up


def test_silence_opens_the_link_anew_for_as_long_as_it_takes() -> None:
    link = Link(2.0, 6.0)
    link.open(10.0)
    link.ponged(ONE, 10.0)
    assert link.tick(12.0) == ping(TWO) and link.tick(14.0) == ping(TWO)
    assert link.tick(16.0) == [Note("bad", "no PONG from the broker: linking anew"), Reopen(), *ping(THREE)]
    assert not link.up and not link.ponged(TWO, 16.1), "a PONG of the link before"
    assert link.wake_at() == 18.0
    assert link.tick(22.0) == [Reopen(), *ping(FOUR)], "said once"
    assert link.ponged(FOUR, 22.1) and (link.up, link.number) == (True, 2)


def test_r4_a_claim_is_echoed_or_denied() -> None:
    link = Link(2.0, 6.0)
    link.open(10.0)
    assert link.ponged(ONE, 10.0) and not link.denied, "nothing was claimed"
    link.claims = True
    claim = wire.link_id(2, claim=True)
    assert link.tick(12.0) == ping(claim)
    assert link.ponged(claim, 12.1) and (link.denied, link.rtt) == (False, 12.1 - 12.0)
    assert link.tick(14.0) == ping(wire.link_id(3, claim=True))
    assert not link.ponged(TWO, 14.1), "the denial of an older one"
    assert link.ponged(THREE, 14.1) and (link.denied, link.up, link.number) == (True, True, 1)
    assert link.tick(20.1)[-1:] == ping(wire.link_id(4)), "a link that opens anew claims nothing"


def test_a_fresh_question_replaces_an_open_one() -> None:
    link = Link(2.0, 6.0)
    link.open(10.0)
    link.ponged(ONE, 10.0)
    link.tick(12.0)
    assert [link.ask(12.5, fresh=True)] == ping(THREE)
    assert not link.ponged(TWO, 12.6) and link.ponged(THREE, 12.7) and link.rtt == 12.7 - 12.5


def test_each_pong_says_anew_whether_the_packed_lane_is_agreed_to() -> None:
    link, lanes = Link(2.0, 6.0, asks=True), list[bool]()
    asks = [wire.link_id(number, packs=True) for number in range(5)]
    yes = [wire.agreed(asked) or b"" for asked in asks]
    assert link.open(10.0) == ping(asks[1])
    assert not link.ponged(yes[2], 10.0) and not link.up, "nobody asked that"
    assert link.ponged(yes[1], 10.0)
    lanes.append(link.packs)
    assert link.tick(12.0) == ping(asks[2])
    lanes.append(link.packs)  # until the next PONG
    assert link.ponged(asks[2], 12.0)
    lanes.append(link.packs)  # an echo: another broker
    assert link.tick(14.0) == ping(asks[3]) and link.ponged(yes[3], 14.0)
    lanes.append(link.packs)
    assert link.tick(20.0)[-1:] == ping(asks[4]) and not link.up
    lanes.append(link.packs)  # a new link
    assert lanes == [True, True, False, True, False]


def test_r4_a_claim_is_denied_or_not_whatever_the_lane() -> None:
    for denied, packs in product((False, True), repeat=2):
        link = Link(2.0, 6.0, asks=True)
        link.open(10.0)
        assert link.ponged(wire.link_id(1, packs=True), 10.0)
        link.claims = True
        assert link.tick(12.0) == ping(wire.link_id(2, claim=True, packs=True))
        answer = wire.link_id(2, claim=not denied, packs=True)
        assert link.ponged((wire.agreed(answer) or b"") if packs else answer, 12.0)
        assert (link.denied, link.packs) == (denied, packs)


@pytest.mark.parametrize(("word", "packs", "shares"), [(b"seat", 0, 0), (b"PACK", 1, 0), (b"SEAT", 1, 1)])
def test_a_broker_agrees_to_share_a_connection_or_to_pack_alone(word: bytes, packs: bool, shares: bool) -> None:
    link = Link(2.0, 6.0, asks=True, shares=True)
    assert link.open(10.0) == ping(wire.link_id(1, shares=True))
    assert link.ponged(b"\1\0\0" + word + b"\0", 10.0) and (link.packs, link.shares) == (packs, shares)
    link.open(11.0)
    assert (link.packs, link.shares) == (False, False), "until the next PONG"
    assert link.pack(False, 12.0) == ping(wire.link_id(3))[0], "who does not pack does not share"


def test_who_does_not_ask_takes_no_agreement() -> None:
    link = Link(2.0, 6.0)
    link.open(10.0)
    assert not link.ponged(wire.agreed(wire.link_id(1, packs=True)) or b"", 10.0) and not link.up
    assert not link.ponged(wire.agreed(wire.link_id(1, shares=True)) or b"", 10.0) and not link.up
    link = Link(2.0, 6.0, asks=True)
    link.open(10.0)
    assert not link.ponged(wire.agreed(wire.link_id(1, shares=True)) or b"", 10.0) and not link.up


def taken(link: Link, now: float) -> list[Command]:
    """Deaf, answered at once on a new connection, deaf again: what it does then."""
    link.open(now)
    for number in (1, 2):
        assert link.ponged(wire.link_id(number), now)
        commands = link.tick(now + 6.0)
        now += 6.0
    return commands


def test_a_name_that_another_live_peer_has_is_changed_and_that_is_said() -> None:
    commands = taken(Link(2.0, 6.0, name=Another("tcp://h:1", 7)), 10.0)
    name = b"tcp://h:1:%d" % (7 + 22_000_000 + 1)
    words = f"another live peer has this name: {name.decode()} from now on"
    assert commands[1:] == [Note("bad", words), Reopen(routing_id=name), *ping(THREE)]


def test_a_connection_that_ended_is_not_taken_for_a_name_that_is_taken() -> None:
    link = Link(2.0, 6.0, name=Another("tcp://h:1", 7))
    link.open(10.0)
    link.ponged(ONE, 10.0)
    assert link.ended(11.0) == [Note("warn", "the connection to the broker ended: linking anew"), *ping(TWO)]
    assert link.ended(11.5) == ping(THREE), "said once"
    link.ponged(THREE, 12.0)
    assert Reopen() in link.tick(18.0)


def test_other_names_are_within_what_ids_may_be_and_those_of_two_differ_by_time() -> None:
    name = Another("tcp://h:1", 999_999_999_999)
    assert name(0.0) == b"tcp://h:1:1000000000000" and name(0.000001) == b"tcp://h:1:1"
