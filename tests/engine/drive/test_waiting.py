from __future__ import annotations

from engine.drive.waiting import wait_until


def test_it_looks_until_the_condition_holds_or_the_time_is_over() -> None:
    looks = iter([False, False, True])
    assert wait_until(lambda: next(looks), 30.0)
    assert next(looks, None) is None
    assert not wait_until(lambda: False, 0.0)
    assert wait_until(lambda: True, 0.0)
