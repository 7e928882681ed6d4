"""What a system need not say to the model checker."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from engine.parts.explored import TWO, Explored, because


def test_all_of_it_may_be_left_out() -> None:
    usual = Explored()
    assert usual.heartbeat(SimpleNamespace(heartbeat=2)) == 2.0 and usual.heartbeat(SimpleNamespace()) == 1.0
    assert not usual.ignored and not usual.unordered and not usual.options and usual.wrong(None) == ""
    assert usual.step(usual.mark(None, 0.0), None, 0.0) == ""


def test_reasons_are_found_by_machine_state_and_event() -> None:
    assert because("Worker", TWO, "idle: a: b", ": at once") == {
        ("Worker", "idle", "a: b"): TWO,
        ("Worker", "", "at once"): TWO,
    }
    with pytest.raises(ValueError, match="not enough values"):
        because("Worker", TWO, *("idle: a"))
