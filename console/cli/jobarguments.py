"""The arguments of commands for systems whose tasks are processes: ``submit``, ``jobs``, ``stop``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Annotated

from console.cli.consent import consenting
from console.cli.parsing import Parser
from console.jobs.arguments import add_job
from console.readers import target, value
from engine import catalogue
from engine.schema import Range

TAKERS = " or ".join(catalogue.TAKERS)
STOPPED = Annotated[int, Range(1, 2**32 - 2)]  # processors of all workers; the next number means something else
JOB = Annotated[int, Range(1, 2**63 - 1)]

Command = Callable[..., Parser]


def add_commands(command: Command, connect: Parser) -> None:
    """Add them. ``connect``: the argument that names the broker."""
    shown: Sequence[str] = (
        "roundhouse submit --tasks 50 --logs logs --wait -- ./convert.sh",
        "roundhouse submit job.toml",
    )
    words = f"submit a job, one command run as many tasks, to a {TAKERS}"
    submit = command("submit", words, connect, examples=shown)
    submit.usage = "roundhouse submit [options] FILE | roundhouse submit [options] -- COMMAND ..."
    add_job(submit)
    submit.add_argument("--wait", action="store_true", help="wait for the last task; exit status 1 if one failed")
    shown = ("roundhouse jobs", "roundhouse jobs show 3 --failed", "roundhouse jobs hold 3")
    words = f"list the jobs of a {TAKERS}, or show, hold, release or cancel one"
    jobs = command("jobs", words, connect, consenting(), examples=shown)
    orders = ("show", "hold", "release", "cancel")
    jobs.add_argument(
        "order",
        metavar="ORDER",
        nargs="?",
        choices=orders,
        help="show its tasks; hold, release or cancel it (without: list the jobs)",
    )
    jobs.add_argument("id", metavar="ID", nargs="?", type=value(JOB), help="the id of the job, from the list")
    jobs.add_argument("--failed", action="store_true", help="show those tasks alone that failed")
    form = "write the list as JSON to a file (stdout)"
    jobs.add_argument("--json", metavar="PATH", type=target, nargs="?", const=target("-"), help=form)
    stop = command("stop", f"stop workers of a {TAKERS}, all or by processors", connect, consenting())
    much = stop.add_mutually_exclusive_group(required=True)
    much.add_argument(
        "n", metavar="N", nargs="?", type=value(STOPPED), help="number of processors to stop, newest worker first"
    )
    much.add_argument("--all", action="store_true", help="stop all workers; running tasks finish")
    much.add_argument("--now", action="store_true", help="stop all workers; running tasks are killed")


def check(parser: Parser, options: Namespace) -> None:
    """What argparse can not express."""
    match options.command:
        case "submit" if (options.file is None) == (not options.words):
            parser.error("submit: either a FILE that describes the job, or -- and its command")
        case "jobs" if options.order and options.id is None:
            parser.error(f"jobs {options.order}: the ID of a job is required; roundhouse jobs lists them")
        case "jobs" if options.order not in (None, "show") and options.json:
            parser.error("jobs: --json is for the list and for show")
        case "jobs" if options.failed and options.order != "show":
            parser.error("jobs: --failed is for show")
