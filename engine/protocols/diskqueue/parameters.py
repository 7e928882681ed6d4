"""The original's parameter files: one ``key: value`` a line, comments, INCLUDE, OVERRIDE, UNSET.

The rules of this file:

- Nothing is opened here: whoever calls gives a loader from path to text.
- A key that is set twice keeps its first value, with a warning, unless the second says OVERRIDE.
- ``%name%`` stands for the value that ``name`` has by then; a value that starts with ``./`` or ``../`` is a path
  relative to its file, and so is an included file's name.
- A line that cannot be read is an error with its file and number. Files, depth and size are bounded.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import NamedTuple

Loader = Callable[[str], str]
"""From an absolute path to the file's text; raises OSError or ValueError."""

MAX_FILES = 100
MAX_DEPTH = 20
MAX_SIZE = 1_000_000  # characters of one file

_VARIABLE = re.compile(r"%([^% ]+)%")


def writable(value: str) -> bool:
    """Whether a value reads back from a parameter file as it is: no line break among others, no ``%name%``."""
    return value.isprintable() and not _VARIABLE.search(value)


class ParameterError(ValueError):
    """A parameter file that cannot be read; the message names file and line."""


class Parameters(NamedTuple):
    """What a parameter file and all that it includes come to."""

    values: dict[str, str]
    warnings: tuple[str, ...]


def read_parameters(path: str, load: Loader) -> Parameters:
    """Read the file at an absolute path; raises ``ParameterError``."""
    reader = _Reader(load)
    reader.read(path, ())
    return Parameters(reader.values, tuple(reader.warnings))


class _Reader:
    def __init__(self, load: Loader) -> None:
        self.values: dict[str, str] = {}
        self.warnings: list[str] = []
        self._load = load
        self._files = 0

    def read(self, path: str, above: tuple[str, ...]) -> None:
        """One file; ``above`` are the files that include it."""
        self._files += 1
        if path in above:
            raise ParameterError(f"{path} includes itself")
        if len(above) >= MAX_DEPTH or self._files > MAX_FILES:
            raise ParameterError(f"{path}: more than {MAX_DEPTH} deep or {MAX_FILES} files")
        try:
            text = self._load(path)
        except OSError as error:
            raise ParameterError(f"{path}: {error.strerror or error}") from error
        except ValueError as error:
            raise ParameterError(f"{path}: not UTF-8 text") from error
        if len(text) > MAX_SIZE:
            raise ParameterError(f"{path}: longer than {MAX_SIZE} characters")
        for count, raw in enumerate(text.splitlines(), 1):
            line = raw.strip()
            if line and not line.startswith("#"):
                try:
                    self._line(self._expand(line), path, (*above, path))
                except _BadLine as error:
                    raise ParameterError(f"{path}, line {count}: {error}") from None

    def _line(self, line: str, path: str, above: tuple[str, ...]) -> None:
        keyword, _, rest = line.partition(" ")
        if keyword == "INCLUDE" or line.startswith("@"):
            self.read(_absolute(line[1:].strip() if line.startswith("@") else rest.strip(), path), above)
            return
        override = keyword == "OVERRIDE"
        if override:
            line = rest.strip()
            keyword, _, rest = line.partition(" ")
        if keyword == "UNSET":
            self.values.pop(rest.strip(), None)
            return
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not key or not value or re.search(r"\s", key):
            raise _BadLine(f"not a 'key: value' pair: {line[:80]!r}")
        if value.startswith(("./", "../")):
            value = _absolute(value, path)
        if key in self.values and not override:
            if self.values[key] != value:
                self.warnings.append(f"{path}: {key} keeps {self.values[key]!r}, ignored {value!r} without OVERRIDE")
            return
        self.values[key] = value

    def _expand(self, line: str) -> str:
        def value_of(match: re.Match[str]) -> str:
            if match[1] not in self.values:
                raise _BadLine(f"%{match[1]}% is not set by here")
            return self.values[match[1]]

        return _VARIABLE.sub(value_of, line)


class _BadLine(ValueError):
    """Becomes a ``ParameterError`` where file and line are known."""


def _absolute(path: str, beside: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(beside), path))
