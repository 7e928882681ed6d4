"""What can be asked of disk queues on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from engine.protocols.diskqueue.pipeline import Stage, parse_stage

COMMANDS = ("pipeline", "drive", "feed")
ORDERS = ("run", "start", "stop", "kill", "show")


def add_commands(command: Callable[..., argparse.ArgumentParser], json: argparse.ArgumentParser) -> None:
    """``pipeline``, ``drive`` and ``feed``. ``command(name, words, *parents)`` makes one; ``json`` is the flag."""
    pipeline = command("pipeline", "run a pipeline of disk queues to its end, or start, stop, kill or show one", json)
    pipeline.add_argument("order", choices=ORDERS, help="run: until it is done; start: and leave it to itself")
    pipeline.add_argument("--root", metavar="DIR", required=True, help="the folder of its queues")
    what = pipeline.add_mutually_exclusive_group()
    repeat = "NAME[=WORKERS][:WORK], in their order; without WORK it copies (as last time)"
    what.add_argument("--stage", metavar="STAGE", type=stage, action="append", dest="stages", help=repeat)
    what.add_argument("--config", metavar="FILE", type=Path, help="TOML with a table [[stage]] for each")
    drive = command("drive", "one driver of disk queues, until its source is done")
    drive.usage = "roundhouse drive [--work WORK] PAR | roundhouse drive --src DIR --dst DIR --number N [--work WORK]"
    drive.add_argument("par", metavar="PAR", nargs="?", help="a parameter file of the original's kind")
    drive.add_argument("--src", metavar="DIR", help="the queue to take from")
    drive.add_argument("--dst", metavar="DIR", help="the queue to publish into; made where it is missing")
    drive.add_argument("--number", metavar="N", help="the driver's own: no other driver of these queues has it")
    work = "copy, upper, sleep SECONDS, module:function, or a command with {input} and {output} (copy)"
    drive.add_argument("--work", metavar="WORK", default="copy", help=work)
    feed = command("feed", "copy files into the first queue of a pipeline")
    feed.add_argument("--root", metavar="DIR", required=True, help="the folder of its queues; made where it is missing")
    feed.add_argument("--done", action="store_true", help="no more will come: what is there runs through, and it ends")
    feed.add_argument("files", metavar="FILE", nargs="*", help="a document; its name becomes its id")


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Arguments that only make sense together."""
    if options.root and options.command not in (None, "pipeline", "feed"):
        parser.error(f"{options.command}: --root is for disk queues")
    match options.command:
        case "pipeline" if options.order not in ("run", "start") and (options.stages or options.config):
            parser.error(f"pipeline {options.order}: its stages are those that were run last")
        case "pipeline" if options.order not in ("run", "show") and options.json:
            parser.error(f"pipeline {options.order}: --json is for run and show")
        case "drive":
            folders = (options.src, options.dst, options.number)
            if any(folders) if options.par else not all(folders):
                parser.error("drive: either a PAR file, or --src, --dst and --number")
        case "feed" if not options.files and not options.done:
            parser.error("feed: there is neither a FILE nor --done")


def stage(text: str) -> Stage:
    """``NAME[=WORKERS][:WORK]``."""
    name, _, work = text.partition(":")
    try:
        return parse_stage(name, work or "copy")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
