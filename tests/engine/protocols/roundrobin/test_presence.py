"""What a broker makes of connections that come and go, and whom it asks for."""

from __future__ import annotations

from engine.core import Connected, Disconnected, Note
from engine.protocols.roundrobin import messages as wire
from tests.helpers.roundrobin import Front, given, relayed


def front_with(*workers: bytes, slots: int = 10) -> Front:
    front = Front(heartbeat=2.0, lost_shown=30.0)
    for worker in workers:
        front.join(worker, slots)
    front.notes.clear()
    return front


def test_r13_a_connection_that_ended_makes_suspects_of_what_its_worker_held_at_once() -> None:
    front = front_with(b"a", b"b", slots=2)
    front.pingt(0)
    assert front.do(Disconnected(peer=b"a")) == [given(b"b", 0)] and front.states == {b"b": "ready", b"a": "lost"}
    assert front.do(Disconnected(peer=b"a")) == [] == front.do(Disconnected(peer=b"nobody"))
    assert front.notes == [Note("bad", "w1 lost (its connection ended), 1 task taken back", b"a")]
    assert front.reply(b"b", 0) == [relayed(0, b"b")] and front.books == (1, 1, {}, 0, 0, 0)


def test_r13_a_lost_worker_is_asked_for_until_it_is_forgotten_and_is_one_again_when_it_answers() -> None:
    front = front_with(b"a", slots=1)
    front.pingt(0)
    front.do(Disconnected(peer=b"a"))
    assert front.core.wake_at() == 100.25
    ((peer, *ping),) = front.at(100.25)
    assert (peer, ping[2]) == (b"a", wire.PING)
    assert front.unsent([peer, *ping]) == [] and front.broker.unsent == 0, "it is not back yet"
    assert front.at(101.5) == [] and front.core.wake_at() == 101.75
    ((_, *ping),) = front.at(101.75)
    assert front.told([b"a", *wire.link_pong(ping[3])]) == [given(b"a", 0)] and front.states == {b"a": "busy"}
    front.do(Disconnected(peer=b"a"))
    front.at(140.0)
    assert front.states == {} and front.at(150.0) == [], "forgotten"


def test_r14_a_second_live_peer_that_takes_a_registered_id_over_is_told_and_counted() -> None:
    front = front_with()
    front.do(Connected(peer=b"a"))
    front.join(b"a")
    front.notes.clear()
    front.do(Connected(peer=b"a"))
    assert front.notes == [Note("warn", "w1: a second live connection took its id over", b"a")]
    front.do(Disconnected(peer=b"a"))
    front.do(Connected(peer=b"a"))
    front.do(Connected(peer=b"c"))
    front.do(Connected(peer=b"c"))
    assert dict(front.broker.snapshot(front.now).counters)["takeovers"] == 1, "another link; a client"


def test_r3_an_original_is_pinged_after_most_of_a_heartbeat_and_one_of_ours_when_its_own_ping_is_overdue() -> None:
    front = front_with(b"seed", b"ours")
    front.told([b"ours", *wire.link_ping(wire.link_id(3, claim=True))])
    assert [frames[0] for frames in front.at(101.5)] == [b"seed"]
    front.now = 102.0
    front.told([b"ours", *wire.link_ping(wire.link_id(4, claim=True))])
    assert [frames[0] for frames in front.at(103.0)] == [b"seed"] and front.at(104.49) == [], "not before 2.5 s"
    assert [(frames[0], frames[3]) for frames in front.at(104.5)] == [(b"ours", wire.PING), (b"seed", wire.PING)]
    front.at(106.0)
    assert front.states == {b"ours": "late", b"seed": "lost"}
    front.at(108.0)
    assert front.states == {b"seed": "lost", b"ours": "lost"}


def test_r3_behind_one_of_eight_pings_of_ours_its_round_trip_is_measured() -> None:
    front = front_with(b"ours")
    pings = [[b"ours", *wire.link_ping(wire.link_id(number, claim=True))] for number in range(1, 19)]
    behind = [front.told(ping)[1:] for ping in pings]
    assert [number for number, sent in enumerate(behind, 1) if sent] == [2, 10, 18]
    ((_, *ping),) = behind[-1]
    front.now += 0.25
    front.told([b"ours", *wire.link_pong(ping[3])])
    assert front.broker.snapshot(front.now).workers[0].rtt == 0.25
    seed = [b"ours", *wire.link_ping((2).to_bytes(8, "little"))]
    assert len(front.told(seed)) == 1, "the same number of an original"
    front.pingt(0)
    front.told([b"ours", *wire.deregister()])
    assert len(front.told(pings[1])) == 1, "one that leaves takes the PONG for the last word"


OURS = wire.link_id(1, packs=True)  # of a PING that claims nothing: a client's


def test_r14_a_client_whose_id_a_worker_had_keeps_that_worker_alive_by_no_ping_and_no_pong() -> None:
    front = front_with(b"c", slots=1)
    front.do(Disconnected(peer=b"c"))
    assert front.told([b"c", *wire.link_ping(OURS)]) == [[b"c", *wire.link_pong(OURS)]]
    assert front.told([b"c", *wire.link_pong(b"12345678")]) == []
    assert front.states == {b"c": "lost"}
    front.join(b"c", 1)
    assert front.states == {b"c": "ready"}, "whoever registers is a worker, whatever was before"


def test_r14_a_client_that_takes_its_id_back_from_a_living_worker_is_no_worker() -> None:
    front = front_with()
    front.do(Connected(peer=b"c"))
    front.join(b"c", 1)
    front.do(Connected(peer=b"c"))
    front.told([b"c", *wire.link_ping(OURS)])
    assert front.states == {b"c": "lost"}


def test_r14_a_worker_that_links_anew_by_the_connection_that_it_had_is_not_lost_for_that() -> None:
    front = front_with()
    front.do(Connected(peer=b"w"))
    front.join(b"w", 1)
    front.told([b"w", *wire.link_ping(OURS)])
    assert front.states == {b"w": "ready"}
