"""What can be asked for on the command line.

Values of settings are not read here: they go to ``engine.settings`` as they were typed, so that they are judged
together with the configuration and in the same words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from console.cli import queuearguments
from engine import __version__
from engine.parts.limits import MAX_BACKLOG
from engine.runs.compare import BOUND
from engine.schema import Misfit, Range, fit, parse
from engine.settings import Endpoint, Flag

EPILOG = """\
Without a command: the console, with everything running in this process.

Exit status: 0 everything asked for succeeded, 1 some of it failed, 2 wrong usage or configuration,
128+n ended by signal n. Results go to stdout, everything else to stderr.
"""
COUNT = Annotated[int, Range(1, 20_000)]
RATE = Annotated[float, Range(0.001, 10_000_000)]
TASKS = Annotated[int, Range(1, MAX_BACKLOG)]
PROCESSORS = Annotated[int, Range(1, 1024)]  # of one task
STOPPED = Annotated[int, Range(1, 2**32 - 2)]  # processors of all workers; the next number means something else
JOB = Annotated[int, Range(1, 2**63 - 1)]
SEED = Annotated[int, Range(0, 2**32)]

UNRECORDED = ("runs", "compare", "paths", "drill", "replay", "submit", "jobs", "stop", *queuearguments.COMMANDS)
"""Commands in which nothing happens that a journal could hold."""


class Asked(NamedTuple):
    """One command line: the command (``console`` where none is named), its own options, and settings."""

    command: str
    options: argparse.Namespace
    flags: list[Flag]


def read_arguments(argv: Sequence[str]) -> Asked:
    """Exits with status 2 and a message for what is not a command line, with 0 after --help and --version."""
    flags: list[Flag] = []
    parser = _parser(_keeper(flags))
    at = argv.index("--") if "--" in argv else len(argv)
    if "submit" not in argv[:at]:
        at = len(argv)
    options = parser.parse_args(argv[:at])
    if options.command == "submit":  # what stands behind -- is the job's command line and none of ours
        options.words = list(argv[at + 1 :])
    _check(parser, options)
    return Asked(options.command or "console", options, flags)


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """What argparse can not say: arguments that only make sense together."""
    queuearguments.check(parser, options)
    match options.command:
        case "submit" if (options.file is None) == (not options.words):
            parser.error("submit: either a FILE that describes the job, or -- and its command")
        case "jobs" if options.order and options.id is None:
            parser.error(f"jobs {options.order}: the ID of a job is required")
        case "jobs" if options.order and options.json:
            parser.error("jobs: --json is for the list")
        case "bulkping" | "bulkdata" as command if options.bound is not None and options.baseline is None:
            parser.error(f"{command}: --bound needs a --baseline")
        case command if options.journal and command in UNRECORDED:
            parser.error(f"{command}: there is nothing to record in a --journal")


def _parser(keep: Callable[..., type[argparse.Action]]) -> argparse.ArgumentParser:
    system = _option("--system", metavar="S", action=keep("system"), help="the system that is spoken, say roundrobin")
    recording = "record all that happens in a new file, for a replay"
    journal = _option("--journal", metavar="FILE", type=_path, default=argparse.SUPPRESS, help=recording)
    parser = argparse.ArgumentParser(
        prog="roundhouse",
        description="A terminal operations console for ZeroMQ brokers and their workers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[system],
    )
    stops = "refuse orders that stop workers or cancel jobs"
    parser.add_argument("--readonly", nargs=0, action=keep("readonly"), help=stops)
    parser.add_argument("--journal", metavar="FILE", type=_path, help=recording)
    parser.add_argument("--root", metavar="DIR", help="of a diskqueue pipeline that was run before (a demonstration)")
    parser.add_argument("--version", action="version", version=f"roundhouse {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, words: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        capital = words[0].upper() + words[1:] + "."
        return commands.add_parser(name, help=words, description=capital, parents=parents, allow_abbrev=False)

    bind = _option("--bind", metavar="ENDPOINT", type=_read(Endpoint), help="where to listen")
    connect = _option("--connect", metavar="ENDPOINT", type=_read(Endpoint), help="the broker's endpoint")
    slots = _option("--slots", metavar="N", action=keep("pool", "slots"), help="tasks (processors) of each worker")
    workers = _option("--count", metavar="N", type=_read(COUNT), default=1, help="workers in this process (1)")
    timeout = _option("--timeout", metavar="SECONDS", action=keep("run", "timeout"), help="that a task may take")
    json = _option("--json", metavar="PATH", type=_path, help="write the run as JSON to a file, or - for stdout")
    size = _option("--bytes", metavar="N", action=keep("run", "bytes"), help="of data in each task")
    count = _option("n", metavar="N", action=keep("run", "count"), help="how many")
    window = _option("--in-flight", metavar="N", action=keep("run", "in_flight"), help="tasks that are out at once")
    rate = _option("--rate", metavar="R", type=_read(RATE), help="tasks a second, whatever comes back (open loop)")
    one = (system, connect, timeout, json, journal)
    baseline = _option("--baseline", metavar="ID", help="then compare with a kept run; last: the newest like this")
    worse = "a regression is more than this worse, and more than repeats differ; the exit status is then 1"
    bound = _option("--bound", metavar="PERCENT", type=_read(BOUND), help=worse)
    bulk = (*one, count, window, rate, baseline, bound)

    command("broker", "a broker, no screen", system, bind, journal)
    command("worker", "workers for a broker that runs elsewhere, no screen", system, connect, workers, slots, journal)
    command("ping", "one ping without a reply", *one)
    command("pingt", "one ping and its round trip", *one)
    command("data", "one data stream and its round trip", *one, size)
    command("bulkping", "N pings, a few at a time", *bulk)
    command("bulkdata", "N data streams, a few at a time", *bulk, size)
    _jobs(command, connect)
    queues = _option("--json", metavar="PATH", type=_path, help="write the report as JSON to a file, or - for stdout")
    queuearguments.add_commands(command, queues)
    drill = command("drill", "play a script of runs and faults in virtual time, and judge what was promised")
    drill.add_argument("file", metavar="FILE", type=Path, help="the script, in TOML")
    drill.add_argument("--json", metavar="PATH", type=_path, help="write the report as JSON to a file, or - for stdout")
    drill.add_argument("--seed", metavar="N", type=_read(SEED), help="another one than the script's")
    replay = command("replay", "open a recording, made with --journal, and move through it")
    replay.add_argument("file", metavar="FILE", type=Path, help="the journal; a cut one opens as far as it stands")
    check = "play it without a screen; the exit status is 1 where today's cores do something else than the recorded"
    replay.add_argument("--check", action="store_true", help=check)
    runs = command("runs", "list the kept runs, or show one")
    runs.add_argument("id", metavar="ID", nargs="?", help="the run to show")
    export = runs.add_mutually_exclusive_group()
    export.add_argument("--csv", metavar="PATH", type=_path, help="write them as a table to a file, or - for stdout")
    export.add_argument("--json", metavar="PATH", type=_path, help="write them as JSON to a file, or - for stdout")
    compare = command("compare", "two kept runs beside each other", bound)
    compare.add_argument("a", metavar="A", help="the run before")
    compare.add_argument("b", metavar="B", help="the run after")
    command("paths", "every file and folder that is used")
    return parser


def _jobs(command: Callable[..., argparse.ArgumentParser], connect: argparse.ArgumentParser) -> None:
    """The commands of the conversation, whose tasks are processes."""
    json = _option("--json", metavar="PATH", type=_path, help="write the jobs as JSON to a file, or - for stdout")
    submit = command("submit", "an array of tasks of one command, for the workers of a conversation", connect)
    submit.usage = "roundhouse submit [options] FILE | roundhouse submit [options] -- COMMAND ..."
    submit.add_argument("file", metavar="FILE", nargs="?", type=Path, help="TOML or JSON with keys as these options")
    submit.add_argument("--name", help="of the job and its logs (the command's)")
    submit.add_argument("--tasks", metavar="N", type=_read(TASKS), help="how many, numbered 1 to N (1)")
    submit.add_argument("--dir", metavar="DIR", help="where they run (here)")
    submit.add_argument("--logs", metavar="DIR", help="where NAME_1.log to NAME_N.log go (DIR of --dir)")
    submit.add_argument("--processors", metavar="N", type=_read(PROCESSORS), help="that each task takes (1)")
    submit.add_argument("--wait", action="store_true", help="until the last task has ended")
    jobs = command("jobs", "list the jobs of a conversation, or hold, release or cancel one", connect, json)
    jobs.add_argument("order", nargs="?", choices=("hold", "release", "cancel"), help="what is done to a job")
    jobs.add_argument("id", metavar="ID", nargs="?", type=_read(JOB), help="the job")
    stop = command("stop", "take processors from the workers of a conversation, or all of them", connect)
    much = stop.add_mutually_exclusive_group(required=True)
    much.add_argument("n", metavar="N", nargs="?", type=_read(STOPPED), help="processors, newest worker first")
    much.add_argument("--all", action="store_true", help="every one; what runs ends as usual")
    much.add_argument("--now", action="store_true", help="every one; what runs is killed")


def _option(name: str, **how: Any) -> argparse.ArgumentParser:
    """An argument of several commands, in argparse's way of sharing one."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(name, **how)
    return parent


def _keeper(flags: list[Flag]) -> Callable[..., type[argparse.Action]]:
    """Actions that append a setting to ``flags``: in a namespace a command's would hide what stood before it."""

    def keep(*place: str) -> type[argparse.Action]:
        class Keep(argparse.Action):
            def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
                text = "true" if self.nargs == 0 else values
                flags.append(Flag(place, option or str(self.metavar), text))

        return Keep

    return keep


def _read(wanted: Any) -> Callable[[str], Any]:
    """A reader of values that are no settings."""

    def read(text: str) -> Any:
        try:
            return fit(parse(text, wanted), wanted)
        except Misfit as misfit:
            raise argparse.ArgumentTypeError(str(misfit)) from None

    return read


def _path(text: str) -> Path:
    path = Path(text)
    try:
        if path.is_dir():
            raise argparse.ArgumentTypeError(f"{text!r} is a folder")
        if not path.parent.is_dir():
            raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    except OSError as error:  # of a name that no file can have
        raise argparse.ArgumentTypeError(f"{text!r}: {error.strerror or error}") from None
    return path
