from __future__ import annotations

from console.pictures.rows import Rows
from console.terms import beside, column, countdown, lines_of, term, titled
from console.widgets.ink import Parts
from engine.core import NEVER
from tests.helpers.fake_lab import FakeLab

TERMS = (("nproc", "3"), ("state\x1b", "SV_\x9bLOOP2"))


def text(parts: Parts) -> str:
    return "".join(part for part, _ in parts)


def test_one_term_by_its_name() -> None:
    assert (term(TERMS, "nproc"), term(TERMS, "missing"), term((), "nproc")) == ("3", "", "")


def test_lines_are_aligned_and_clean() -> None:
    assert [text(line) for line in lines_of(TERMS)] == ["nproc           3", "state·          SV_·LOOP2"]
    (line,) = lines_of((("x" * 100, "1"),))
    assert text(line) == "x" * 27 + "…1"


def test_a_column_shows_its_term_and_sorts_numbers_as_numbers() -> None:
    lab = FakeLab(3, busy=False)
    for place, nproc in enumerate(("10", "9", "")):
        lab.replace(place, terms=(("nproc", nproc),) if nproc else ())
    lab.publish()
    rows = Rows()
    rows.update(lab.feed.pictures["broker"])
    made = column("free", "free", 4, -1, lambda value: "bad" if value == "9" else "text", right=True, term_name="nproc")
    assert [made.draw(row, 0.0, 4) for row in rows.rows] == [[("  10", "text")], [("   9", "bad")], [("    ", "text")]]
    assert [row.worker.terms for row in sorted(rows.rows, key=made.value)] == [
        (),
        (("nproc", "9"),),
        (("nproc", "10"),),
    ]


def test_a_countdown_warns_in_its_last_second() -> None:
    assert countdown(NEVER, 5.0) == ("–", "faint")
    assert countdown(8.0, 5.0) == ("3.0s", "text")
    assert countdown(5.4, 5.0) == ("0.4s", "warn")
    assert countdown(4.0, 5.0) == ("0.0s", "warn")


def test_blocks_stand_beside_each_other_where_there_is_room() -> None:
    left: list[Parts] = titled("one", [[("a", "text")]])
    right: list[Parts] = [[("zz", "text")]]
    assert [text(line) for line in beside(left, right, 20)] == ["one   zz", "a     ", "      "]
    assert [text(line) for line in beside(left, right, 7)] == ["one", "a", "", "zz"]
