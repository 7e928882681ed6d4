"""The commands ``completion`` and ``man``: what shells and man read of the command line, made from its parser."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator

import shtab

from console.cli.arguments import make_parsers
from console.cli.parsing import Parser, keeper
from console.cli.streams import STDOUT, deliver
from engine import __version__
from engine.catalogue import CATALOGUE

FILES = {"FILE": shtab.FILE, "PATH": shtab.FILE, "DIR": shtab.DIRECTORY}
"""What a shell offers for an argument, by the argument's name in the help."""
RUNNING = {"bash": "_roundhouse_running", "zsh": "_roundhouse_running"}
"""A function of the shell that offers what runs on this machine."""
_LIST = "$(roundhouse attach --list 2>/dev/null | cut -d' ' -f1)"
LISTS = {
    "bash": f'_roundhouse_running() {{ compgen -W "{_LIST}" -- "$1"; }}',
    "zsh": f'_roundhouse_running() {{ compadd -- ${{(f)"{_LIST}"}} }}',
}


def completion(options: Namespace) -> int:
    """Print the script that completes words of ``roundhouse`` in a shell."""
    from console.cli.order import WORDS  # with all that gives an order, which no other command of these needs

    parser, commands = make_parsers(keeper([]))
    for action in _actions(commands["order"]):
        if action.metavar == "ORDER":
            action.choices = [word.name for word in WORDS]
    for action in (action for one in (parser, *commands.values()) for action in _actions(one)):
        if "--system" in action.option_strings:
            action.choices = list(CATALOGUE)
        elif action.metavar in FILES:
            action.complete = FILES[action.metavar]  # type: ignore[attr-defined]
        elif action.metavar == "ENDPOINT|NAME" and not action.option_strings:
            action.complete = RUNNING  # type: ignore[attr-defined]
    deliver(shtab.complete(parser, options.shell, preamble=LISTS.get(options.shell, "")), STDOUT)
    return 0


def man() -> int:
    """Print the manual page in roff."""
    parser, commands = make_parsers(keeper([]))
    lines = [
        f'.TH ROUNDHOUSE 1 "" "roundhouse {__version__}"',
        ".SH NAME",
        f"roundhouse \\- {_roff(str(parser.description)).rstrip('.')}",
        ".SH SYNOPSIS",
        ".B roundhouse",
        "[OPTION]... [COMMAND [ARGUMENT]...]",
        ".SH OPTIONS",
        *_arguments(parser),
        ".SH COMMANDS",
    ]
    for name, command in commands.items():
        lines += [f".SS {_roff(name)}", _roff(str(command.description)), *_arguments(command), *_examples(command)]
    lines += [".SH NOTES", ".nf", *map(_roff, _after_examples(parser).splitlines()), ".fi"]
    lines += [".SH EXAMPLES", *_examples(parser)]
    deliver("\n".join(lines) + "\n", STDOUT)
    return 0


def _arguments(parser: Parser) -> Iterator[str]:
    """A tagged paragraph an argument."""
    for action in _actions(parser):
        if isinstance(action, argparse._SubParsersAction):  # the only name that argparse gives it
            continue
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        words = ", ".join(f"\\fB{_roff(name)}\\fR" for name in action.option_strings)
        value = f" \\fI{_roff(metavar)}\\fR" if metavar and action.nargs != 0 else ""
        yield from (".TP", f"{words}{value}".strip(), _roff((action.help or "") % vars(action)))


def _actions(parser: Parser) -> list[argparse.Action]:
    return list(parser._actions)  # argparse tells them nowhere else, and shtab reads them there too


def _examples(parser: Parser) -> list[str]:
    return [".PP", ".nf", *(f"    {_roff(line)}" for line in parser.examples), ".fi"] if parser.examples else []


def _after_examples(parser: Parser) -> str:
    return str(parser.epilog).partition("\n\n")[2]


def _roff(text: str) -> str:
    """Text that roff takes for text."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
