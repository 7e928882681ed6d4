"""A TOML file that an operator wrote: its content, on which line each key is, and what is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engine.files import personal
from engine.parts.plain import clean

MAX_FILE = 256 * 1024  # bytes of a file that an operator writes
LONGEST = 100  # lines of one statement in it whose place can be told
PARSED = 1024 * 1024  # characters that are parsed to tell places
DEEPEST = 64  # parts of one key: what tomllib needs for a key grows with the square of their number

LONG_KEY = re.compile(rf"""(?:(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}""")

Place = tuple[str, ...]
"""Where a setting stands in the file: ``("theme",)`` or ``("pool", "workers")``."""


class Problem(NamedTuple):
    """One thing that is wrong: ``where`` is ``file:line``, a variable or a flag."""

    where: str
    text: str

    def __str__(self) -> str:
        """On one line, safe to show on a terminal: names and values come from a file."""
        text = f"{self.where}: {self.text}"
        return clean(text, len(text) + 1)


class Wrong(ValueError):
    """The settings can not be used; ``problems`` holds everything that is wrong, at least one."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def read_text(path: Path, *, optional: bool = False) -> str:
    """A file that an operator wrote; empty where it is ``optional`` and there is none. Raises ``Wrong``."""
    try:
        raw = personal.read(path, MAX_FILE)
    except (OSError, ValueError) as error:  # ValueError: of a name with a NUL, that no file can have
        if optional and isinstance(error, FileNotFoundError):
            return ""
        reason = error.strerror if isinstance(error, OSError) else None
        raise Wrong([Problem(str(path), f"can not be read: {reason or error}")]) from None
    if len(raw) > MAX_FILE:
        raise Wrong([Problem(str(path), f"larger than {MAX_FILE} bytes")])
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Wrong([Problem(f"{path}:{raw[: error.start].count(10) + 1}", "not UTF-8 text")]) from None


def parse_toml(text: str, path: Path) -> tuple[dict[str, Any], dict[Place, int]]:
    """What such a file holds, and its ``key_lines``. Raises ``Wrong``, in which it is called ``path``."""
    if long := LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise Wrong([Problem(f"{path}:{line}", f"a key has more than {DEEPEST} parts")])
    try:
        return tomllib.loads(text), key_lines(text)
    except RecursionError:
        raise Wrong([Problem(f"{path}:{deepest_line(text)}", "nested too deeply")]) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise Wrong([Problem(f"{path}:{line}", str(error))]) from None
    except ValueError:
        raise Wrong([Problem(f"{path}:{longest_number(text)}", "a number of thousands of digits")]) from None


def deepest_line(text: str) -> int:
    """The line, from 1, at which brackets are nested most deeply: where that is too deep, for whoever mends it."""
    depth, most, line, found = 0, 0, 1, 1
    for character in text:
        line += character == "\n"
        depth += (character in "[{") - (character in "]}")
        if depth > most:
            most, found = depth, line
    return found


def longest_number(text: str) -> int:
    """The line, from 1, of the longest run of digits."""
    runs = re.finditer(r"[0-9_]+", text)
    longest = max(runs, key=lambda run: run.end() - run.start(), default=None)
    return text.count("\n", 0, longest.start()) + 1 if longest else 1


def key_lines(text: str) -> dict[Place, int]:
    """The line, from 1, on which each table and each key in it begins, of a valid TOML text.

    ``tomllib`` does not tell. But a statement is valid TOML by itself and no true part of it is, so the text is cut
    into statements by parsing ever more lines until they are one. One that begins with a bracket opens a table.
    After a statement of more than ``LONGEST`` lines, or ``PARSED`` characters, nothing is told any more: that would
    take too long.
    """
    lines: dict[Place, int] = {}
    table: Place = ()
    begun, pending, parsed = 1, "", 0
    for number, line in enumerate(text.split("\n"), 1):
        pending += line + "\n"
        parsed += len(pending)
        if parsed > PARSED:
            break
        try:
            statement = tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            if number - begun >= LONGEST:
                break
            continue
        header = pending.lstrip().startswith("[")
        for place in _places(statement):
            lines.setdefault(place if header else (table + place)[:2], begun)
            table = place if header else table
        begun, pending = number + 1, ""
    return lines


def _places(content: Mapping[str, Any]) -> Iterator[Place]:
    """Every key of a table and of the tables in it, outer ones first."""
    for key, value in content.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, inner) for inner in value)
