"""The arguments of ``ping``, ``pingt``, ``data``, ``bulkping`` and ``bulkdata``, and of ``runs`` and ``compare``."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Annotated

from console.cli import operatearguments
from console.cli.parsing import Parser, as_json, option, otel
from console.readers import given, percent, target, value
from engine.schema import Endpoint, Range
from engine.settings.settings import Run

RATE = Annotated[float, Range(0.001, 10_000_000, "tasks a second")]

Command = Callable[..., Parser]
Keep = Callable[..., type[argparse.Action]]


def add_commands(command: Command, keep: Keep, every: Sequence[Parser]) -> None:
    """One message, or many. ``every``: arguments of all commands that connect to a broker."""
    usual = Run()
    place = "endpoint of the broker (starts one and workers, and stops them after the run)"
    connect = option("--connect", metavar="ENDPOINT", type=value(Endpoint), help=place)
    limit = f"seconds after which a task has failed ({usual.timeout:g})"
    timeout = option("--timeout", metavar="SECONDS", action=keep("run", "timeout"), help=limit)
    carried = f"bytes of data in each task ({usual.bytes})"
    size = option("--bytes", metavar="N", action=keep("run", "bytes"), help=carried)
    count = option("n", metavar="N", action=keep("run", "count"), help="number of tasks, 1 or more")
    out = "most tasks in flight at a time"
    window = option("--in-flight", metavar="N", action=keep("run", "in_flight"), help=f"{out} ({usual.in_flight})")
    pace = "send so many tasks a second, whatever comes back: an open loop (closed: a reply lets the next go)"
    rate = option("--rate", metavar="R", type=value(RATE), help=pace)
    before = "compare with this kept run afterwards; last: the newest run with the same options"
    baseline = option("--baseline", metavar="ID", type=given, help=before)
    one = (connect, timeout, as_json("the run"), otel(), *every)
    whole = option("--in-flight", metavar="N", action=keep("run", "data_in_flight"), help=f"{out} (all)")
    rest = (rate, timeout, baseline, operatearguments.asked(), _bound(), as_json("the run"), otel(), *every)
    command("ping", "send one ping that asks for no reply", *one)
    command("pingt", "send one ping, and time its reply", *one)
    command("data", "ask for one stream of data, and time it", *one, size)
    shown: Sequence[str] = (
        "roundhouse bulkping 10000",
        "roundhouse bulkping 10000 --rate 500 --json run.json",
        "roundhouse bulkping 10000 --baseline last --bound 10",
    )
    command("bulkping", "send N pings, a few at a time", count, connect, window, *rest, examples=shown)
    shown = ("roundhouse bulkdata 1000 --bytes 65536",)
    command("bulkdata", "ask for N streams of data, all at once", count, connect, whole, *rest, size, examples=shown)


def add_kept(command: Command) -> None:
    """What reads the runs that were kept."""
    shown: Sequence[str] = ("roundhouse runs", "roundhouse runs show last", "roundhouse runs --csv runs.csv")
    runs = command("runs", "list the kept runs, or show one", examples=shown)
    shows = "the run to show: its id, the beginning of one, last, or -2 for the one before; show may stand in front"
    runs.add_argument("id", metavar="ID", nargs="*", type=given, help=shows)
    export = runs.add_mutually_exclusive_group()
    export.add_argument("--csv", metavar="PATH", type=target, help="write a table to a file instead, - for stdout")
    export.add_argument("--json", metavar="PATH", type=target, help="write JSON to a file instead, - for stdout")
    compare = command("compare", "compare two kept runs", _bound())
    compare.add_argument("a", metavar="A", type=given, help="the run before: its id, the beginning of one, -2 …")
    compare.add_argument("b", metavar="B", type=given, help="the run after: the same, or last")


def _bound() -> Parser:
    worse = "exit status 1 if it is worse by more than this and by more than repeats differ (only shown)"
    return option("--bound", metavar="PERCENT", type=percent, help=worse)


def check(parser: Parser, options: Namespace) -> None:
    """What argparse can not express."""
    if options.command in ("bulkping", "bulkdata") and options.bound is not None and options.baseline is None:
        parser.error(f"{options.command}: --bound needs a --baseline")
