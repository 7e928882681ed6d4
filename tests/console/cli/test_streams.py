"""What is printed where, and what happens when it can not be."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from pathlib import Path

import pytest

from console.cli import streams
from console.cli.streams import BAR, LINES, Alarms, OutputLost, Progress, bar, deliver, progress, result, tell
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
        "roundhouse: too many events: 90 events not told",
        *(f"roundhouse: broker: wrong {number}" for number in range(90, 100)),
    ]


def test_an_attack_that_goes_on_is_a_few_lines_in_so_many_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the words: forty lines a second of peers that were cut off filled a log for days."""
    feed = Feed()
    alarms = Alarms(feed)
    for look in range(40 * 60):  # ten minutes
        for peer in range(3):
            feed.fact(Note("warn", f"peer {peer} is cut off: garbage"), "broker", 1000.0 + look / 4)
        alarms.tell()
    told = capsys.readouterr().err.splitlines()
    assert len(told) <= (LINES + LINES) * 60 and len(told) < 7200 / 4
    feed.fact(Note("bad", "the broker thread died"), "broker", 1600.0)
    assert alarms.end(["x.journal is not whole"]) is False
    assert [line for line in capsys.readouterr().err.splitlines() if "not told" not in line] == [
        "roundhouse: broker: the broker thread died",
        "roundhouse: x.journal is not whole",
    ]


def test_what_was_told_is_not_told_again_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    feed = Feed()
    alarms = Alarms(feed)
    feed.fact(Note("bad", "the run could not be kept"), "lab", 0.0)
    assert alarms.end(["the run could not be kept"]) is False
    assert capsys.readouterr().err == "roundhouse: lab: the run could not be kept\n"
    assert alarms.end([]) is True


HOSTILE = {
    "osc 0": "\x1b]0;owned\x07",
    "osc 8": "\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\",
    "osc 52": "\x1b]52;c;ZWNobw==\x07",
    "c1": "\x9d0;owned\x9c\x9b31m",
    "bidi": "a\u202eb\u2066c",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_nothing_that_is_printed_steers_a_terminal(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = Feed()
    feed.fact(Note("bad", text, text.encode()), "broker", 0.0)
    result(f"{text}\n{text}\n")
    tell(text)
    Alarms(feed).end([text])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    progress = Progress("run")
    progress.line(text)
    progress.clear()
    out, err = capsys.readouterr()
    for line in [*out.splitlines(), *err.replace("\r", "\n").splitlines()]:
        assert line.isprintable(), line
    assert len(out.splitlines()) == 2


def test_a_pipe_without_a_reader_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert not deliver("{}", tmp_path / "fifo")
    assert capsys.readouterr().err == (
        f"roundhouse: --json {tmp_path}/fifo: nobody reads from it; start its reader first\n"
    )


def test_a_device_that_is_full_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    assert not deliver("{}", full)
    assert capsys.readouterr().err == "roundhouse: --json /dev/full: No space left on device\n"


def test_a_report_that_can_not_be_flushed_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    assert deliver("old", path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert not deliver("new", path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    told = capsys.readouterr().err
    assert told == f"roundhouse: --json {path}: No space left on device; the file stays as it was\n"


def test_progress_in_words() -> None:
    assert progress("bulkping", half_way()) == "bulkping 301/1,000  30 %  602 /s  1 s left  1 failed"
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


def test_a_bar_is_drawn_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")  # without colours
    assert bar(0.0).strip() in ("", "━" * BAR) and len(bar(1.0)) == BAR and bar(1.0) != bar(0.25)


def test_a_verdict_has_a_colour_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    text = "rate      5 /s\nverdict   FAIL\n"
    for terminal, environ, shown in (
        (Terminal(), {}, "rate      5 /s\n\x1b[31mverdict   FAIL\x1b[0m\n"),
        (Terminal(), {"NO_COLOR": "1"}, text),
        (Terminal(), {"TERM": "dumb"}, text),
        (io.StringIO(), {}, text),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", terminal)
            patch.setenv("TERM", "xterm")
            patch.delenv("NO_COLOR", raising=False)
            for name, value in environ.items():
                patch.setenv(name, value)
            result(text, inked=True)
        assert terminal.getvalue() == shown


def test_no_progress_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    line = Progress("bulkping")
    line.show(half_way())
    line.clear()
    assert capsys.readouterr() == ("", "")


class Broken(io.StringIO):
    """A stream on a disk that is full until it is ``mended``."""

    mended = False

    def write(self, text: str) -> int:
        if not self.mended:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_what_can_not_be_told_ends_nothing_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Broken()
    monkeypatch.setattr(sys, "stderr", stderr)
    tell("one")
    tell("two")
    stderr.mended = True
    tell("three")
    tell("four")
    assert stderr.getvalue() == (
        "roundhouse: three (2 messages before this one could not be printed)\nroundhouse: four\n"
    )


@pytest.mark.parametrize("encoding", ["ascii", "iso8859-1"])
def test_an_8_bit_terminal_is_drawn_on_with_what_it_has(encoding: str) -> None:
    file = io.BytesIO()
    stream = io.TextIOWrapper(file, encoding=encoding, errors="roundhouse", write_through=True)
    stream.write("p50 ≠ 5 … ▁█─ ✓ 漢")
    assert file.getvalue() == b"p50 != 5 ... .#- + ?"


def test_messages_as_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    feed = Feed()
    feed.fact(Note("bad", "it \x1b[2J", b"w1"), "broker", 1_750_000_000.25)
    streams.tell_as("json")
    try:
        Alarms(feed).tell()
        tell("hello")
    finally:
        streams.tell_as("text")
    fact, message = map(json.loads, capsys.readouterr().err.splitlines())
    assert fact == {
        "at": "2025-06-15T15:06:40.250+00:00", "level": "bad", "source": "broker", "text": "it ·[2J", "subject": "w1",
    }  # fmt: skip
    assert message.keys() == {"at", "text"} and message["text"] == "hello"


def test_what_is_told_while_a_line_is_typed_goes_above_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with streams.typing("client> "):
        streams.tell("into a file as it is")
        assert capsys.readouterr().err == "roundhouse: into a file as it is\n"
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        monkeypatch.setattr("readline.get_line_buffer", lambda: "bulkp")
        streams.tell("w1 joined")
        streams.result("1 worker\n")
    streams.tell("later")
    out, err = capsys.readouterr()
    assert err == "\r\x1b[Kroundhouse: w1 joined\nclient> bulkproundhouse: later\n"
    assert out == "\r\x1b[K1 worker\nclient> bulkp"
