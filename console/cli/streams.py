"""Output of commands without a screen: results to stdout, everything else to stderr."""

from __future__ import annotations

import codecs
import errno
import json
import os
import shutil
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from console import units
from console.text import clean, clean_lines, label
from engine.files import safely

if TYPE_CHECKING:
    from engine.drive.logfile import Form
    from engine.feed import Feed
    from engine.parts.bulk import BulkView

AT_ONCE = 10  # events printed at a time: nobody can read more …
LINES = 20  # … and in so many seconds: an attack may go on for days, and a log is not to be filled
WINDOW = 10.0
BAR = 24  # cells of a progress bar
LONGEST = 8000  # characters of one message: a path may have 4,096
INKS = {"verdict   PASS": 32, "verdict   FAIL": 31, "verdict   STOPPED": 33, "failed    ": 31, "missed    ": 33}
"""How lines begin that have a colour on a terminal, and its SGR code."""
ASCII = {
    "µ": "u", "…": "...", "–": "-", "≠": "!=", "×": "x", "·": ".", "─": "-", "━": "=", "╺": "-", "╸": "-", "│": "|",
    "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+", "→": "->", "←": "<-",
    "▶": ">", "◀": "<", "✓": "+", "■": "#", "▁": ".", "▂": ":", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%",
    "█": "#",
}  # fmt: skip
"""What is printed for a character that the terminal's encoding lacks."""
STDOUT = Path("-")
"""The file that means stdout."""


