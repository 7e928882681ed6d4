"""Task bodies that are a command with input and output: the files in which the guard finds the one and puts the other.

The files are in a folder of this user alone, which is removed with the process. An output has ``MOST`` bytes at most.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from engine.core import Piped
from engine.drive.supervisor import FAULT
from engine.drive.tempdir import LockedTempDir
from engine.parts.limits import MAX_FRAME

PREFIX = "roundhouse-services-"
MOST = MAX_FRAME  # bytes of one output
WORDS = 300  # characters of what a command says about its failure
FUNCTION = re.compile(r"(/[^\0]+\.py|[A-Za-z_][\w.]*):[A-Za-z_][\w.]*")

CALLED = Path(__file__).with_name("called.py")


class Pipes:
    """The files of one node's bodies, by number."""

    def __init__(self) -> None:
        self._folder: LockedTempDir | None = None
        self._numbers: set[int] = set()

    def order(self, number: int, body: Piped) -> dict[str, Any]:
        """What the supervisor gets. Raises OSError if the input can not be kept."""
        if self._folder is None:
            self._folder = LockedTempDir(PREFIX)
        paths = {name: self._path(number, name) for name in ("input", "output", "errors")}
        made = os.open(paths["input"], os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(made, "wb") as file:
            file.write(body.data)
        self._numbers.add(number)
        return {"words": words_of(body), "most": MOST, **paths}

    def result(self, number: int, ok: bool, status: str) -> bytes | None:
        """The output of a body that has ended, or in words why there is none; None where it is no such body."""
        if number not in self._numbers:
            return None
        self._numbers.discard(number)
        output = self._taken(number, "output")
        said = self._taken(number, "errors").decode("utf-8", "replace").strip().splitlines()
        self._taken(number, "input")
        return output if ok else ": ".join([status, *said[-1:]])[:WORDS].encode()

    def close(self) -> None:
        """Remove all files."""
        if self._folder is not None:
            self._folder.close()

    def _path(self, number: int, name: str) -> str:
        assert self._folder is not None
        return f"{self._folder.path}/{number}.{name}"

    def _taken(self, number: int, name: str) -> bytes:
        path = self._path(number, name)
        try:
            with open(path, "rb") as file:
                content = file.read(MOST) if name != "input" else b""
            os.unlink(path)
        except FileNotFoundError:  # it was never started
            return b""
        return content


def words_of(body: Piped) -> list[str]:
    """The words that are run: a Python function is called by a Python of its own, which looks in no folder of ours."""
    if len(body.command) == 1 and FUNCTION.fullmatch(body.command[0]):
        return [sys.executable, "-I", str(CALLED), body.command[0]]
    return list(body.command)


def unkept(error: OSError) -> str:
    """Why a body could not be begun."""
    return f"{FAULT}its input can not be kept: {error.strerror or error}"
