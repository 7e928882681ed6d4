"""The ``:`` line: the seeds' own words and a few of the console's. Pure: text → a ``Command``, or what is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple

from console.text import clean

MOST = 100_000_000  # tasks in one run


class Word(NamedTuple):
    """A command that can be typed."""

    name: str
    usage: str  # of its argument: "N", "[RE]", "" for none
    help: str
    seed: bool = True  # whether the word is the seed's own


WORDS = (
    Word("register", "", "the worker joins the broker"),
    Word("workers", "", "list the broker's worker table"),
    Word("pingt", "", "one ping, with a reply"),
    Word("ping", "", "one ping, without a reply"),
    Word("data", "", "one data stream"),
    Word("bulk", "", "start workers: ten in all"),
    Word("bulkping", "N", "N pings, a few at a time"),
    Word("bulkdata", "N", "N data streams"),
    Word("endbulk", "", "the workers of bulk finish, leave and stop"),
    Word("deregister", "", "the worker leaves the broker"),
    Word("quit", "", "leave the console"),
    Word("system", "NAME", "to another system, which is opened if it does not run yet", seed=False),
    Word("protocol", "", "the system in its protocol's own terms", seed=False),
    Word("fault", "NAME …", "inject a fault on the stage: kill w3, cut w2 5, … ; f there lists all", seed=False),
    Word("stop", "", "send nothing more of the run", seed=False),
    Word("theme", "[NAME]", "change the colours", seed=False),
    Word("sort", "COLUMN", "sort the workers; the same one again reverses", seed=False),
    Word("filter", "[RE]", "show the workers that match; !RE those that do not", seed=False),
    Word("runs", "", "list the kept runs", seed=False),
    Word("compare", "A B [%]", "two kept runs beside each other, by their ids; % worse is a regression", seed=False),
    Word("help", "", "every key and every word", seed=False),
)
BY_NAME = {word.name: word for word in WORDS}

_OF_QUEUES = {
    "system": "", "theme": "", "help": "", "quit": "",
    "fault": "inject a fault on the stage: kill 3, full 5, crash parse.3, … ; f there lists all",
}  # fmt: skip
QUEUE_WORDS = tuple(word._replace(help=_OF_QUEUES[word.name] or word.help) for word in WORDS if word.name in _OF_QUEUES)
"""Those that mean something to disk queues."""


class Command(NamedTuple):
    """A word and what followed it: an int for N, else text."""

    name: str
    argument: int | str


class CommandError(ValueError):
    """The line means nothing; the text names what was typed and what was perhaps meant."""


def parse(line: str, words: Sequence[Word] = WORDS) -> Command:
    """One line, without the colon. Raises ``CommandError``."""
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    word = next((word for word in words if word.name == name.lower()), None)
    if word is None:
        raise CommandError(f"unknown command {clean(name)!r} · {_suggestion(name, words)}")
    if not word.usage:
        if rest:
            raise CommandError(f"{word.name} takes nothing after it, got {clean(rest)!r}")
        return Command(word.name, "")
    if word.usage == "N":
        return Command(word.name, _number(word, rest))
    if not rest and not word.usage.startswith("["):
        raise CommandError(f"{word.name} needs {word.usage}")
    return Command(word.name, rest)


def complete(line: str, words: Sequence[Word] = WORDS) -> str | None:
    """The one word that a beginning can become, or None."""
    fits = [word for word in words if line and word.name.startswith(line.lower())]
    if not fits:
        return None
    return fits[0].name + (" " if fits[0].usage else "")


def _number(word: Word, text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits[:12]) <= MOST):
        got = f"got {clean(text)!r}" if text else "got nothing"
        raise CommandError(f"{word.name} needs a number from 1 to {MOST:,}, {got}")
    return int(digits)


def _suggestion(name: str, words: Sequence[Word]) -> str:
    close = difflib.get_close_matches(name.lower(), [word.name for word in words], n=3, cutoff=0.5)
    return "did you mean " + " or ".join(close) + "?" if close else "help lists every word"
