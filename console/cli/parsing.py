"""The argument parser: argparse, with messages in the project's own form.

A message names the argument and what was expected of it, and where help is; it does not print the usage, which pushes
that message out of sight.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from console.cli.streams import tell
from console.readers import control, target, variables
from engine.schema import OneOf, nearest
from engine.settings.settings import Flag


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
        self.wrong = 2

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong and where help is; exits with status 2, or what else is ``wrong``."""
        tell(message.removeprefix("argument "))
        tell(f"how it is called: {self.prog} --help")
        self.exit(self.wrong)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            words = tuple(action.choices)
            raise argparse.ArgumentError(action, f"expected {OneOf(words)}, got {value!r}{nearest(value, words)}")


def option(name: str, **how: Any) -> Parser:
    """An argument of several commands, in argparse's way of sharing one."""
    parent = Parser(add_help=False)
    parent.add_argument(name, **how)
    return parent


def as_json(what: str) -> Parser:
    """``--json``, for commands whose result a program may want."""
    return option("--json", metavar="PATH", type=target, help=f"write {what} as JSON to a file, - for stdout")


def keeper(flags: list[Flag]) -> Callable[..., type[argparse.Action]]:
    """Actions that append a setting to ``flags``: in a namespace a command's would hide what stood before it.

    ``words``: the value of each word that can be typed.
    """

    def keep(*place: str, **words: str) -> type[argparse.Action]:
        class Keep(argparse.Action):
            def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
                text = "true" if self.nargs == 0 else values
                flags.append(Flag(place, option or str(self.metavar), words.get(text, text)))

        return Keep

    return keep


def add_env(parser: Parser) -> None:
    """``--env``, for commands that run an operator's commands."""
    words = "environment variables for the commands that run here, as PATH,HOME (all)"
    parser.add_argument("--env", metavar="NAMES", type=variables, default=argparse.SUPPRESS, help=words)


def otel() -> Parser:
    """``--otel``, for commands that run tasks."""
    words = "send sampled tasks as traces to an OpenTelemetry collector at URL (pip install 'roundhouse[otel]')"
    return option("--otel", metavar="URL", help=words)


def add_standing(parser: Parser) -> None:
    """Arguments of what runs on as a service, with its control socket."""
    add_control(parser)
    words = "serve OpenMetrics for Prometheus at HOST:PORT of this machine (pip install 'roundhouse[metrics]')"
    parser.add_argument("--metrics", metavar="HOST:PORT", help=words)
    words = "write the process id to a file; SIGHUP then reads the rules of alerts again, and ends nothing"
    parser.add_argument("--pid-file", metavar="FILE", type=target, help=words)


def add_log(parser: Parser) -> None:
    """Where events are kept."""
    words = "keep all events in a file too, rotated at 10 MiB, four older ones kept"
    parser.add_argument("--log-file", metavar="FILE", type=target, help=words)
    words = "text or json: how events are written, to the file or to stderr where there is none (text)"
    parser.add_argument("--log-format", metavar="FORM", choices=("text", "json"), default="text", help=words)


def add_control(parser: Parser) -> None:
    """``--control``, for commands whose processes can be attached to."""
    words = (
        "where processes of this user attach and give orders: ipc://PATH, or none (see roundhouse paths); "
        "tcp://HOST:PORT: over tcp as well, for peers with keys; needs --curve"
    )
    parser.add_argument("--control", metavar="ENDPOINT", type=control, default=argparse.SUPPRESS, help=words)
