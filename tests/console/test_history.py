from __future__ import annotations

from pathlib import Path

import pytest

from console.history import LINES, History


def test_what_was_typed_survives_a_restart(tmp_path: Path) -> None:
    first = History(tmp_path / "state" / "history")
    first.load()
    for line in ("workers", "bulkping 100", "bulkping 100", ""):
        first.add(line)
    second = History(tmp_path / "state" / "history")
    second.load()
    assert second.lines == ["workers", "bulkping 100"]
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["history"]


def test_a_second_console_adds_its_lines_and_overwrites_none(tmp_path: Path) -> None:
    one, other = History(tmp_path / "history"), History(tmp_path / "history")
    one.load()
    other.load()
    one.add("first")
    other.add("second")
    one.add("third")
    assert one.lines == ["first", "second", "third"]
    assert (tmp_path / "history").read_text().split() == one.lines
    assert one.older("") == "third"


def test_up_and_down_come_back_to_the_draft(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    history.add("one")
    history.add("two")
    assert [history.older("dra") for _ in range(3)] == ["two", "one", "one"]
    assert [history.newer("x") for _ in range(3)] == ["two", "dra", "x"]


def test_no_history_is_no_line(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    assert history.older("draft") == "draft"
    assert history.newer("draft") == "draft"


def test_it_has_a_bound_and_takes_no_control_characters(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_bytes(b"bad\x1b[2J\n\xff\n" + b"".join(b"%d\n" % i for i in range(LINES + 50)))
    history = History(file)
    history.load()
    assert len(history.lines) == LINES
    assert history.lines[0] == "50"
    history.add("new")
    assert len(file.read_text().splitlines()) == LINES


def test_a_file_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    with pytest.raises(OSError, match="history"):
        History(tmp_path / "history").add("x")
