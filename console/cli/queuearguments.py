"""The arguments of disk queue commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from console.cli.consent import consenting
from console.cli.parsing import Parser, add_env, add_standing
from console.readers import given, source

if TYPE_CHECKING:
    from engine.protocols.diskqueue.pipeline import Stage

COMMANDS = ("pipeline", "drive", "feed", "relay")
ORDERS = ("run", "start", "stop", "kill", "show", "recover", "retry", "status")
NAMING = {"recover": "the NUMBER of a driver that is dead", "retry": "the ID of a document that failed twice, or --all"}
"""Orders that are followed by names, and what those are."""


def add_commands(command: Callable[..., Parser], json: Parser, journal: Parser) -> None:
    """``pipeline``, ``drive`` and ``feed``. ``command(name, words, *parents)`` makes one; the others are flags."""
    shown: Sequence[str] = (
        "roundhouse pipeline run --root q --stage parse=3:'parse {input} {output}' --stage output",
        "roundhouse pipeline show --root q",
    )
    words = "run a pipeline of disk queues to its end, or start, stop, kill or show one"
    pipeline = command("pipeline", words, json, journal, consenting(), examples=shown)
    orders = (
        "run until it is done; start a watchdog in the background; stop after the documents at hand; kill at once; "
        "show; status: show, and who watches; recover "
        "NUMBER: a driver without a lock of ours is dead; retry ID: a document that failed twice"
    )
    pipeline.add_argument("order", metavar="ORDER", choices=ORDERS, help=f"one of {', '.join(ORDERS)}: {orders}")
    pipeline.add_argument("names", metavar="NAME", nargs="*", type=given, default=[], help="what the order is about")
    pipeline.add_argument("--all", action="store_true", help="retry every document that failed twice")
    pipeline.add_argument("--root", metavar="DIR", type=given, required=True, help="the folder of the queues")
    add_trust(pipeline)
    add_mode(pipeline, "mode of new queues")
    add_env(pipeline)
    add_standing(pipeline)
    what = pipeline.add_mutually_exclusive_group()
    repeat = "NAME[=WORKERS][:WORK], one option a stage, in order (as last time); WORK as in roundhouse drive"
    what.add_argument("--stage", metavar="STAGE", type=stage, action="append", dest="stages", help=repeat)
    table = source("a TOML file with a table [[stage]] for each stage")
    what.add_argument(
        "--config", metavar="FILE", type=table, help="TOML with a table [[stage]] for each stage (as last time)"
    )
    shown = ("roundhouse drive --src q/queue-start --dst q/queue-output --number 1 --work upper",)
    drive = command("drive", "run one driver of disk queues until its source queue is done", journal, examples=shown)
    add_env(drive)
    drive.usage = "roundhouse drive [options] PAR | roundhouse drive [options] --src DIR --dst DIR --number N"
    par = source("a parameter file as the original program reads it")
    drive.add_argument(
        "par", metavar="PAR", nargs="?", type=par, help="a parameter file as the original program reads it"
    )
    drive.add_argument("--src", metavar="DIR", type=given, help="the queue to take from")
    drive.add_argument("--dst", metavar="DIR", type=given, help="the queue to publish into; created if missing")
    own = "number of the driver, unique among the drivers of these queues"
    drive.add_argument("--number", metavar="N", type=number, help=own)
    called = "module:function, /whole/path/file.py:function"
    work = f"copy, upper, sleep SECONDS, {called}, or a command with {{input}} and {{output}} (copy)"
    drive.add_argument("--work", metavar="WORK", type=given, default="copy", help=work)
    dead = "driver N, which holds documents but no lock of ours, is dead: they count as failed once; repeatable"
    drive.add_argument("--dead", metavar="N", type=number, action="append", default=[], help=dead)
    add_mode(drive, "mode of DST, if it is created")
    shown = ("roundhouse feed --root q --done *.txt",)
    feed = command("feed", "copy files into the first queue of a pipeline", examples=shown)
    root = "the folder of the queues; created if missing"
    feed.add_argument("--root", metavar="DIR", type=given, required=True, help=root)
    feed.add_argument(
        "--done", action="store_true", help="no more documents will come: the pipeline ends after those that are there"
    )
    add_mode(feed, "mode of the queue, if it is created")
    feed.add_argument("files", metavar="FILE", nargs="*", type=given, help="a document; its file name becomes its id")
    shown = ("roundhouse relay q/queue-output nats://host/docs", "roundhouse relay nats://host/docs q/queue-start")
    relay = command("relay", "pass documents of a queue on to another machine, through NATS JetStream", examples=shown)
    relay.add_argument("source", metavar="FROM", type=given, help="a queue, or nats://HOST:PORT/NAME")
    relay.add_argument("target", metavar="TO", type=given, help="the other one of the two")


def add_trust(parser: Parser) -> None:
    """``--trust-root``, of the console and of ``pipeline``."""
    words = "use a root that other users can change; they can then decide what runs and ends there"
    parser.add_argument("--trust-root", action="store_true", default=argparse.SUPPRESS, help=words)


def check(parser: Parser, options: argparse.Namespace) -> None:
    """Check combinations of arguments."""
    if options.root and options.command not in (None, "pipeline", "feed"):
        parser.error(f"{options.command}: --root is for disk queues")
    if trusted(options) and not (options.root and options.command in (None, "pipeline")):
        parser.error("--trust-root: needs a --root")
    match options.command:
        case "pipeline" if options.names and options.order not in NAMING:
            parser.error(f"pipeline {options.order}: takes no name, got {options.names[0]!r}")
        case "pipeline" if options.all and (options.order != "retry" or options.names):
            parser.error("--all: is for retry, without an ID")
        case "pipeline" if not options.names and options.order in NAMING and not options.all:
            parser.error(f"pipeline {options.order}: name {NAMING[options.order]}")
        case "pipeline" if options.order not in ("run", "start") and (options.stages or options.config):
            parser.error(f"pipeline {options.order}: it takes the stages of the last run")
        case "pipeline" if options.order not in ("run", "show") and options.json:
            parser.error(f"pipeline {options.order}: --json is for run and show")
        case "pipeline" if options.order not in ("run", "start") and options.mode is not None:
            parser.error(f"pipeline {options.order}: --mode is for run and start, which make queues")
        case "pipeline" if options.order not in ("run", "start") and hasattr(options, "control"):
            parser.error(f"pipeline {options.order}: --control is for run and start")
        case "pipeline" if isinstance(getattr(options, "control", None), str):
            parser.error("pipeline: its control socket has no keys, so --control takes ipc://PATH or none")
        case "pipeline" if options.order != "run" and options.journal:
            parser.error(f"pipeline {options.order}: --journal is for run, which stays until it is done")
        case "drive":
            folders = (options.src, options.dst, options.number)
            if any(folders) if options.par else not all(folders):
                parser.error("drive: either a PAR file, or --src, --dst and --number")
        case "feed" if not options.files and not options.done:
            parser.error("feed: name a FILE, or --done")


def trusted(options: argparse.Namespace) -> bool:
    """Whether ``--trust-root`` was given."""
    return getattr(options, "trust_root", False)


def add_mode(parser: Parser, whose: str) -> None:
    """``--mode``, for queues that several users share."""
    words = f"{whose} (0700); 2770 for a queue that a group shares"
    parser.add_argument("--mode", metavar="OCTAL", type=mode, help=words)


def mode(text: str) -> int:
    """A folder's mode in octal, with all rights for its owner."""
    if not (3 <= len(text) <= 4 and set(text) <= set("01234567")) or int(text, 8) & 0o700 != 0o700:
        raise argparse.ArgumentTypeError(f"expected an octal mode with all rights for the owner, as 2770, got {text!r}")
    return int(text, 8)


def number(text: str) -> str:
    """A driver's number, kept as text because it is part of file names."""
    from engine.protocols.diskqueue import names

    if not names.number(text):
        raise argparse.ArgumentTypeError(f"expected 1 to {names.MAX_NUMBER} digits, got {text!r}")
    return text


def stage(text: str) -> Stage:
    """``NAME[=WORKERS][:WORK]``."""
    from engine.protocols.diskqueue.pipeline import parse_stage

    name, _, work = text.partition(":")
    try:
        return parse_stage(name, work or "copy")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
