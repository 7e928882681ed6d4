"""Ratios by round, turns that rotate, tables that line up."""

from __future__ import annotations

import pytest

from tests.bench.figures import (
    Contend,
    Run,
    digits,
    range_of,
    ranking,
    ranking_head,
    ratio,
    rounds,
    size_of,
    spread,
    table,
)


def test_contenders_take_turns_and_none_is_always_first() -> None:
    asked: list[tuple[str, int]] = []

    def contend(name: str, rate: float) -> Contend:
        def run(n: int) -> Run:
            asked.append((name, n))
            return Run(rate)

        return run

    found = rounds({"a": contend("a", 1000.0), "b": contend("b", 100_000.0)}, 0.1, 7, runs=3)
    a, b = ("a", 100), ("b", 10_000)
    assert asked == [("a", 7), ("a", 7), ("b", 7), ("b", 7), a, b, b, a, a, b]
    assert {name: len(runs) for name, runs in found.items()} == {"a": 3, "b": 3}


def test_a_ratio_is_the_median_of_those_of_the_rounds() -> None:
    slow, fast = [Run(1.0), Run(10.0), Run(100.0)], [Run(2.0), Run(40.0), Run(300.0)]
    assert ratio(fast, slow) == 3.0
    assert ratio(slow, slow) == 1.0
    assert range_of(fast, slow) == "2.00–4.00"
    assert spread([Run(90.0), Run(100.0), Run(130.0)]) == pytest.approx(0.4)


def test_a_row_a_contender_with_its_ratios() -> None:
    found = {"ours": [Run(2000.0, 1500.0, 9000.0)] * 3, "proxy": [Run(4000.0)] * 3}
    assert ranking(found, ("proxy", "plain"), ("100",)) == [
        ["100", "ours", "2,000", "0 %", "1.50", "9.00", "0.500", "–"],
        ["100", "proxy", "4,000", "0 %", "–", "–", "1.00", "–"],
    ]
    assert len(ranking_head(("proxy", "plain"), ("window",))) == 8


def test_words_are_flush_left_and_numbers_right(capsys: pytest.CaptureFixture[str]) -> None:
    table("Title", ["", "tasks/s"], [["ours", "1"], ["x", "10,000"]])
    assert capsys.readouterr().out == "\nTitle\n\n        tasks/s\n  ours        1\n  x      10,000\n"


def test_bytes_for_people() -> None:
    assert [size_of(n) for n in (16, 1024, 65_536)] == ["16 B", "1 KiB", "64 KiB"]


def test_figures_have_three_digits() -> None:
    values = (0.0, 0.035678, 0.99996, 1.0, 1.5678, 99.96, 999.6, 56_626.0, 1_234_567.0)
    assert [digits(value) for value in values] == [
        "0", "0.0357", "1.00", "1.00", "1.57", "100", "1,000", "56,600", "1,230,000",
    ]  # fmt: skip
