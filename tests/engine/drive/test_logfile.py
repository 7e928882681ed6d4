"""A file of events: text or JSON, rotated, and what a full disk does."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from engine.core import Note
from engine.drive.logfile import FILES, LogFile
from engine.errors import Refused
from engine.feed import Feed

AT = 1_750_000_000.25


def say(feed: Feed, text: str, subject: bytes = b"") -> None:
    feed.fact(Note("bad", text, subject), "broker", AT)


def test_lines_of_text_and_of_json(tmp_path: Path) -> None:
    feed = Feed()
    logs = [LogFile(tmp_path / "a", "text", feed), LogFile(tmp_path / "b", "json", feed)]
    say(feed, "one\x1b[2J\nline", b"w1")
    for log in logs:
        log.close()
    assert (tmp_path / "a").read_text() == "2025-06-15T15:06:40.250+00:00 bad  broker: one·[2J·line · w1\n"
    (line,) = (tmp_path / "b").read_text().splitlines()
    assert json.loads(line) == {
        "at": "2025-06-15T15:06:40.250+00:00", "level": "bad", "source": "broker", "text": "one·[2J·line",
        "subject": "w1",
    }  # fmt: skip
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_it_is_rotated_and_the_oldest_goes(tmp_path: Path) -> None:
    feed = Feed()
    log = LogFile(tmp_path / "log", "text", feed, size=100)
    for number in range(2 * FILES):
        say(feed, f"{'x' * 40} {number}")
        log.follow()
    log.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["log", *(f"log.{number}" for number in range(1, FILES))]
    assert (tmp_path / "log").read_text().endswith(f" {2 * FILES - 1}\n")
    assert (tmp_path / f"log.{FILES - 1}").read_text().endswith(f" {FILES}\n")


def test_a_full_disk_is_told_and_what_was_lost_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = Feed()
    log = LogFile(tmp_path / "log", "text", feed)
    say(feed, "before")
    log.follow()
    write = os.write

    def full(into: int, raw: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def half(into: int, raw: bytes) -> int:
        return write(into, raw[:10])

    monkeypatch.setattr(os, "write", full)
    say(feed, "lost")
    log.follow()
    assert log.lost == f"the log {tmp_path / 'log'} can not be written: No space left on device"
    monkeypatch.setattr(os, "write", half)
    say(feed, "lost too")
    log.follow()
    monkeypatch.setattr(os, "write", write)
    say(feed, "after")
    log.close()
    assert log.lost == ""
    lines = (tmp_path / "log").read_text().splitlines()
    assert all(line.startswith("2025-06-15T15:06:40.250+00:00 bad ") for line in lines)
    said = [line.partition(": ")[2] for line in lines]
    assert said == ["before", "2 events before this one are not here", "after"]


def test_what_the_feed_has_forgotten_is_counted(tmp_path: Path) -> None:
    feed = Feed(facts=2)
    log = LogFile(tmp_path / "log", "text", feed)
    for number in range(5):
        say(feed, str(number))
    log.close()
    said = [line.partition(": ")[2] for line in (tmp_path / "log").read_text().splitlines()]
    assert said == ["3 events before this one are not here", "3", "4"]


def test_a_device_that_is_always_full(tmp_path: Path) -> None:
    feed = Feed()
    log = LogFile(Path("/dev/full"), "json", feed)
    say(feed, "x")
    log.close()
    assert "No space left on device" in log.lost


def test_a_link_or_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "x")
    for path in (tmp_path / "link", tmp_path, tmp_path / "no" / "log"):
        with pytest.raises(Refused, match="can not be opened"):
            LogFile(path, "text", Feed())
