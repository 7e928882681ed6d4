"""What a command without a screen prints: results to stdout, everything else to stderr."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from console.text import clean, label
from engine.drive.files import write_whole
from engine.feed import Feed
from engine.parts.bulk import BulkView

AT_ONCE = 10  # facts told at a look: whatever happens, nobody can read more, and a log is not to be filled
STDOUT = Path("-")
"""The file that means stdout."""


class OutputLost(Exception):
    """Results could not be printed: stdout is closed (``pipe``) or its disk is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the result can not be printed: {error.strerror or error}")
        self.pipe = isinstance(error, BrokenPipeError)


def result(text: str) -> None:
    """Print and flush, so that a reader sees it now and a broken pipe shows here. ``text`` ends its own lines.

    Raises ``OutputLost``.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise OutputLost(error) from None


def deliver(text: str, path: Path, flag: str = "--json") -> bool:
    """What a flag asks for, to a file or to stdout; False, and the reason is told, where it can not be written."""
    if path == STDOUT:
        result(text)
        return True
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # a pipe or a device must stay what it is
        else:
            write_whole(path, text.encode())
    except OSError as error:
        tell(f"{flag} {path}: {error.strerror or error}")
        return False
    return True


def tell(text: str) -> None:
    """One message for whoever watches."""
    sys.stderr.write(f"roundhouse: {text}\n")
    sys.stderr.flush()


def unanswered(system: str, endpoint: str) -> str:
    """What to say, and to do, where no broker answers in the protocol that is spoken."""
    start = f"roundhouse broker --system {system} starts one"
    return f"no broker of {system} answers at {endpoint}: {start}, --connect names another"


class Alarms:
    """What a feed has to say that nobody should miss, each fact once, the newest few where there are many."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._seen = 0

    def tell(self) -> None:
        """Tell what is new, and about whom."""
        facts, lost = self._feed.since(self._seen)
        if not facts:
            return
        self._seen = facts[-1].number
        alarms = [fact for fact in facts if fact.level in ("warn", "bad")]
        if untold := max(0, len(alarms) - AT_ONCE) + lost:
            tell(f"{untold:,} facts are not told, there are too many")
        for fact in alarms[-AT_ONCE:]:
            who = f" · {label(fact.subject)}" if fact.subject else ""
            tell(clean(f"{fact.source}: {fact.text}{who}"))


class Progress:
    """One line on a terminal that is written over and over; nothing at all where stderr is none."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = 0  # characters on the line
        self._wanted = sys.stderr.isatty()

    def show(self, run: BulkView) -> None:
        """Where the run stands."""
        self.line(progress(self._name, run))

    def line(self, text: str) -> None:
        """These words, as far as the line goes."""
        if self._wanted:
            self._write(text[: shutil.get_terminal_size().columns - 1])

    def clear(self) -> None:
        """Leave an empty line, cursor at its start."""
        if self._shown:
            self._write("")
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r{text.ljust(self._shown)}")
        sys.stderr.flush()
        self._shown = len(text)


def progress(name: str, run: BulkView) -> str:
    """How far, how fast, how long still."""
    failed = sum(n for _, n in run.ledger.failed)
    done = run.ledger.succeeded + failed
    parts = [f"{name} {done:,}/{run.spec.n:,}"]
    if run.elapsed > 0 and done:
        rate = done / run.elapsed
        parts += [f"{rate:,.0f} /s", f"eta {(run.spec.n - done) / rate:,.0f} s"]
    if failed:
        parts.append(f"{failed:,} failed")
    return "  ".join(parts)
