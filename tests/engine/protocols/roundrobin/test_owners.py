"""R17: what waits has its client as owner. A client may have a share, and leaves nothing behind that nobody wants."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.core import NEVER, Connected, Disconnected, Frames, Note
from engine.parts.inflight import Task
from engine.parts.orders import Withdraw
from engine.parts.owners import Has
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import owners as module
from engine.protocols.roundrobin.owners import Owners
from tests.helpers.roundrobin import Front, given, ident, relayed

T = 10.0


def task(client: bytes, size: int = 0) -> Task:
    message = [wire.TRACKEXEC, b"i", wire.APP_STREAM] + ([bytes(size - 3)] if size else [])
    return Task((client, b"i"), "data", message, T)


def test_what_waits_is_counted_by_client() -> None:
    owners = Owners(20_000, 6.0, 60.0)
    assert owners.most == 2_000 and owners.admit(b"c", 0) and owners.admit(b"c", 10)
    owners.again(task(b"d", 20))
    assert list(owners.all()) == [Has(b"c", 2, 2, 10), Has(b"d", 1, 1, 20)]
    owners.check(Counter({b"c": 2, b"d": 1}), Counter({b"c": 10, b"d": 20}))
    owners.leave(task(b"c", 10))
    owners.leave(task(b"c"))
    owners.leave(task(b"d", 20))
    assert list(owners.all()) == []
    owners.check(Counter(), Counter())


@pytest.mark.parametrize("wrong", [(Counter({b"c": 2}), Counter()), (Counter({b"c": 1}), Counter({b"c": 1}))])
def test_a_miscount_is_found(wrong: tuple[Counter[bytes], Counter[bytes]]) -> None:
    owners = Owners(20, 6.0, 60.0)
    owners.admit(b"c", 0)
    with pytest.raises(AssertionError, match="miscounted"):
        owners.check(*wrong)


def test_what_is_over_the_share_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES", 100)
    owners = Owners(2, 6.0, 60.0)
    assert not owners.admit(b"c", 101) and owners.admit(b"c", 60) and not owners.admit(b"c", 41)
    assert owners.admit(b"c", 40) and not owners.admit(b"c", 0)
    assert list(owners.all()) == [Has(b"c", 2, 2, 100)]


def test_who_ends_is_gone_after_a_time_and_forgotten_after_another() -> None:
    owners = Owners(2, 6.0, 60.0)
    assert owners.wake_at() == NEVER
    owners.ended(b"c", T)
    assert owners.wake_at() == T + 6 and owners.expire(T + 5) == [] and not owners.gone(b"c")
    assert owners.expire(T + 6) == [b"c"] == [client for client in (b"c",) if owners.gone(client)]
    assert owners.wake_at() == T + 66 and owners.expire(T + 65) == [] and owners.gone(b"c")
    assert owners.expire(T + 66) == [] and not owners.gone(b"c") and owners.wake_at() == NEVER


def test_who_comes_back_is_not_gone() -> None:
    owners = Owners(2, 6.0, 60.0)
    owners.ended(b"c", T)
    owners.back(b"c")
    assert owners.expire(T + 6) == []
    owners.ended(b"c", T)
    owners.expire(T + 6)
    owners.back(b"c")
    assert not owners.gone(b"c") and owners.wake_at() == NEVER


def test_our_own_pause_is_nobodys_absence() -> None:
    owners = Owners(2, 6.0, 60.0)
    owners.ended(b"c", T)
    owners.grace(100.0)
    assert owners.expire(T + 105) == [] and owners.expire(T + 106) == [b"c"]


def test_who_ended_last_is_gone_last_whatever_a_pause_was_told_to_be() -> None:
    owners = Owners(2, 6.0, 60.0)
    owners.ended(b"c", T)
    owners.grace(4.0)
    owners.ended(b"d", T)
    owners.check(Counter(), Counter())
    assert owners.expire(T + 9) == [] and owners.expire(T + 10) == [b"c", b"d"]


def test_of_too_many_the_first_is_gone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    owners = Owners(2, 6.0, 60.0)
    for number in range(4):
        owners.ended(bytes([number]), T)
    assert owners.wake_at() <= T and owners.expire(T) == [b"\0", b"\1"] and owners.wake_at() == T + 6
    assert owners.expire(T + 6) == [b"\2", b"\3"] and [n for n in range(4) if owners.gone(bytes([n]))] == [2, 3]
    owners.check(Counter(), Counter())


# ---- at a broker -----------------------------------------------------------------------------------------------------


def front_with(*workers: bytes, slots: int = 10, **options: object) -> Front:
    front = Front(**options)
    for worker in workers:
        front.join(worker, slots)
    front.notes.clear()
    return front


def alive(front: Front, until: float, worker: bytes) -> None:
    """Time passes, in which the worker is heard."""
    while front.now < until:
        front.at(min(until, front.now + 1.0))
        front.told([worker, *wire.link_pong(bytes(8))])


def stream(client: bytes, number: int) -> Frames:
    """A task that brings something."""
    return [client, *wire.stream(ident(number), 1024)]


def test_r17_one_client_may_have_a_tenth_of_the_backlog_and_leaves_room_for_others() -> None:
    front = Front(max_backlog=20_000)
    front.told(*([b"c", *wire.ping(ident(number), True)] for number in range(2_005)))
    assert front.books == (2_005, 0, {}, 0, 2_000, 5)
    assert front.notes == [
        Note("bad", "a client's share of the backlog is full: its tasks are dropped", b"c"),
    ], "said once"
    front.pingt(1, b"d")
    assert front.books == (2_006, 0, {}, 0, 2_001, 5)
    view = front.broker.snapshot(front.now)
    assert view.terms == (("client c", "2,000 tasks waiting, 0 bytes"), ("client d", "1 task waiting, 0 bytes"))
    assert dict(view.counters)["over share"] == 5


def test_r17_what_waits_of_one_client_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(map(len, stream(b"c", 1)[3:-1]))
    monkeypatch.setattr("engine.protocols.roundrobin.owners.BYTES", 2 * size)
    front = Front()
    front.told(*(stream(b"c", number) for number in range(3)), stream(b"d", 1))
    assert front.books == (4, 0, {}, 0, 3, 1)
    assert front.broker.snapshot(front.now).terms == (
        ("client c", f"2 tasks waiting, {2 * size} bytes"),
        ("client d", f"1 task waiting, {size} bytes"),
    )
    assert front.pingt(4) == [] and front.books == (5, 0, {}, 0, 4, 1), "one that brings nothing still waits"
    front.join(b"w", 2)
    front.told(stream(b"c", 5))
    assert front.books == (6, 0, {}, 2, 3, 1), "what a worker holds does not wait"


def test_r17_the_share_counts_what_waits_and_not_what_workers_hold() -> None:
    front = Front(max_backlog=10_000)
    front.join(b"w", 3)
    front.told(*([b"c", *wire.ping(ident(number), True)] for number in range(1_005)))
    assert front.books == (1_005, 0, {}, 3, 1_000, 2)
    assert front.broker.snapshot(front.now).terms == (("client c", "1,000 tasks waiting, 0 bytes"),)


def test_r17_an_operator_withdraws_what_waits_of_a_client_and_nothing_else() -> None:
    front = front_with(b"w", slots=1)
    for number in range(4):
        front.pingt(number)
    front.ping(4)
    front.pingt(0, b"d")
    assert front.ordered(Withdraw(b"c")) == []
    assert front.notes == [Note("info", "4 tasks withdrawn from the backlog", b"c")]
    assert front.books == (6, 0, {"withdrawn": 4}, 1, 1, 0)
    assert front.reply(b"w", 0) == [relayed(0, b"w")], "what a worker holds is done"
    assert front.increment(b"w") == [given(b"w", 0, b"d")]
    assert front.pingt(1) == [] and front.books[4] == 1, "its id is free"
    front.ordered(Withdraw(b"nobody"))
    assert front.notes[-1] == Note("info", "0 tasks withdrawn from the backlog", b"nobody")


def test_r17_a_withdrawn_suspect_sets_its_worker_free() -> None:
    front = front_with(b"a", b"b", slots=2)
    front.pingt(0)
    front.pingt(1, b"d")
    front.unsent([b"a", *wire.link_ping(ident(1))])
    assert [row.free for row in front.broker.snapshot(front.now).workers if row.key == b"b"] == [1]
    assert front.pingt(2, b"d") == [], "b is kept for the suspect"
    assert front.ordered(Withdraw(b"c")) == [given(b"b", 2, b"d")]
    assert front.books == (3, 0, {"withdrawn": 1}, 2, 0, 0)


def test_r17_what_waits_of_a_client_that_does_not_come_back_is_withdrawn() -> None:
    front = front_with(b"w", slots=1, expiry=6.0, heartbeat=1e6)
    for number in range(3):
        front.pingt(number)
    front.ping(3)
    front.pingt(9, b"d")
    front.do(Disconnected(peer=b"c"))
    assert front.broker.wake_at() == 106.0
    alive(front, 105.0, b"w")
    assert front.books == (5, 0, {}, 1, 4, 0)
    front.notes.clear()
    front.told([b"w", *wire.link_pong(bytes(8))])
    assert front.at(106.0) == []
    assert front.books == (5, 0, {"withdrawn": 2}, 1, 2, 0), "what wants no reply is done all the same"
    assert front.notes == [Note("warn", "2 tasks withdrawn from the backlog: clients are gone")]


def test_r17_a_client_that_comes_back_in_time_keeps_what_waits() -> None:
    front = Front(expiry=6.0)
    front.pingt(0)
    front.do(Disconnected(peer=b"c"))
    front.at(105.9)
    front.do(Connected(peer=b"c"))
    front.at(200.0)
    assert front.books == (1, 0, {}, 0, 1, 0)


def test_r17_what_a_lost_worker_had_of_a_client_that_is_gone_does_not_wait_again() -> None:
    front = front_with(b"w", slots=2, expiry=6.0, heartbeat=2.0)
    front.pingt(0)
    front.ping(1)
    front.do(Disconnected(peer=b"c"))
    alive(front, 108.0, b"w")
    assert front.books == (2, 0, {}, 2, 0, 0)
    front.do(Disconnected(peer=b"w"))
    assert front.books == (2, 0, {"withdrawn": 1}, 0, 1, 0)
