from __future__ import annotations

from engine.drive.lateness import Lateness


def test_the_worst_is_remembered_for_a_second_at_least_and_two_at_most() -> None:
    lateness = Lateness()
    assert lateness.worst == 0.0
    lateness.note(0.0, 10.0)
    lateness.note(0.3, 10.5)
    lateness.note(0.1, 10.9)
    assert lateness.worst == 0.3
    lateness.note(0.2, 11.4)
    assert lateness.worst == 0.3, "of the second before"
    lateness.note(0.0, 12.4)
    assert lateness.worst == 0.2
    lateness.note(0.0, 13.4)
    assert lateness.worst == 0.0


def test_a_loop_that_slept_long_forgets_what_was_before() -> None:
    lateness = Lateness()
    lateness.note(0.3, 10.0)
    lateness.note(0.0, 99.0)
    lateness.note(0.0, 100.0)
    assert lateness.worst == 0.0