class OutputLost(Exception):
    """Results could not be printed: stdout is closed (``pipe``) or its disk is full."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the result can not be printed: {error.strerror or error}")
        self.pipe = isinstance(error, BrokenPipeError)


def result(text: str, inked: bool = False) -> None:
    """Print for people, and flush, so that a reader sees it now and a broken pipe shows here. ``text`` ends its own
    lines; what is in them may have come from anywhere. ``inked``: on a terminal, lines that begin as in ``INKS`` have
    its colour, unless NO_COLOR is set. Raises ``OutputLost``.
    """
    text = clean_lines(text)
    _print("".join(map(_inked, text.splitlines(keepends=True))) if inked and coloured() else text)


def coloured() -> bool:
    """Whether stdout is a terminal that shows colours, and they are wanted (https://no-color.org)."""
    if _Form.color != "auto":
        return _Form.color == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def fallback(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: characters that an 8-bit terminal does not have, drawn with those that it has."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(ASCII.get(character, "?") for character in text), error.end


codecs.register_error("roundhouse", fallback)


def _inked(line: str) -> str:
    for begin, code in INKS.items():
        if line.startswith(begin):
            return f"\x1b[{code}m{line.rstrip()}\x1b[0m\n"
    return line


@contextmanager
def typing(prompt: str) -> Iterator[str]:
    """While a line is typed on the terminal after this prompt: what is printed meanwhile goes above it."""
    _Typed.prompt = prompt
    try:
        yield prompt
    finally:
        _Typed.prompt = ""


class _Typed:
    prompt = ""


def _above(text: str, stream: TextIO) -> str:
    """The text for a stream on which a line may be typed just now: that line is cleared, and drawn again below it."""
    if not (text and _Typed.prompt and stream.isatty()):
        return text
    try:
        import readline
    except ImportError:
        return f"\r\x1b[K{text}{_Typed.prompt}"
    return f"\r\x1b[K{text}{_Typed.prompt}{readline.get_line_buffer()}"


def _print(text: str) -> None:
    try:
        sys.stdout.write(_above(text, sys.stdout))
        sys.stdout.flush()
    except OSError as error:
        raise OutputLost(error) from None


def deliver(text: str, path: Path, flag: str = "--json") -> bool:
    """What a flag asks for, to a file or to stdout; False, and the reason is told, where it can not be written.

    ``text`` is for programs: what it quotes is escaped by its own rules (JSON is ASCII), so nothing is replaced in it.
    """
    if path == STDOUT:
        _print(text)
        return True
    try:
        if path.exists() and not path.is_file():
            _pour(path, text)
        else:
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o666  # as the operator's umask wants it
            safely.replace(os.path.realpath(path), text.encode(), mode=mode, sync=True)
    except OSError as error:
        tell(f"{flag} {path}: {error.strerror or error}{'; the file stays as it was' if path.is_file() else ''}")
        return False
    return True


def _pour(path: Path, text: str) -> None:
    """Write into what must stay what it is, a pipe or a device. Nobody is waited for who might read it some day."""
    try:
        into = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "nobody reads from it; start its reader first", str(path)) from None
        raise
    os.set_blocking(into, True)
    with open(into, "w", encoding="utf-8") as file:
        file.write(text)


def announce(text: str) -> None:
    """As ``result``, for what serves others and goes on without an output: a full disk or a closed pipe is told."""
    try:
        result(text)
    except OutputLost as lost:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the next flush fails again
        tell(str(lost))


def tell(text: str) -> None:
    """One message for whoever watches, on one line; what it quotes may have come from anywhere.

    A terminal that is gone or a disk that is full ends nothing: what could not be told is counted, and the number is
    told with the next message that can be.
    """
    before = units.several(_Missed.count, "message")
    missed = f" ({before} before this one could not be printed)" if _Missed.count else ""
    text = f"{clean(text, LONGEST)}{missed}"
    _tell_line(f"{json.dumps({'at': now(), 'text': text})}\n" if _Form.json else f"roundhouse: {text}\n")


def tell_as(form: Form) -> None:
    """How messages are told from now on: as text, or each as a line of JSON."""
    _Form.json = form == "json"


def show_as(color: str = "auto", quiet: bool = False) -> None:
    """When colours are printed: auto, always or never. ``quiet``: no progress, and of events errors alone."""
    _Form.color, _Form.quiet = color, quiet


class _Form:
    json = False
    color = "auto"
    quiet = False


def now() -> str:
    """The time as written in JSON."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _tell_line(line: str) -> None:
    _Missed.count = 0 if _to_stderr(line) else _Missed.count + 1


class _Missed:
    count = 0  # messages that could not be told


def _to_stderr(text: str) -> bool:
    try:
        sys.stderr.write(_above(text, sys.stderr))
        sys.stderr.flush()
    except (OSError, ValueError):  # ValueError: it is closed
        return False
    return True


def unanswered(system: str, endpoint: str) -> str:
    """What to say, and to do, where no broker answers in the protocol that is spoken."""
    start = f"roundhouse broker --system {system} starts one"
    return f"no broker of {system} answers at {endpoint}: {start}, --connect names another"


class Alarms:
    """Prints a feed's warnings and errors, each once; if there are many, only the newest.

    ``levels``: those of its facts that are printed.
    """

    def __init__(self, feed: Feed, levels: Collection[str] = ("warn", "bad")) -> None:
        self._feed = feed
        self.show(levels)
        self._seen = 0
        self._told: deque[str] = deque(maxlen=1000)
        self._lines, self._until = 0, 0.0  # told in the window at hand, and when that ends, wall clock
        self._untold = 0

    def show(self, levels: Collection[str]) -> None:
        """Print facts of these levels from now on."""
        self._levels = [level for level in levels if level == "bad" or not _Form.quiet]

    def end(self, unkept: Iterable[str]) -> bool:
        """Tell what is new, and what could not be written to the disk, as far as it was not told; False where that is
        anything.
        """
        self._lines = 0  # the last words are told in any case
        self.tell()
        self._count()
        missing = list(unkept)
        for words in missing:
            if words not in self._told:
                tell(words)
        return not missing

    def tell(self) -> None:
        """Tell what is new, and about whom."""
        facts, lost = self._feed.since(self._seen)
        if not facts:
            return
        self._seen = facts[-1].number
        alarms = [fact for fact in facts if fact.level in self._levels]
        now = facts[-1].at
        if not self._until - WINDOW <= now < self._until:
            self._lines, self._until = 0, now + WINDOW
        shown = alarms[-AT_ONCE:][: LINES - self._lines]
        self._lines += len(shown)
        self._untold += len(alarms) - len(shown) + lost
        if shown:
            self._count()
        for fact in shown:
            who = f" · {label(fact.subject)}" if fact.subject else ""
            if _Form.json:
                from engine.drive.logfile import line_of

                _tell_line(line_of(fact, "json"))
            else:
                tell(f"{fact.source}: {fact.text}{who}")
            self._told.append(fact.text)

    def _count(self) -> None:
        if self._untold:
            tell(f"too many events: {units.several(self._untold, 'event')} not told")
            self._untold = 0


class Progress:
    """One line on a terminal that is written over and over; nothing at all where stderr is none."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._shown = 0  # cells of the line
        self._wanted = sys.stderr.isatty() and not _Form.quiet

    def show(self, run: BulkView) -> None:
        """Where the run stands, with a bar."""
        if self._wanted:
            share = (run.ledger.succeeded + sum(n for _, n in run.ledger.failed)) / run.spec.n
            self._write(progress(self._name, run), share)

    def line(self, text: str) -> None:
        """These words, as far as the line goes."""
        if self._wanted:
            self._write(text)

    def clear(self) -> None:
        """Leave an empty line, cursor at its start."""
        if self._shown:
            self._write("")
            self._write("")

    def _write(self, text: str, share: float | None = None) -> None:
        room = shutil.get_terminal_size().columns - 1
        drawn, cells = "", 0
        if share is not None and room >= 2 * BAR:
            drawn, cells = f"{bar(share)} ", BAR + 1
        text = clean(text)[: room - cells]
        _to_stderr(f"\r{drawn}{text.ljust(self._shown - cells)}")
        self._shown = cells + len(text)


def bar(share: float) -> str:
    """A bar of ``BAR`` cells for the terminal on stderr, in its colours and characters; ``share`` from 0 to 1."""
    from rich.console import Console  # 30 ms, for runs on a terminal alone
    from rich.progress_bar import ProgressBar

    console = Console(stderr=True, width=BAR, no_color=_Form.color == "never" or None)
    with console.capture() as captured:
        console.print(ProgressBar(total=1.0, completed=share, width=BAR), end="")
    return captured.get()


def progress(name: str, run: BulkView) -> str:
    """How far, how fast, how long still."""
    failed = sum(n for _, n in run.ledger.failed)
    done = run.ledger.succeeded + failed
    parts = [f"{name} {done:,}/{run.spec.n:,}"]
    if run.elapsed > 0 and done:
        rate = done / run.elapsed
        parts += [f"{done * 100 // run.spec.n} %", f"{rate:,.0f} /s", f"{(run.spec.n - done) / rate:,.0f} s left"]
    if failed:
        parts.append(f"{failed:,} failed")
    return "  ".join(parts)
