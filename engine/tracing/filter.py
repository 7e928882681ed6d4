"""The filter language of the trace: all terms must match; ``!`` in front: must not match.

``worker=w7 cmd=REGISTER !from=client-1 size>100 "free text"``; ``and`` between terms may be written and is implied.
Values are compared without regard to case; ``*`` and ``?`` in them stand for any text and any character. A worker is
named as the trace has it (``worker-7``) or as the table has it (``w7``), a driver likewise (``parse.7``, ``7``); a
document is a task.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt

from engine.parts.explain import key_name, show
from engine.tracing.links import Entry

Test = Callable[[Entry], bool]

MAX_TERMS = 32

_TERM = re.compile(r'\s*(!?)(?:"([^"]*)"|([A-Za-z]+)\s*(>=|<=|=|>|<)\s*(?:"([^"]*)"|([^\s"]+))|([^\s"]+))(?=\s|$)')
_OURS = re.compile(r"(w)orker-(\d+)|[\w-]+\.(\d+)")
_COMPARE = {"=": eq, ">": gt, "<": lt, ">=": ge, "<=": le}


def _fits(pattern: str, *values: str) -> bool:
    return any(fnmatchcase(value.lower(), pattern.lower()) for value in values)


def _names(pattern: str, *seats: str) -> bool:
    """Whether a text names this seat, in full or in short."""
    short = ("".join(filter(None, ours.groups())) for seat in seats if (ours := _OURS.fullmatch(seat)))
    return _fits(pattern, *seats, *short)


def _task(entry: Entry, value: str) -> bool:
    task = entry.task
    return task is not None and _fits(value, key_name(task), task[1].hex(), show(task[1]))


def _peer(entry: Entry, value: str) -> bool:
    return _names(value, entry.source, entry.target)


_WORDS: dict[str, Callable[[Entry, str], bool]] = {
    "worker": _peer,
    "driver": _peer,
    "from": lambda entry, value: _names(value, entry.source),
    "to": lambda entry, value: _names(value, entry.target),
    "at": lambda entry, value: _names(value, entry.seat),
    "cmd": lambda entry, value: _fits(value, entry.command),
    "dir": lambda entry, value: _fits(value, entry.direction),
    "rule": lambda entry, value: _fits(f"*{value}*", entry.rule),
    "violation": lambda entry, value: bool(entry.violation) and _fits(f"*{value}*", entry.violation),
    "task": _task,
    "document": _task,
    "client": lambda entry, value: entry.task is not None and _fits(value, show(entry.task[0])),
}

KNOWN = (
    *(f"{word}=…" for word in _WORDS),
    "size>… size<… size=…",
    "violation",
    '"free text"',
    "!term",
)
"""The terms, as an error lists them."""


class BadFilter(ValueError):
    """A filter that can not be read: which term is wrong, and what there is."""


class Filter:
    """A filter that was read. ``needs_task``: it asks for tasks, which not every end of a link knows by itself."""

    def __init__(self, text: str, tests: tuple[Test, ...], needs_task: bool) -> None:
        self.text, self.needs_task, self._tests = text, needs_task, tests

    def __call__(self, entry: Entry) -> bool:
        return all(test(entry) for test in self._tests)


def parse(text: str) -> Filter:
    """Read a filter; an empty one lets everything through. Raises BadFilter."""
    tests: list[Test] = []
    at, needs_task, text = 0, False, text.strip()
    while at < len(text):
        found = _TERM.match(text, at)
        if found is None:
            raise _bad(text[at:].strip(), "a quote is not closed, or something follows it")
        at = found.end()
        no, quoted, word, sign, inner, value, bare = found.groups()
        if bare == "and" and not no:
            continue
        if len(tests) == MAX_TERMS:
            raise _bad(found.group().strip(), f"more than {MAX_TERMS} terms")
        if quoted is not None:
            test = _text(quoted)
        elif word is not None:
            test = _test(found.group().strip(), word.lower(), sign, value if inner is None else inner)
            needs_task = needs_task or word.lower() in ("task", "document", "client")
        elif bare == "violation":
            test = _violates
        else:
            raise _bad(bare, "no such term")
        tests.append(_not(test) if no else test)
    return Filter(text, tuple(tests), needs_task)


def _bad(term: str, why: str) -> BadFilter:
    return BadFilter(f"{term}: {why}; known are {', '.join(KNOWN)}")


def _not(test: Test) -> Test:
    return lambda entry: not test(entry)


def _text(text: str) -> Test:
    return lambda entry: text.lower() in entry.line.lower()


def _violates(entry: Entry) -> bool:
    return bool(entry.violation)


def _test(term: str, word: str, sign: str, value: str) -> Test:
    if word == "size":
        if not value.isdecimal() or len(value) > 12:
            raise _bad(term, "no number of bytes")
        compare, bound = _COMPARE[sign], int(value)
        return lambda entry: bool(compare(entry.size, bound))
    fits = _WORDS.get(word)
    if fits is None:
        raise _bad(term, f"no term {word!r}")
    if sign != "=":
        raise _bad(term, f"{word} has no order")
    return lambda entry: fits(entry, value)
