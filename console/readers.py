"""Readers of single arguments: text to its value, or an ``argparse.ArgumentTypeError`` in words.

The command line uses them, and so do lines that are typed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.drive.control.place import NOWHERE
from engine.schema import Misfit, fit, parse

if TYPE_CHECKING:
    from engine.drive.security.users import User

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def value(wanted: Any) -> Callable[[str], Any]:
    """A reader of values that are no settings."""

    def read(text: str) -> Any:
        try:
            return fit(parse(text, wanted), wanted)
        except Misfit as misfit:
            raise argparse.ArgumentTypeError(str(misfit)) from None

    return read


def given(text: str) -> str:
    """Any text but the empty one, which is what a variable of a script leaves that was never set."""
    if not text.strip():
        raise argparse.ArgumentTypeError(f"expected a value, got {text!r}")
    return text


def variables(text: str) -> tuple[str, ...]:
    """Names of environment variables, with commas between them."""
    names = tuple(name.strip() for name in given(text).split(","))
    for name in names:
        if not VARIABLE.fullmatch(name):
            raise argparse.ArgumentTypeError(f"expected names of variables with commas between them, got {name!r}")
    return names


def target(text: str) -> Path:
    """A path to write to: no folder, in a folder that exists; ``-`` means stdout."""
    path = Path(given(text))
    try:
        if path.is_dir():
            raise argparse.ArgumentTypeError(f"{text!r} is a folder; name a file in it")
        if not path.parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}; make it first")
    except OSError as error:  # of a name that no file can have
        raise argparse.ArgumentTypeError(f"{text!r}: {error.strerror or error}") from None
    return path


def source(what: str) -> Callable[[str], Path]:
    """A reader of the name of a file that is there; ``what`` has to be named, for who named something else."""

    def read(text: str) -> Path:
        path = Path(given(text))
        try:
            if path.is_dir():
                raise argparse.ArgumentTypeError(f"{text!r} is a folder; name {what}")
            if not path.exists():
                raise argparse.ArgumentTypeError(f"there is no file {text!r}; name {what}")
        except OSError as error:
            raise argparse.ArgumentTypeError(f"{text!r}: {error.strerror or error}") from None
        return path

    return read


def control(text: str) -> Path | str:
    """Where a control socket is to be: a path after ``ipc://``; ``NOWHERE`` for ``none``; an endpoint over tcp."""
    if text == "none":
        return NOWHERE
    if text.startswith("tcp://"):
        return text
    path = text.removeprefix("ipc://")
    if path == text or not path or path.startswith("@"):
        raise argparse.ArgumentTypeError(f"expected ipc://PATH, tcp://HOST:PORT or none, got {text!r}")
    return Path(path).absolute()


def user(text: str) -> User:
    """Somebody of this machine, by name or uid."""
    from engine.drive.security.users import user_named

    try:
        return user_named(given(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def percent(text: str) -> float:
    """The bound of a comparison; what compares is imported for a command that has one."""
    from engine.runs.compare import BOUND

    bound: float = value(BOUND)(text)
    return bound
