from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import NEVER
from engine.parts import liveness
from engine.parts.liveness import MANY, SPARE, STEPS, Liveness


def test_who_watches_nobody_never_wakes() -> None:
    live = Liveness(6.0, 2.0)
    assert live.wake_at() == NEVER and live.expired(1e9) == [] and live.beats(1e9) == [] and len(live) == 0


def test_a_silent_peer_is_due_a_heartbeat_every_so_often_and_then_expires() -> None:
    live = Liveness(6.0, 2.0)
    live.heard(b"w", 10.0)
    assert live.wake_at() == 12.0
    assert [live.beats(11.999), live.beats(12.0), live.beats(12.0), live.beats(14.0)] == [[], [b"w"], [], [b"w"]]
    assert live.expired(15.999) == [] and live.expired(16.0) == [b"w"] and b"w" not in live
    assert live.expired(99.0) == [] and live.beats(99.0) == []
    live.check()


def test_being_heard_moves_both_deadlines() -> None:
    live = Liveness(6.0, 2.0)
    live.heard(b"w", 10.0)
    live.heard(b"w", 11.5)
    assert live.last(b"w") == 11.5
    assert live.wake_at() == 12.0  # early: corrected when it comes up
    assert live.beats(12.0) == [] and live.wake_at() == 13.5 and live.beats(13.5) == [b"w"]
    assert live.expired(16.0) == [] and live.expired(17.5) == [b"w"]


def test_without_heartbeats_there_is_only_expiry() -> None:
    live = Liveness(6.0)
    live.heard(b"w", 10.0)
    assert live.wake_at() == 16.0 and live.beats(15.0) == []
    live.check()


def test_who_is_spared_is_due_later_as_soon_as_that_is_known() -> None:
    spared = set[bytes]()
    live = Liveness(6.0, 2.0, spared, 3.0)
    live.heard(b"w", 10.0)
    live.heard(b"v", 10.0)
    spared.add(b"w")
    assert live.deadlines()[1] == [(12.0, b"v"), (13.0, b"w")]
    assert live.beats(12.0) == [b"v"] and live.beats(12.999) == [] and live.beats(13.0) == [b"w"]
    assert [live.beats(14.0), live.beats(16.0)] == [[b"v"], [b"w", b"v"]]
    spared.clear()
    assert live.beats(18.0) == [b"v"] and live.beats(19.0) == [b"w"] and live.beats(21.0) == [b"v", b"w"]
    live.check()


def test_a_forgotten_peer_is_gone_and_may_come_back_once() -> None:
    live = Liveness(6.0, 2.0)
    live.heard(b"w", 10.0)
    live.forget(b"w")
    live.forget(b"w")
    assert len(live) == 0
    live.heard(b"w", 11.0)
    live.check()
    assert live.beats(13.0) == [b"w"] and live.beats(13.0) == []
    assert live.expired(16.0) == [] and live.expired(17.0) == [b"w"]


def test_our_own_pause_is_nobodys_silence() -> None:
    live = Liveness(6.0, 2.0)
    live.heard(b"w", 10.0)
    live.grace(30.0)
    assert live.last(b"w") == 40.0
    assert live.beats(41.0) == [] and live.expired(45.9) == [] and live.expired(46.0) == [b"w"]


def test_peers_that_come_and_go_leave_nothing_behind_however_late_they_would_expire() -> None:
    live = Liveness(86_400.0, 3_600.0)
    live.heard(b"stays", 0.0)
    for i in range(20 * SPARE):
        live.heard(b"%d" % i, 1.0)
        live.forget(b"%d" % i)
    assert len(live._expires.entries()) <= SPARE + 2 and len(live._beats.entries()) <= SPARE + 2
    live.check()
    assert live.beats(3_600.0) == [b"stays"] and live.expired(86_400.0) == [b"stays"]


steps = st.lists(
    st.tuples(st.sampled_from(["heard", "forget", "look"]), st.sampled_from([b"a", b"b", b"c"]), st.floats(0.0, 4.0))
)


def test_many_are_looked_at_together_and_who_is_silent_is_found_at_its_own_time() -> None:
    live = Liveness(6.4, 1.6)
    peers = [b"%d" % i for i in range(4 * MANY)]
    for i, peer in enumerate(peers):
        live.heard(peer, i / 1024)
    looks = set[float]()
    now = 0.0
    for _ in range(3):  # rounds in which everybody is heard somewhat later
        for i, peer in enumerate(peers):
            live.heard(peer, now + i / 1024)
        while (at := live.wake_at()) < now + 1.6:
            assert live.beats(at) == [] == live.expired(at)
            looks.add(at)
        now += 1.0
        live.check()
    assert len(looks) < len(peers) + 4 * STEPS, "at first one by one"
    heard = dict(live.heard_at)
    due = dict[bytes, float]()
    while (at := live.wake_at()) < now + 1.6:
        due |= dict.fromkeys(set(live.beats(at)) - due.keys(), at)
    assert due == {peer: pytest.approx(last + 1.6) for peer, last in heard.items()}
    gone = dict[bytes, float]()
    while (at := live.wake_at()) < NEVER:
        live.beats(at)
        gone |= dict.fromkeys(live.expired(at), at)
    assert gone == {peer: pytest.approx(last + 6.4) for peer, last in heard.items()} and len(live) == 0


@pytest.mark.parametrize("many", [MANY, 0])
@given(steps)
def test_it_agrees_with_looking_at_everybody_all_the_time(many: int, moves: list[tuple[str, bytes, float]]) -> None:
    with patch.object(liveness, "MANY", many):
        agrees(moves)


def agrees(moves: list[tuple[str, bytes, float]]) -> None:
    live, heard, now = Liveness(6.0, 2.0), dict[bytes, float](), 0.0
    for move, peer, pause in moves:
        now += pause
        if move == "heard":
            live.heard(peer, now)
            heard[peer] = now
        elif move == "forget":
            live.forget(peer)
            heard.pop(peer, None)
        else:
            gone = {peer for peer, last in heard.items() if last + 6.0 <= now}
            assert set(live.expired(now)) == gone
            for peer in gone:
                del heard[peer]
            assert all(heard[peer] + 2.0 <= now for peer in live.beats(now))
        assert len(live) == len(heard)
        if heard:
            assert live.wake_at() <= max(now, min(heard.values()) + 6.0)
        live.check()


def test_deadlines_are_those_of_who_is_not_heard_again() -> None:
    live = Liveness(6.0, 2.0)
    live.heard(b"v", 10.0)
    live.heard(b"w", 10.0)
    live.heard(b"w", 11.5)  # its entries are early now
    live.heard(b"x", 11.0)
    live.forget(b"x")
    assert live.wake_at() == 12.0
    assert live.deadlines() == ([(16.0, b"v"), (17.5, b"w")], [(12.0, b"v"), (13.5, b"w")])
    assert live.beats(12.0) == [b"v"]
    assert live.deadlines() == ([(16.0, b"v"), (17.5, b"w")], [(13.5, b"w"), (14.0, b"v")])
