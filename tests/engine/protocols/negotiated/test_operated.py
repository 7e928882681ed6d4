"""What an operator orders of a broker that serves."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Note, Ordered, Started
from engine.parts.orders import Drain, Expire, Requeue, Throttle, Undrain
from engine.protocols.negotiated import SYSTEM, Options, backup, names
from tests.helpers.negotiated import FALLBACK, HERE, books, busy, counters, given


def rates(it: Any) -> Any:
    return it.core.snapshot(it.now).limits


def test_a_pause_and_a_rate_hold_up_what_waits() -> None:
    it = busy("w")
    it.ready("w", slots=9)
    assert it.ordered(Throttle(0.0)) == [] and it.ask(b"1") == [] == it.ask(b"2") == it.ask(b"3")
    assert rates(it) == ((b"", 0.0),) and ("dispatch", "paused") in it.core.snapshot(it.now).terms
    assert it.ordered(Throttle(4.0)) == [given("w", b"1")]
    at = it.core.wake_at()
    assert at == pytest.approx(it.now + 0.25)
    assert it.at(at + 0.001) == [given("w", b"2")]
    assert it.ordered(Throttle(None)) == [given("w", b"3")] and rates(it) == () and it.core.service.valve is None


def test_the_limit_of_one_client_holds_up_nobody_else() -> None:
    it = busy("w")
    it.ready("w", slots=9)
    it.ordered(Throttle(0.0, b"c"))
    assert it.ask(b"1") == [] == it.ask(b"2")
    it.client("d")
    assert it.ask(b"3", peer="d") != []
    assert it.ordered(Throttle(None, b"c")) == [given("w", b"1"), given("w", b"2")]


def test_what_waits_is_bounded_though_a_worker_is_ready() -> None:
    it = busy("w", max_backlog=2)
    it.ordered(Throttle(0.0))
    assert [it.ask(b"%d" % number) for number in range(2)] == [[], []]
    assert it.ask(b"2")[0].startswith("frontend c DISCONNECTERROR code=429") and counters(it)["denied"] == 1


def test_a_worker_that_drains_and_holds_something_may_stay() -> None:
    """O34: it was not sent 403 yet."""
    it = busy("w")
    it.ask(b"1")
    it.ordered(Drain(b"w"))
    assert it.ask(b"2") == [] == it.ordered(Undrain(b"w"))
    assert it.reply("w", b"1")[-1] == given("w", b"2")
    it.ordered(Undrain(b"w"))
    assert it.notes[-1] == ("warn", "it does not drain, or has left")


def test_a_worker_is_lost_because_an_operator_says_so_and_begins_anew_when_it_is_heard() -> None:
    it = busy("w")
    it.ask(b"1")
    it.ready("v")
    assert it.ordered(Expire(b"w")) == [given("v", b"1")]
    assert it.notes[-1] == ("bad", "w1 is expired by an operator, 1 task taken back")
    assert it.told(names.PING, {"time": it.now, "config_version": 1}, peer="w") == ["w FORCENEGOTIATE"]
    it.ordered(Expire(b"w"))
    assert it.notes[-1] == ("warn", "there is no such worker to expire")


@pytest.mark.parametrize("order", [Requeue(b"w"), Requeue(b"", b"c", b"1")])
def test_a_task_is_taken_back_given_to_another_and_the_first_reply_is_late(order: Requeue) -> None:
    it = busy("w")
    it.ask(b"1")
    it.ready("v")
    assert it.ordered(order) == [given("v", b"1")] and counters(it)["redelivered"] == 1
    it.reply("w", b"1")
    assert counters(it)["late"] == 1 and books(it)[1] == 0
    assert it.reply("v", b"1")[0].startswith("frontend c WORKREPLY") and books(it)[1] == 1
    it.ordered(Requeue(b"v"))
    assert it.notes[-1] == ("warn", "it holds no task")
    it.ordered(Requeue(b"", b"c", b"9"))
    assert it.notes[-1] == ("warn", "no worker holds request 39")


def test_a_broker_that_does_not_serve_declines() -> None:
    core = backup(Options(fallback=FALLBACK), (HERE,)).core
    core.handle(Started(), 0.0)
    for order in (Throttle(0.0), Undrain(b"w"), Expire(b"w"), Requeue(b"w")):
        (note,) = (one for one in core.handle(Ordered(order), 1.0) if isinstance(one, Note))
        assert note.declines and note.text == "the broker that serves takes such orders"
    assert SYSTEM.takes == (Undrain, Throttle, Expire, Requeue)
