"""Arguments about what is shown: those of the console itself, and those of every command."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable

from console.cli.parsing import Parser
from console.readers import value
from engine.schema import Endpoint

COLORS = ("auto", "always", "never")
Keep = Callable[..., type[argparse.Action]]


def add_screen(parser: Parser, keep: Keep) -> None:
    """Those of the console."""
    stops = "refuse all changes; with --root only look, and start nothing"
    parser.add_argument("--readonly", nargs=0, action=keep("readonly"), help=stops)
    where = "where the console's broker listens (the system's own endpoint)"
    parser.add_argument("--bind", metavar="ENDPOINT", type=value(Endpoint), dest="own", help=where)
    nobody = "open the console with a broker and no worker: register or bulk starts some"
    parser.add_argument("--empty", nargs=0, action=keep("pool", "workers", true="0"), help=nobody)


def add_output(parser: Parser) -> Parser:
    """Those of every command; they may stand before it too."""
    ink = "colours: on a terminal (auto), always or never; NO_COLOR=1 is never"
    parser.add_argument("--color", metavar="WHEN", choices=COLORS, default=argparse.SUPPRESS, help=ink)
    few = "print results and errors alone: no progress, no warnings"
    parser.add_argument("-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help=few)
    return parser


def check(parser: Parser, options: Namespace) -> None:
    """What argparse can not express."""
    if options.command is not None and options.own is not None:
        parser.error(f"{options.command}: --bind before it is the console's")
