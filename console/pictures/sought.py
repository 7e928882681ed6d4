"""Which events an operator wants to see: how bad, how recent, saying what.

The rules of this file:

- What is typed is a regular expression, ``!`` in front excludes. ``since TIME`` and ``until TIME`` may stand before it.
- A time is one of the day (``10:05``, ``10:05:30``), so long ago (``90s``, ``5m``, ``2h``), or in seconds since
  second 0 (``12.5``). Of the day it is the last one that has been; after ``since`` it is the next one after that.
- A time holds for what is shown as that time: ``until 10:05:07`` includes the whole second.
- Several conditions all have to hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from engine.core import Level

LEVELS: tuple[tuple[str, frozenset[Level]], ...] = (
    ("all", frozenset(("good", "info", "warn", "bad"))),
    ("warn or bad", frozenset(("warn", "bad"))),
    ("bad", frozenset(("bad",))),
)
"""Name, and which levels it lets through; a key goes through them."""

SPANS: tuple[tuple[str, float], ...] = (
    ("", float("inf")),
    ("last minute", 60.0),
    ("last 10 minutes", 600.0),
    ("last hour", 3600.0),
)
"""Name, and how many seconds back from now; a key goes through them."""

HELP = "10:05, 10:05:30, 5m ago as 5m, or seconds as 12.5"
_BOUND = re.compile(r"\s*(since|until)(?:\s+(\S+))?(?=\s|$)")
_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_AGO = re.compile(r"(\d+(?:\.\d+)?)([smh])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_SHOWN = 0.05  # half of the last digit of seconds as they are shown


class Said(NamedTuple):
    """One line of events. ``at``: seconds since the epoch."""

    level: Level
    at: float
    text: str


class Sought(NamedTuple):
    """What is wanted; at first all of it. ``since`` and ``until`` are seconds since the epoch."""

    typed: str = ""
    pattern: re.Pattern[str] | None = None
    inverse: bool = False
    since: float = float("-inf")
    until: float = float("inf")
    level: int = 0  # place in LEVELS
    span: int = 0  # place in SPANS

    @property
    def any(self) -> bool:
        """Whether something may be hidden."""
        return self != Sought()

    def near(self, line: Said, now: float) -> bool:
        """Whether a line is wanted, whatever its level. ``now``: seconds since the epoch, by the clock of the lines."""
        if not max(self.since, now - SPANS[self.span][1]) <= line.at <= self.until:
            return False
        return self.pattern is None or bool(self.pattern.search(line.text)) is not self.inverse

    def fits(self, line: Said, now: float) -> bool:
        """Whether a line is wanted."""
        return line.level in LEVELS[self.level][1] and self.near(line, now)

    def counts(self, lines: Sequence[Said], now: float) -> list[int]:
        """How many lines each of ``LEVELS`` would show, all other conditions as they are."""
        near = [line.level for line in lines if self.near(line, now)]
        return [sum(level in wanted for level in near) for _, wanted in LEVELS]


def typed(before: Sought, text: str, now: float, zero: float) -> Sought:
    """What is wanted once this was typed; ``zero``: second 0, ``now``: both seconds since the epoch.

    Raises ValueError in words, and re.error of the expression.
    """
    since, until, rest = float("-inf"), float("inf"), text
    while (bound := _BOUND.match(rest)) is not None:
        word, time = bound.groups()
        if word == "since":
            since = _time(word, time, now, zero, None)
        else:
            until = _time(word, time, now, zero, since)
        rest = rest[bound.end() :]
    rest = rest.lstrip() if rest != text else text
    expression = rest.removeprefix("!")
    pattern = re.compile(expression, re.IGNORECASE) if expression else None
    bounded = (since, until) != (float("-inf"), float("inf"))
    return before._replace(
        typed=text if expression or bounded else "",
        pattern=pattern,
        inverse=pattern is not None and rest.startswith("!"),
        since=since,
        until=until,
    )


def _time(word: str, text: str | None, now: float, zero: float, since: float | None) -> float:
    """Seconds since the epoch. ``since``: the earlier bound, -inf where there is none; None: this is the earlier."""
    later = since is not None
    if text and (day := _DAY.fullmatch(text)):
        hour, minute, second = (int(part or 0) for part in day.groups())
        at = _of_the_day(now, since, hour, minute, second)
        return at + 1 - 1e-6 if later else at
    if text and (ago := _AGO.fullmatch(text)):
        return now - float(ago[1]) * _UNITS[ago[2]]
    try:
        return zero + float(text or "") + (_SHOWN if later else -_SHOWN)
    except ValueError:
        raise ValueError(f"{word} when: {HELP}") from None


def _of_the_day(now: float, since: float | None, hour: int, minute: int, second: int) -> float:
    first = since is None or since == float("-inf")
    day = datetime.fromtimestamp(now if first or since is None else since)
    found = day.replace(hour=hour, minute=minute, second=second, microsecond=0)
    if first and found > day:
        found -= timedelta(days=1)
    elif not first and found < day.replace(microsecond=0):
        found += timedelta(days=1)
    return found.timestamp()
