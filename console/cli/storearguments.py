"""The arguments about what brokers keep: ``--durable``, ``--backlog``, and the command ``result``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

from console.cli.parsing import Parser
from console.readers import target
from engine.catalogue import SYSTEMS
from engine.parts.store import GLOBAL
from engine.settings import Flag

STORED = next(system for system in SYSTEMS.values() if hasattr(system.options, "backlog"))


def add_stores(parser: Parser, keep: Callable[..., Any]) -> Parser:
    """The arguments that have a broker keep what it accepted, and clients name their tasks so that they are known."""
    place = (STORED.name, "backlog")
    durable = "keep what is accepted on disk, in the usual file; of a client: send tasks that a broker knows again"
    parser.add_argument("--durable", nargs=0, action=keep(*place, true="sqlite:"), help=durable)
    backlog = f"the same in a file of your own, for {STORED.name}: sqlite:PATH"
    parser.add_argument("--backlog", metavar="STORE", action=keep(*place), help=backlog)
    return parser


def asked(flags: Sequence[Flag]) -> bool:
    """Whether a store was asked for."""
    return any(flag.place == (STORED.name, "backlog") for flag in flags)


def add_command(command: Callable[..., Parser], keep: Callable[..., Any]) -> None:
    """``result``."""
    shown = ("roundhouse result", "roundhouse result 4bc9620bd250a3497665590000000007 --json -")
    words = "print how a task ended that a broker kept, or list the newest"
    parser = command("result", words, examples=shown)
    where = "where the broker keeps its tasks: sqlite:PATH (the usual file)"
    parser.add_argument("--backlog", metavar="STORE", action=keep(STORED.name, "backlog"), help=where)
    which = f"its id, {2 * GLOBAL} hexadecimal digits, or the beginning of one (list the newest)"
    parser.add_argument("id", metavar="ID", nargs="?", type=ident, help=which)
    form = "write them as JSON, with what was answered, to a file, - for stdout"
    parser.add_argument("--json", metavar="PATH", type=target, help=form)


def ident(text: str) -> bytes:
    """The beginning of an id."""
    if not re.fullmatch(rf"([0-9a-fA-F]{{2}}){{1,{GLOBAL}}}", text):
        raise argparse.ArgumentTypeError(f"expected up to {2 * GLOBAL} hexadecimal digits, two a byte, got {text!r}")
    return bytes.fromhex(text)
