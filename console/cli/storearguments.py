"""The arguments about what brokers keep: ``--durable``, ``--backlog``, the commands ``result`` and ``tasks``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from console.cli.parsing import Parser
from console.readers import target, value
from engine.catalogue import STORED
from engine.parts.store import GLOBAL, SQLITE
from engine.schema import Range
from engine.settings.settings import Flag
from engine.settings.tomlfile import Problem, Wrong

ORDERS = ("dead", "show", "revive")
STORE = ("store",)  # the place of a flag that names the store of whatever system is chosen
NUMBER = Annotated[int, Range(1, 2**40 - 1)]


def add_stores(parser: Parser, keep: Callable[..., Any]) -> Parser:
    """The arguments that have a broker keep what it accepted, and clients name their tasks so that they are known."""
    durable = (
        "keep accepted tasks on disk, in the usual file; a console does so for each system that it opens, a client "
        "sends ids by which a broker knows its tasks again"
    )
    parser.add_argument("--durable", nargs=0, action=keep(*STORE, true=SQLITE), help=durable)
    backlog = (
        "the same, for one system, in a store that you name: sqlite:PATH, or for round robin nats://HOST:PORT/NAME, "
        "which several brokers can share"
    )
    parser.add_argument("--backlog", metavar="STORE", action=keep(*STORE), help=backlog)
    return parser


def stored(flags: Sequence[Flag], system: str) -> list[Flag]:
    """The flags, with the store as a setting of the system that was chosen. Raises Wrong where that has none."""
    option, name = STORED.get(system), next(flag.name for flag in flags if flag.place == STORE)
    if option is None:
        raise Wrong([Problem(name, f"{system} keeps its tasks in memory")])
    return [flag._replace(place=(system, option)) if flag.place == STORE else flag for flag in flags]


def asked(flags: Sequence[Flag]) -> bool:
    """Whether a store was asked for."""
    return any(flag.place == STORE for flag in flags)


def add_command(command: Callable[..., Parser], keep: Callable[..., Any], system: Parser) -> None:
    """``result`` and ``tasks``."""
    shown = ("roundhouse result", "roundhouse result 4bc9620bd250a3497665590000000007 --json -")
    words = "print the outcome of a task that a broker kept, or list the newest ones"
    parser = command("result", words, system, examples=shown)
    where = "where the broker keeps its tasks: sqlite:PATH, nats://HOST:PORT/NAME (the usual file)"
    parser.add_argument("--backlog", metavar="STORE", action=keep(*STORE), help=where)
    which = f"its id, {2 * GLOBAL} hexadecimal digits, or the beginning of one (list the newest)"
    parser.add_argument("id", metavar="ID", nargs="?", type=ident, help=which)
    form = "write them as JSON, with what was answered, to a file, - for stdout"
    parser.add_argument("--json", metavar="PATH", type=target, help=form)
    words = "list the tasks that a broker with a store gave up, or try them again"
    parser = command("tasks", words, system, examples=("roundhouse tasks dead", "roundhouse tasks revive 17 18"))
    parser.add_argument("order", metavar="ORDER", choices=ORDERS, help="dead (lists them), show or revive")
    parser.add_argument("numbers", metavar="N", nargs="*", type=value(NUMBER), help="their numbers, from the list")
    parser.add_argument("--all", action="store_true", help="all of them")
    parser.add_argument("--backlog", metavar="STORE", action=keep(*STORE), help=where)
    parser.add_argument("--json", metavar="PATH", type=target, help="write the list as JSON to a file, - for stdout")


def check(parser: Parser, options: argparse.Namespace) -> None:
    """Of ``tasks``: numbers or all of them, for what takes them."""
    if options.command != "tasks":
        return
    if options.order == "dead" and (options.numbers or options.all):
        parser.error("tasks dead: it lists all of them")
    if options.order != "dead" and bool(options.numbers) == options.all:
        parser.error(f"tasks {options.order}: either numbers of the list, or --all")
    if options.order != "dead" and options.json:
        parser.error("tasks: --json is for the list")


def ident(text: str) -> bytes:
    """The beginning of an id."""
    if not re.fullmatch(rf"([0-9a-fA-F]{{2}}){{1,{GLOBAL}}}", text):
        raise argparse.ArgumentTypeError(f"expected up to {2 * GLOBAL} hexadecimal digits, two a byte, got {text!r}")
    return bytes.fromhex(text)
