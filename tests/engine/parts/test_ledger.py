from __future__ import annotations

from engine.parts.ledger import Ledger


def test_an_empty_ledger_balances() -> None:
    view = Ledger().view(0, 0)
    assert view.balanced and view == (0, 0, (), 0, 0, 0)


def test_every_end_of_a_task_counts_once() -> None:
    ledger = Ledger()
    ledger.sent = 21
    ledger.succeeded = 6
    ledger.dropped = 1
    ledger.fail("timeout", 3)
    ledger.fail("deadline")
    ledger.fail("timeout")
    view = ledger.view(in_flight=5, queued=4)
    assert view.balanced and view.failed == (("deadline", 1), ("timeout", 4))
    assert (view.in_flight, view.queued, view.dropped) == (5, 4, 1)


def test_the_balance_can_fail() -> None:
    ledger = Ledger()
    ledger.sent = 1
    assert not ledger.view(0, 0).balanced and not ledger.view(1, 1).balanced and ledger.view(0, 1).balanced


def test_a_view_is_frozen() -> None:
    ledger = Ledger()
    before = ledger.view(0, 0)
    ledger.fail("x")
    ledger.sent = 1
    assert before == (0, 0, (), 0, 0, 0)
