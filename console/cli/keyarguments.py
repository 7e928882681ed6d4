"""The arguments of the command ``keys``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from console.cli.parsing import Parser
from console.readers import given

ROLES = ("client", "worker", "viewer", "operator", "broker")


def add_command(command: Callable[..., Parser]) -> None:
    """Add it."""
    shown: Sequence[str] = (
        "roundhouse keys new depot --role broker",
        "roundhouse keys new w1 --role worker",
        "roundhouse keys authorize w1.pub",
        "roundhouse keys revoke w1",
        "roundhouse keys list",
    )
    keys = command("keys", "make keys for peers, and choose which keys may connect", examples=shown)
    orders = keys.add_subparsers(dest="order", metavar="ORDER", title="orders", required=True, parser_class=Parser)

    def order(name: str, words: str) -> Parser:
        made: Parser = orders.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.")
        return made

    new = order("new", "make a pair of keys, and a file with its public half for the broker's machine")
    new.add_argument("name", metavar="NAME", type=given, help="what it is called, here and where it is authorized")
    _add_role(new, "client")
    order("list", "list the pairs that are here, and the keys that may connect to brokers of this user")
    authorize = order("authorize", "let a key connect to brokers of this user")
    which = "a file NAME.pub that keys new made, the name of a pair that is here, or 64 hexadecimal digits"
    authorize.add_argument("key", metavar="FILE|PUBLICKEY", type=given, help=which)
    authorize.add_argument("--name", metavar="NAME", type=given, help="what it is called here (as in its file)")
    _add_role(authorize, None)
    revoke = order("revoke", "let a key connect no more, and cut off the peers that use it")
    revoke.add_argument("name", metavar="NAME", type=given, help="the name under which it is authorized")


def _add_role(parser: argparse.ArgumentParser, usual: str | None) -> None:
    words = f"what it may do: {', '.join(ROLES)} ({usual or 'as in its file'})"
    parser.add_argument("--role", metavar="ROLE", choices=ROLES, default=usual, help=words)


def shared(keep: Callable[..., Any]) -> Parser:
    """Arguments of several commands: our own key, and that of the broker."""
    parent = Parser(add_help=False)
    own = "use CURVE: peers must show keys, and this process shows its key NAME (roundhouse keys new NAME)"
    parent.add_argument("--curve", metavar="NAME", action=keep("security", "curve"), help=own)
    server = "the key of the broker to connect to: its file, its name here or its 64 digits"
    parent.add_argument("--server-key", metavar="KEY", action=keep("security", "server_key"), help=server)
    return parent
