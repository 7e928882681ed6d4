"""Rates and the age of the oldest task, out of ledgers."""

from __future__ import annotations

from engine.labs.meter import KEPT, Meter, Recent
from engine.parts.view import LedgerView


def ledger(sent: int, done: int, failed: int, queued: int) -> LedgerView:
    return LedgerView(sent, done, (("timeout", failed),), sent - done - failed - queued, queued, 0)


def test_failures_look_back_one_minute_and_the_rate_five_seconds() -> None:
    meter = Meter()
    assert meter.look(0.0, ledger(0, 0, 0, 0)) == Recent(0.0, None, None, 0.0)
    assert meter.look(10.0, ledger(100, 60, 20, 0)) == Recent(10.0, 6.0, 0.25, 0.0, 10.0)
    assert meter.look(70.0, ledger(200, 120, 20, 0)) == Recent(60.0, 1.0, 0.0, 0.0, 60.0)
    for second in range(1, 11):
        recent = meter.look(70.0 + second, ledger(200 + 50 * second, 120 + 50 * second, 20, 0))
    assert (recent.done, recent.done_seconds) == (50.0, 5.0), "a burst is its own rate, not the mean of the minute"


def test_the_oldest_task_is_as_old_as_the_look_by_which_it_had_come() -> None:
    meter = Meter()
    meter.look(0.0, ledger(10, 10, 0, 0))
    assert meter.look(1.0, ledger(15, 10, 0, 5)).oldest == 0.0
    assert meter.look(4.0, ledger(20, 10, 0, 10)).oldest == 3.0  # task 11, which had come by 1.0
    assert meter.look(5.0, ledger(20, 15, 0, 5)).oldest == 1.0  # task 16, which had come by 4.0
    assert meter.look(6.0, ledger(20, 20, 0, 0)).oldest == 0.0


def test_a_ledger_that_fell_is_a_new_beginning() -> None:
    meter = Meter()
    meter.look(0.0, ledger(1000, 900, 100, 0))
    assert meter.look(1.0, ledger(10, 5, 0, 5)) == Recent(0.0, None, None, 0.0)
    assert meter.look(2.0, ledger(20, 15, 0, 5)).done == 10.0


def test_it_is_bounded() -> None:
    meter = Meter()
    for at in range(KEPT + 10):
        recent = meter.look(float(at), ledger(5, 0, 0, 5))
    assert recent.oldest == KEPT - 1
