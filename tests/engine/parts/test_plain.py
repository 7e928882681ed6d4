"""The sanitiser itself; how what it leaves is drawn is tested with ``console.text``."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.parts.plain import LIMIT, MARK, called, clean, clean_lines, several


def test_what_steers_a_terminal_is_marked_and_never_left_out() -> None:
    assert clean("\x1b]0;title\x07") == f"{MARK}]0;title{MARK}"
    assert clean("\x9d8;;http://x\x9c") == f"{MARK}8;;http://x{MARK}"
    assert clean("a\u202eb\u2066c\n") == f"a{MARK}b{MARK}c{MARK}"


def test_a_line_is_cut_and_lines_are_whole() -> None:
    assert len(clean("x" * (LIMIT + 1))) == LIMIT
    text = "x" * (LIMIT + 1) + "\ny\x1b\r\n"
    assert clean_lines(text) == "x" * (LIMIT + 1) + f"\ny{MARK}{MARK}\n"


@given(st.text())
def test_lines_stay_as_many_and_each_is_printable(text: str) -> None:
    shown = clean_lines(text)
    assert shown.count("\n") == text.count("\n") and all(line.isprintable() for line in shown.split("\n"))


def test_one_is_no_plural() -> None:
    assert [several(n, "task") for n in (0, 1, 2, 1284)] == ["0 tasks", "1 task", "2 tasks", "1,284 tasks"]
    assert several(1, "reply", "replies") == "1 reply" and several(2, "reply", "replies") == "2 replies"


def test_a_seat_has_the_name_that_tables_show() -> None:
    assert [called(seat) for seat in ("worker-3", "worker-x", "broker", "parse.3")] == [
        "w3",
        "worker-x",
        "broker",
        "parse.3",
    ]
