"""Bulk runs: closed loop, open loop, timeouts, stopping, books."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.core import NEVER
from engine.parts.bulk import Bulk, BulkSpec


def send(bulk: Bulk, now: float) -> list[int]:
    """Everything that may be sent now."""
    return list(iter(lambda: bulk.due(now), None))


def spec(n: int = 5, **more: object) -> BulkSpec:
    return BulkSpec("ping", n, **more)  # type: ignore[arg-type]


# ---- closed loop ----------------------------------------------------------------------------------------------------


def test_a_reply_makes_room_for_the_next() -> None:
    bulk = Bulk(spec(5, in_flight=2), 10.0)
    assert send(bulk, 10.0) == [0, 1]
    assert send(bulk, 10.5) == []
    assert bulk.replied(1, 10.5, size=7)
    assert send(bulk, 10.5) == [2]
    assert bulk.out(0) and bulk.out(2) and not bulk.out(1)
    for task in (0, 2):
        assert bulk.replied(task, 11.0)
    assert send(bulk, 11.0) == [3, 4]
    assert bulk.replied(3, 12.0) and bulk.view(12.0).state == "running"
    assert bulk.replied(4, 13.0, size=5)
    assert send(bulk, 13.0) == [] and bulk.wake_at() == NEVER
    view = bulk.view(99.0)
    assert (view.state, view.stopped, view.sent, view.elapsed, view.bytes) == ("ended", False, 5, 3.0, 12)
    assert view.passed and view.planned is None
    assert view.service.max == pytest.approx(2e6) and view.service.min == pytest.approx(0.5e6)
    assert sum(n for _, _, n in view.histogram) == 5


def test_an_empty_run_has_ended_and_passed() -> None:
    bulk = Bulk(spec(0), 1.0)
    assert send(bulk, 1.0) == []
    assert bulk.view(2.0).passed and bulk.view(2.0).elapsed == 0.0 and bulk.wake_at() == NEVER


def test_an_untracked_run_is_done_when_it_is_sent() -> None:
    bulk = Bulk(spec(1000, tracked=False), 1.0)
    assert send(bulk, 1.5) == list(range(1000))
    view = bulk.view(9.0)
    assert view.passed and view.elapsed == 0.5 and view.ledger.in_flight == 0
    assert not bulk.replied(3, 2.0)


def test_an_answer_to_what_is_not_out_changes_nothing() -> None:
    bulk = Bulk(spec(5), 0.0)
    send(bulk, 0.0)
    assert bulk.replied(0, 1.0)
    before = bulk.view(1.0)
    assert not bulk.replied(0, 1.0)
    assert not bulk.failed(0, "wrong data", 1.0)
    assert not bulk.replied(77, 1.0)
    assert bulk.view(1.0) == before


def test_one_failure_spoils_the_verdict_and_not_the_books() -> None:
    bulk = Bulk(spec(2), 0.0)
    send(bulk, 0.0)
    assert bulk.failed(0, "wrong data", 1.0) and bulk.replied(1, 1.0)
    view = bulk.view(1.0)
    assert view.state == "ended" and view.ledger.balanced and not view.passed
    assert view.ledger.failed == (("wrong data", 1),) and view.ledger.succeeded == 1
    assert bulk.service.count == 1  # what failed has no service time


# ---- warm-up --------------------------------------------------------------------------------------------------------


def test_the_first_tasks_are_in_the_books_and_of_latencies_in_the_maximum_alone() -> None:
    bulk = Bulk(spec(20, in_flight=20, rate=1e6), 0.0)
    send(bulk, 1.0)
    assert bulk.replied(1, 9.0) and bulk.failed(0, "wrong data", 9.0)
    assert bulk.view(9.0).warmup == 1 and bulk.service.count == bulk.planned.count == 0
    assert bulk.view(9.0).service.max == 0.0, "where nothing else was measured there is no latency"
    for task in range(2, 20):
        assert bulk.replied(task, 2.0)
    view = bulk.view(9.0)
    assert (view.warmup, view.ledger.succeeded, view.warm_at) == (1, 19, 1.0)
    assert bulk.service.count == 18 and view.service.p999 == pytest.approx(1e6, rel=0.01)
    assert view.service.max == pytest.approx(8e6), "who waits at the start does not wait unseen"
    assert view.planned is not None and view.planned.max == pytest.approx(9e6, rel=1e-3)
    assert view.planned.p999 == pytest.approx(2e6, rel=0.01)


@pytest.mark.parametrize(("n", "warmup"), [(0, 0), (1, 0), (9, 0), (10, 1), (100, 10), (10_000, 1000), (10**8, 1000)])
def test_a_tenth_warms_up_and_a_thousand_at_most(n: int, warmup: int) -> None:
    assert spec(n).warmup == warmup


def test_before_the_warm_up_is_over_nothing_is_warm() -> None:
    bulk = Bulk(spec(20, in_flight=2), 0.0)
    assert send(bulk, 1.0) == [0, 1] and bulk.view(1.0).warm_at == NEVER
    assert bulk.replied(0, 3.0) and send(bulk, 3.0) == [2] and bulk.view(3.0).warm_at == 3.0


# ---- open loop ------------------------------------------------------------------------------------------------------


def test_a_rate_sends_each_task_in_its_time_whatever_has_come_back() -> None:
    bulk = Bulk(spec(5, rate=10.0, in_flight=100), 1.0)
    assert send(bulk, 1.0) == [0]
    assert bulk.wake_at() == pytest.approx(1.1)
    assert send(bulk, 1.05) == []
    assert send(bulk, bulk.wake_at()) == [1]
    assert send(bulk, 1.35) == [2, 3]
    assert send(bulk, 9.0) == [4]


def test_a_stall_is_charged_to_everything_that_it_delayed() -> None:
    bulk = Bulk(spec(4, rate=1.0, in_flight=1), 0.0)
    assert send(bulk, 0.0) == [0]
    assert send(bulk, 2.5) == []  # 1 and 2 are due, and the bound holds them
    assert bulk.wake_at() == 5.0  # nothing is due while nothing may go: the timeout of task 0
    assert bulk.replied(0, 3.0)
    for task in (1, 2, 3):
        assert send(bulk, 3.0) == [task]
        assert bulk.replied(task, 3.0)
    view = bulk.view(3.0)
    assert view.passed and view.planned is not None
    assert view.service.min == 0.0 and view.service.max == pytest.approx(3e6)
    assert view.planned.mean == pytest.approx((3 + 2 + 1 + 0) / 4 * 1e6)


def test_a_rate_that_is_held_is_not_missed() -> None:
    bulk = Bulk(spec(101, rate=10.0, in_flight=200), 0.0)
    assert bulk.view(0.0).reached is None
    for tenth in range(100):
        send(bulk, tenth / 10 + 0.05)  # always late, and always caught up
    send(bulk, 10.1)
    assert bulk.view(10.1).sent == 101 and bulk.view(10.1).reached is None


def test_a_rate_that_is_not_held_is_missed_by_what_was_sent() -> None:
    bulk = Bulk(spec(101, rate=10.0, in_flight=200), 0.0)
    send(bulk, 5.0)
    assert bulk.view(5.0).reached is None
    send(bulk, 12.5)
    assert bulk.view(99.0).reached == pytest.approx(8.0)


def test_a_timer_that_is_no_more_exact_does_not_miss_a_short_run() -> None:
    bulk = Bulk(spec(11, rate=1000.0, in_flight=20), 0.0)
    send(bulk, 0.019)
    assert bulk.view(1.0).sent == 11 and bulk.view(1.0).reached is None
    slow = Bulk(spec(11, in_flight=20), 0.0)
    send(slow, 7.0)
    assert slow.view(7.0).reached is None


def test_a_client_without_a_link_is_woken_for_timeouts_and_not_for_what_it_can_not_send() -> None:
    bulk = Bulk(spec(3, rate=1.0, timeout=5.0), 0.0)
    assert (bulk.wake_at(), bulk.wake_at(linked=False)) == (0.0, NEVER)
    assert send(bulk, 0.0) == [0]
    assert (bulk.wake_at(), bulk.wake_at(linked=False)) == (1.0, 5.0)


# ---- timeouts -------------------------------------------------------------------------------------------------------


def test_a_task_fails_when_its_timeout_comes_and_not_before() -> None:
    bulk = Bulk(spec(3, in_flight=2, timeout=5.0), 0.0)
    assert bulk.due(0.0) == 0 and bulk.due(1.0) == 1
    assert bulk.wake_at() == 5.0
    assert bulk.expire(4.999) == []
    assert bulk.expire(5.0) == [0]
    assert bulk.wake_at() == 6.0
    assert send(bulk, 5.0) == [2]
    assert bulk.expire(99.0) == [1, 2]
    assert not bulk.replied(1, 99.0)
    view = bulk.view(99.0)
    assert view.ledger.failed == (("timeout", 3),) and view.state == "ended" and view.ledger.balanced


# ---- stopping -------------------------------------------------------------------------------------------------------


def test_a_stopped_run_sends_nothing_more_and_waits_for_what_is_out() -> None:
    bulk = Bulk(spec(5, in_flight=2), 0.0)
    send(bulk, 0.0)
    bulk.stop(1.0)
    bulk.stop(1.5)
    assert bulk.replied(0, 2.0) and send(bulk, 2.0) == []
    assert bulk.view(2.0).state == "stopping"
    assert bulk.expire(5.0) == [1]
    view = bulk.view(9.0)
    assert (view.state, view.stopped, view.elapsed, view.sent) == ("ended", True, 5.0, 2)
    assert view.ledger.balanced and not view.passed


def test_stopping_when_nothing_is_out_ends_at_once_and_stopping_what_is_sent_changes_nothing() -> None:
    waiting = Bulk(spec(5, rate=1.0), 0.0)
    assert send(waiting, 0.0) == [0] and waiting.replied(0, 0.5)
    waiting.stop(0.7)
    assert waiting.view(9.0).state == "ended" and waiting.view(9.0).elapsed == 0.7 and waiting.wake_at() == NEVER
    sent = Bulk(spec(2), 0.0)
    send(sent, 0.0)
    sent.stop(0.0)
    assert not sent.view(0.0).stopped and sent.replied(0, 1.0) and sent.replied(1, 1.0)
    assert sent.view(1.0).passed


# ---- any order of things --------------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.integers(1, 20), st.floats(0.5, 1e4))
def test_whoever_only_sleeps_until_wake_at_sends_everything_on_time(n: int, in_flight: int, rate: float) -> None:
    """Each task is answered at once: so none is sent before its time, and none later than a hair after it."""
    bulk = Bulk(spec(n, rate=rate, in_flight=in_flight), 7.0)
    now, wakes = 7.0, 0
    while bulk.ended is None:
        for task in iter(lambda at=now: bulk.due(at), None):  # type: ignore[misc]
            assert 7.0 + task / rate <= now <= 7.0 + task / rate + 1e-6
            assert bulk.replied(task, now)
        assert bulk.wake_at() > now
        now, wakes = bulk.wake_at(), wakes + 1
    assert bulk.view(now).passed and wakes <= n


class AnyRun(RuleBasedStateMachine):
    """A run that is sent, answered, failed, expired and stopped in any order keeps its books."""

    @initialize(
        n=st.integers(0, 12), in_flight=st.integers(1, 5), rate=st.none() | st.floats(0.1, 10.0), tracked=st.booleans()
    )
    def start(self, n: int, in_flight: int, rate: float | None, tracked: bool) -> None:
        self.now = 100.0
        self.bulk = Bulk(spec(n, in_flight=in_flight, rate=rate, tracked=tracked, timeout=3.0), self.now)
        self.sent: list[int] = []

    @rule(seconds=st.floats(0.0, 2.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def send(self) -> None:
        self.sent += send(self.bulk, self.now)

    @rule(task=st.integers(0, 12), size=st.integers(0, 9))
    def reply(self, task: int, size: int) -> None:
        out = self.bulk.out(task)
        assert self.bulk.replied(task, self.now, size) == out

    @rule(task=st.integers(0, 12))
    def fail(self, task: int) -> None:
        out = self.bulk.out(task)
        assert self.bulk.failed(task, "wrong data", self.now) == out

    @rule()
    def expire(self) -> None:
        assert all(not self.bulk.out(task) for task in self.bulk.expire(self.now))

    @precondition(lambda self: self.bulk.spec.n > 6)
    @rule()
    def stop(self) -> None:
        self.bulk.stop(self.now)

    @invariant()
    def books(self) -> None:
        bulk = self.bulk
        bulk.check()
        view = bulk.view(self.now)
        assert self.sent == list(range(view.sent)) and view.sent <= bulk.spec.n
        ended = (view.stopped or view.sent == bulk.spec.n) and view.ledger.in_flight == 0
        assert (view.state == "ended") == ended
        if ended:
            assert bulk.wake_at() == NEVER
        elif bulk.spec.rate is not None or view.ledger.in_flight:
            assert bulk.wake_at() < NEVER
        assert view.service.max >= view.service.p50 and bulk.service.count <= view.ledger.succeeded


TestAnyRun = AnyRun.TestCase
