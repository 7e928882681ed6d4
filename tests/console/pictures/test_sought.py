"""Which events are wanted."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from console.pictures.sought import LEVELS, SPANS, Said, Sought, typed


def at(hour: int, minute: int, second: float = 0.0, day: int = 15) -> float:
    whole = int(second)
    return datetime(2026, 3, day, hour, minute, whole, round((second - whole) * 1e6)).timestamp()


NOW = at(10, 30)
LINES = [
    Said("good", at(9, 0), "w1 joined"),
    Said("info", at(10, 5, 7.9), "a run began"),
    Said("warn", at(10, 25), "w1 is late"),
    Said("bad", at(10, 29, 30), "w1 lost"),
]


def shown(sought: Sought) -> list[str]:
    return [line.text for line in LINES if sought.fits(line, NOW)]


def asked(text: str, before: Sought | None = None) -> list[str]:
    return shown(typed(before or Sought(), text, NOW, at(10, 0)))


def test_at_first_all_of_it() -> None:
    assert shown(Sought()) == [line.text for line in LINES] and not Sought().any
    assert not typed(Sought(), "", NOW, 0.0).any and not typed(Sought(), "!", NOW, 0.0).any


def test_a_level_lets_worse_through_and_the_counts_say_what_each_would_show() -> None:
    by_level = [shown(Sought(level=level)) for level in range(len(LEVELS))]
    assert by_level == [[line.text for line in LINES], ["w1 is late", "w1 lost"], ["w1 lost"]]
    assert Sought(level=2).counts(LINES, NOW) == [4, 2, 1]
    assert typed(Sought(span=2), "late", NOW, 0.0).counts(LINES, NOW) == [1, 1, 0]


def test_a_span_counts_back_from_now() -> None:
    by_span = [len(shown(Sought(span=span))) for span in range(len(SPANS))]
    assert by_span == [4, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("since 10:05", ["a run began", "w1 is late", "w1 lost"]),
        ("since 10:05:07 until 10:25", ["a run began", "w1 is late"]),
        ("until 10:05:07", ["w1 joined", "a run began"]),
        ("until 10:05:06", ["w1 joined"]),
        ("since 1m", ["w1 lost"]),
        ("since 1h until 5m", ["a run began", "w1 is late"]),
        ("since 1500 until 1500", ["w1 is late"]),
        ("since 10:05 w1", ["w1 is late", "w1 lost"]),
        ("since 10:05 !W1", ["a run began"]),
        ("since 10:35", ["w1 joined", "a run began", "w1 is late", "w1 lost"]),
        ("!since", None),
    ],
)
def test_times_are_typed_before_the_expression(text: str, wanted: list[str] | None) -> None:
    assert asked(text) == ([line.text for line in LINES] if wanted is None else wanted)


def test_a_time_of_the_day_is_the_last_one_and_an_end_the_next_one_after_the_beginning() -> None:
    night = typed(Sought(), "since 23:50 until 0:10", at(0, 30, day=16), 0.0)
    assert (night.since, int(night.until)) == (at(23, 50), int(at(0, 10, day=16)))


def test_what_was_chosen_by_key_stays_when_something_is_typed() -> None:
    before = Sought(level=1, span=3)
    assert typed(before, "since 10:05", NOW, 0.0)[-2:] == (1, 3)
    assert asked("w1", before) == ["w1 is late", "w1 lost"]


@pytest.mark.parametrize("text", ["since", "since ", "until 25:00", "since x", "until 10:61 w1", "since 5d"])
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="when: 10:05"):
        typed(Sought(), text, NOW, 0.0)


def test_a_wrong_expression_is_one() -> None:
    with pytest.raises(re.error):
        typed(Sought(), "since 10:05 (", NOW, 0.0)
