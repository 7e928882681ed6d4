"""Acts come in order; nobody waits for an owner that has ended."""

from __future__ import annotations

import select

import pytest

from engine.drive.inbox import Inbox


def rings(inbox: Inbox) -> bool:
    return bool(select.select([inbox.bell], [], [], 0)[0])


def test_acts_are_done_in_order_when_the_owner_answers() -> None:
    inbox, done = Inbox(), list[int]()
    assert not rings(inbox)
    inbox.post(lambda: done.append(1))
    inbox.post(lambda: done.append(2))
    assert rings(inbox)
    assert done == []
    inbox.hush()
    inbox.answer()
    assert done == [1, 2]
    assert not rings(inbox)
    inbox.close("over")


def test_a_bell_that_nobody_hears_never_blocks_who_rings() -> None:
    inbox = Inbox()
    for _ in range(100_000):
        inbox.ring()
    assert rings(inbox)
    inbox.close("over")


def test_results_and_the_callers_own_errors_reach_the_caller_only() -> None:
    inbox = Inbox()
    right, wrong = inbox.call(lambda: 7, (KeyError,)), inbox.call(lambda: dict[str, int]()["x"], (KeyError,))
    inbox.answer()
    assert right.result(0) == 7
    with pytest.raises(KeyError):
        wrong.result(0)
    inbox.close("over")


def test_any_other_error_is_the_owners_too() -> None:
    inbox = Inbox()
    future = inbox.call(lambda: 1 // 0, (KeyError,))
    with pytest.raises(ZeroDivisionError):
        inbox.answer()
    with pytest.raises(RuntimeError, match="ZeroDivisionError: integer division"):
        future.result(0)
    inbox.close("over")


def test_after_the_end_callers_are_told_why_at_once() -> None:
    inbox = Inbox()
    before = inbox.call(lambda: 7, ())
    inbox.close("the broker died")
    after = inbox.call(lambda: 7, ())
    for future in (before, after):
        with pytest.raises(RuntimeError, match="the broker died"):
            future.result(0)
