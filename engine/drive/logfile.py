"""A file of events, as text or JSON lines, rotated; a full disk is one alarm, and work goes on.

The rules of this file:

- A line is written as a whole or not at all. What could not be written is counted, and told in the first line that can.
- ``BYTES`` of one file and ``FILES`` of them at most: the newest has the given name, older ones end in .1, .2 …
- It is of this user alone (0600), and no link is followed.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from engine.errors import Refused
from engine.feed import Fact, Feed
from engine.parts.explain import show
from engine.parts.plain import clean

Form = Literal["text", "json"]
BYTES = 10 * 1024 * 1024
FILES = 5
TEXT = 8000  # characters of one event


class LogFile:
    """For one thread. ``lost``: why lines could not be written lately, in words; empty while all is well."""

    def __init__(self, path: Path, form: Form, feed: Feed, size: int = BYTES) -> None:
        """Raises Refused where it can not be opened."""
        self._path, self._form, self._feed, self._most = path, form, feed, size
        self._seen = 0
        self._missed = 0
        self.lost = ""
        try:
            self._file = self._opened()
        except OSError as error:
            raise Refused(f"the log {path} can not be opened: {error.strerror or error}") from None

    def follow(self) -> None:
        """Write what has happened since the last time."""
        facts, gap = self._feed.since(self._seen)
        self._missed += gap
        for fact in facts:
            self._seen = fact.number
            if self._missed and not self._put(line_of(_missing(fact, self._missed), self._form)):
                self._missed += 1
                continue
            self._missed = 0
            if not self._put(line_of(fact, self._form)):
                self._missed = 1

    def close(self) -> None:
        """Write what is left, and close."""
        self.follow()
        os.close(self._file)

    def _put(self, line: str) -> bool:
        raw = line.encode()
        try:
            if os.fstat(self._file).st_size + len(raw) > self._most:
                self._rotate()
            before = os.fstat(self._file).st_size
            written = os.write(self._file, raw)
            if written < len(raw):  # the disk became full within it
                os.ftruncate(self._file, before)
                raise OSError(28, "No space left on device")
        except OSError as error:
            self.lost = f"the log {self._path} can not be written: {error.strerror or error}"
            return False
        self.lost = ""
        return True

    def _rotate(self) -> None:
        if os.fstat(self._file).st_size == 0:
            return
        for number in range(FILES - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number - 1}")
            if newer.exists():
                os.replace(newer, older)
        fresh = self._opened()
        os.close(self._file)
        self._file = fresh

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        return os.open(self._path, flags, 0o600)


def line_of(fact: Fact, form: Form) -> str:
    """An event on one line."""
    at = datetime.fromtimestamp(fact.at, UTC).isoformat(timespec="milliseconds")
    who = show(fact.subject) if fact.subject else ""
    if form == "json":
        fields = {"at": at, "level": fact.level, "source": fact.source, "text": clean(fact.text, TEXT), "subject": who}
        return json.dumps(fields) + "\n"
    return clean(f"{at} {fact.level:<4} {fact.source}: {fact.text}{f' · {who}' if who else ''}", TEXT) + "\n"


def _missing(fact: Fact, n: int) -> Fact:
    return fact._replace(level="bad", source="log", text=f"{n:,} events before this one are not here", subject=b"")
