"""What is printed where, and what happens when it can not be."""

from __future__ import annotations

import errno
import io
import sys

import pytest

from console.cli.streams import Alarms, OutputLost, Progress, progress, result, tell
from engine.core import Note
from engine.feed import Feed
from engine.parts.bulk import Bulk, BulkSpec, BulkView


def half_way() -> BulkView:
    bulk = Bulk(BulkSpec("ping", 1000, in_flight=1000, timeout=1.0), 0.0)
    for _ in range(500):
        bulk.due(0.0)
    for task in range(300):
        bulk.replied(task, 0.5)
    bulk.failed(300, "wrong data", 0.5)
    return bulk.view(0.5)


def test_results_and_messages(capsys: pytest.CaptureFixture[str]) -> None:
    result("one\n")
    tell("two")
    assert capsys.readouterr() == ("one\n", "roundhouse: two\n")


@pytest.mark.parametrize(("code", "pipe"), [(errno.EPIPE, True), (errno.ENOSPC, False)])
def test_a_result_that_is_lost(code: int, pipe: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(code, "gone")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(OutputLost, match="can not be printed: gone") as caught:
        result("x")
    assert caught.value.pipe is pipe


def test_only_alarms_are_told_each_once_and_clean(capsys: pytest.CaptureFixture[str]) -> None:
    feed = Feed()
    alarms = Alarms(feed)
    for level, text in (("good", "fine"), ("info", "so so"), ("warn", "late\x1b[2J"), ("bad", "lost")):
        feed.fact(Note(level, text), "broker", 0.0)  # type: ignore[arg-type]
    alarms.tell()
    alarms.tell()
    assert capsys.readouterr() == ("", "roundhouse: broker: late·[2J\nroundhouse: broker: lost\n")


def test_an_alarm_says_whom_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    feed = Feed()
    feed.fact(Note("bad", "violation: wrong version", b"peer-1"), "broker", 0.0)
    feed.fact(Note("bad", "violation: wrong version", b"\x1b]0;owned\x07"), "broker", 0.0)
    feed.fact(Note("bad", "violation: wrong version", "\u202eevil".encode()), "broker", 0.0)
    Alarms(feed).tell()
    assert capsys.readouterr().err.splitlines() == [
        "roundhouse: broker: violation: wrong version · peer-1",
        "roundhouse: broker: violation: wrong version · 1b5d303b6f776e656407",
        "roundhouse: broker: violation: wrong version · e280ae6576696c",
    ]


def test_a_flood_of_alarms_is_a_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    feed = Feed(facts=50)
    alarms = Alarms(feed)
    for number in range(100):
        feed.fact(Note("bad", f"wrong {number}"), "broker", 0.0)
    alarms.tell()
    alarms.tell()
    assert capsys.readouterr().err.splitlines() == [
        "roundhouse: 90 facts are not told, there are too many",
        *(f"roundhouse: broker: wrong {number}" for number in range(90, 100)),
    ]


def test_progress_in_words() -> None:
    assert progress("bulkping", half_way()) == "bulkping 301/1,000  602 /s  eta 1 s  1 failed"
    assert progress("bulkping", Bulk(BulkSpec("ping", 10), 0.0).view(0.0)) == "bulkping 0/10"


def test_progress_is_one_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    line = Progress("bulkping")
    line.clear()
    assert terminal.getvalue() == ""
    line.show(half_way())
    assert terminal.getvalue() == "\rbulkping 301/1,000 "
    line.clear()
    assert terminal.getvalue().endswith("\r" + " " * 19 + "\r")


def test_no_progress_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    line = Progress("bulkping")
    line.show(half_way())
    line.clear()
    assert capsys.readouterr() == ("", "")
