"""The argument parser: argparse, with messages in the project's own form.

A message names the argument and what was expected of it, and where help is; it does not print the usage, which pushes
that message out of sight.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from console.cli.streams import tell
from engine.drive.security.users import User, user_named
from engine.schema import Misfit, OneOf, fit, nearest, parse
from engine.settings import Flag

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Parser(argparse.ArgumentParser):
    """Refuses in our words. ``examples``, whole command lines, stand at the end of its help, before the ``epilog``."""

    def __init__(self, *, examples: Sequence[str] = (), epilog: str = "", **how: Any) -> None:
        shown = "".join(f"\n  {line}" for line in examples)
        super().__init__(
            epilog=f"for example:{shown}\n\n{epilog}" if examples else epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **how,
        )
        self.examples = tuple(examples)

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong and where help is; exits with status 2."""
        tell(message.removeprefix("argument "))
        tell(f"how it is called: {self.prog} --help")
        self.exit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            words = tuple(action.choices)
            raise argparse.ArgumentError(action, f"expected {OneOf(words)}, got {value!r}{nearest(value, words)}")


def option(name: str, **how: Any) -> Parser:
    """An argument of several commands, in argparse's way of sharing one."""
    parent = Parser(add_help=False)
    parent.add_argument(name, **how)
    return parent


def keeper(flags: list[Flag]) -> Callable[..., type[argparse.Action]]:
    """Actions that append a setting to ``flags``: in a namespace a command's would hide what stood before it.

    ``words``: what a value that was typed stands for.
    """

    def keep(*place: str, **words: str) -> type[argparse.Action]:
        class Keep(argparse.Action):
            def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
                text = "true" if self.nargs == 0 else values
                flags.append(Flag(place, option or str(self.metavar), words.get(text, text)))

        return Keep

    return keep


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


def add_env(parser: Parser) -> None:
    """``--env``, for commands that run an operator's commands."""
    words = "environment variables for the commands that run here, as PATH,HOME (all)"
    parser.add_argument("--env", metavar="NAMES", type=variables, default=argparse.SUPPRESS, help=words)


def target(text: str) -> Path:
    """Where something is to be written: no folder, in a folder that is there; ``-`` stands for stdout."""
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


def user(text: str) -> User:
    """Somebody of this machine, by name or uid."""
    try:
        return user_named(given(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
