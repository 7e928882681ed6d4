"""The arguments of the commands that look at what runs: ``attach``, ``status``, ``check``, ``order``, ``doctor``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from console.cli.keyarguments import shared
from console.cli.parsing import Parser, option
from console.readers import given, source, target

UNKNOWN = 3  # the exit status of a plugin that was called wrongly: 2 means that the broker is in trouble
ASKERS = ("status", "check", "order")
"""Commands that ask a process over its control socket."""

JSON = "write it as JSON to a file, or with no PATH to stdout"
TARGET = "endpoint of its broker, or its name as roundhouse attach lists it (the only one that runs here)"


def add_commands(command: Callable[..., Parser], keep: Callable[..., Any]) -> None:
    """``command`` makes a parser of a command, ``keep`` an action that keeps a setting."""
    shown: Sequence[str] = ("roundhouse attach", "roundhouse attach tcp://127.0.0.1:6714", "roundhouse attach --list")
    attach = command(
        "attach", "open the console on a broker, workers or a pipeline of another process", shared(keep), examples=shown
    )
    which = (
        "its name in the list, its endpoint, or its control socket: ipc://PATH, tcp:// with keys (the only one here)"
    )
    attach.add_argument("name", metavar="NAME", nargs="?", type=given, help=which)
    attach.add_argument("--list", action="store_true", help="list what runs on this machine, and end")
    attach.add_argument("--readonly", nargs=0, action=keep("readonly"), help="refuse all changes; only look")
    command("doctor", "look at limits, ports, clock, permissions and versions, and say what to do")
    shown = ("roundhouse status", "roundhouse status tcp://127.0.0.1:6714 --json - --watch")
    parser = command("status", "print a picture of what runs: workers, tasks, alerts", shared(keep), examples=shown)
    _target(parser)
    parser.add_argument("--json", metavar="PATH", type=target, nargs="?", const=target("-"), help=JSON)
    words = "write one of its lists as CSV to stdout: workers, clients, queues or alerts"
    parser.add_argument("--csv", metavar="LIST", choices=("workers", "clients", "queues", "alerts"), help=words)
    parser.add_argument("--watch", action="store_true", help="again and again, every two seconds")
    shown = ("roundhouse check tcp://127.0.0.1:6714", "roundhouse check --rules strict.toml")
    words = "judge what runs, as a plugin of Nagios: exit status 0, 1, 2 or 3"
    parser = command("check", words, shared(keep), examples=shown)
    parser.wrong = UNKNOWN
    _target(parser)
    ruled = "rules of alerts in TOML, on top of the built-in ones (alerts.toml beside the configuration)"
    parser.add_argument("--rules", metavar="FILE", type=source("rules in TOML"), help=ruled)

    shown = ("roundhouse order tcp://127.0.0.1:6714 drain w3", "roundhouse order broker slow 0.5 --yes")
    words = "give an order to what runs, in the words of the console's : line"
    parser = command("order", words, shared(keep), examples=shown)
    parser.add_argument("target", metavar="ENDPOINT|NAME", type=given, help=TARGET.partition(" (")[0])
    ordered = "drain WORKER, undrain WORKER, expire WORKER, requeue WORKER, pause, throttle RATE, undo, move, log, …"
    parser.add_argument("words", metavar="ORDER", nargs="+", type=given, help=ordered)
    parser.add_argument("--yes", action="store_true", help="give it without a question")


def _target(parser: Any) -> None:
    parser.add_argument("target", metavar="ENDPOINT|NAME", nargs="?", type=given, help=TARGET)


def asked() -> Parser:
    """``--control`` of a bulk run: where the broker elsewhere is asked for its clock and its part of the legs."""
    words = "control socket of the broker, as attach takes it: tells the legs, with the offset of its clock"
    return option("--control", metavar="ENDPOINT|NAME", dest="broker_control", type=given, help=words)


def check(parser: Parser, options: Namespace) -> None:
    """What argparse can not express."""
    if getattr(options, "broker_control", None) is not None and options.connect is None:
        parser.error(f"{options.command}: --control is for a broker elsewhere, which --connect names")
