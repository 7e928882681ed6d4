"""What can be asked for on the command line.

Values of settings are not read here: they go to ``engine.settings`` as they were typed, so that they are judged
together with the configuration and in the same words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NamedTuple

from console.cli import queuearguments
from console.cli.parsing import Parser, add_env, given, keeper, option, source, target, user, value
from engine import __version__
from engine.catalogue import QUEUES, SYSTEMS
from engine.parts.limits import MAX_BACKLOG
from engine.runs.compare import BOUND
from engine.schema import Range
from engine.settings import Endpoint, Flag, Pool, Run

DEFAULT, OTHER, *_ = SYSTEMS  # in examples
TAKERS = " or ".join(name for name, system in SYSTEMS.items() if system.orders is not None)  # of jobs
EXAMPLES = (
    "roundhouse",
    f"roundhouse --system {OTHER}",
    "roundhouse bulkping 1000",
    "roundhouse broker",
    "roundhouse worker --count 10",
    "roundhouse bulkping 10000 --connect tcp://127.0.0.1:6714",
)
EPILOG = """\
The first opens the console, in which everything runs that it shows: ? lists
its keys, q quits. The third runs a broker and ten workers of its own, and ends
them; the last three are for three terminals.

roundhouse COMMAND --help says more of each. What stands in parentheses holds
where no option, no variable ROUNDHOUSE_... and no configuration says anything
else; roundhouse paths names the file of that.

Exit status: 0 everything asked for succeeded, 1 some of it failed, 2 wrong
usage or configuration, 128+n ended by signal n. Results go to stdout,
everything else to stderr.
"""
COUNT = Annotated[int, Range(1, 20_000)]
RATE = Annotated[float, Range(0.001, 10_000_000, "tasks a second")]
TASKS = Annotated[int, Range(1, MAX_BACKLOG)]
PROCESSORS = Annotated[int, Range(1, 1024)]  # of one task
STOPPED = Annotated[int, Range(1, 2**32 - 2)]  # processors of all workers; the next number means something else
JOB = Annotated[int, Range(1, 2**63 - 1)]
SEED = Annotated[int, Range(0, 2**32)]

MUTE = ("runs", "compare", "paths", "drill", "replay", *queuearguments.COMMANDS)
"""Commands that speak with no broker."""

UNRECORDED = ("runs", "compare", "paths", "drill", "replay", "feed", "submit", "jobs", "stop")
"""Commands in which nothing happens that a journal could hold."""

RUNNERS = (None, "worker", "pipeline", "drive")
"""Commands that run those of an operator; None is the console."""

Command = Callable[..., Parser]
Keep = Callable[..., type[argparse.Action]]


class Asked(NamedTuple):
    """One command line: the command (``console`` where none is named), its own options, and settings."""

    command: str
    options: argparse.Namespace
    flags: list[Flag]


def read_arguments(argv: Sequence[str]) -> Asked:
    """Exits with status 2 and a message for what is not a command line, with 0 after --help and --version."""
    flags: list[Flag] = []
    parser, commands = make_parsers(keeper(flags))
    at = argv.index("--") if "--" in argv else len(argv)
    if "submit" not in argv[:at]:
        at = len(argv)
    options, unknown = parser.parse_known_args(argv[:at])
    asked = commands.get(options.command, parser)
    if unknown:
        asked.error(f"{' '.join(unknown)}: {asked.prog} takes no such argument")
    if options.command == "submit":  # what stands behind -- is the job's command line and none of ours
        options.words = list(argv[at + 1 :])
    _check(asked, options, flags)
    return Asked(options.command or "console", options, flags)


def _check(parser: Parser, options: argparse.Namespace, flags: list[Flag]) -> None:
    """What argparse can not say: arguments that only make sense together."""
    queuearguments.check(parser, options)
    systems = {flag.text for flag in flags if flag.place == ("system",)}
    if options.command in queuearguments.COMMANDS:
        systems -= QUEUES.keys()
    match options.command:
        case "submit" if (options.file is None) == (not options.words):
            parser.error("submit: either a FILE that describes the job, or -- and its command")
        case "jobs" if options.order and options.id is None:
            parser.error(f"jobs {options.order}: the ID of a job is required; roundhouse jobs lists them")
        case "jobs" if options.order and options.json:
            parser.error("jobs: --json is for the list")
        case "bulkping" | "bulkdata" as command if options.bound is not None and options.baseline is None:
            parser.error(f"{command}: --bound needs a --baseline")
        case command if hasattr(options, "env") and command not in RUNNERS:
            parser.error(
                f"{command}: --env is for {', '.join(filter(None, RUNNERS))} and the console, which run commands"
            )
        case command if options.journal and command in UNRECORDED:
            parser.error(f"{command}: there is nothing to record in a --journal")
        case str(command) if any(flag.place == ("readonly",) for flag in flags):
            parser.error(f"{command}: --readonly is the console's")
        case command if systems and command in MUTE:
            parser.error(f"{command}: it speaks with no broker, so --system can not be {', '.join(sorted(systems))}")


def make_parsers(keep: Keep) -> tuple[Parser, Mapping[str, Parser]]:
    """The parser of a command line, and those of its commands by their names."""
    default, *others = SYSTEMS
    names = f"{default} (the default), {', '.join(others)}"
    system = option("--system", metavar="S", action=keep("system"), help=f"the protocol that is spoken: {names}")
    recording = "record everything that happens in a new file, for a replay"
    journal = option("--journal", metavar="FILE", type=target, default=argparse.SUPPRESS, help=recording)
    parser = Parser(
        prog="roundhouse",
        description="A terminal operations console for ZeroMQ brokers and their workers.",
        examples=EXAMPLES,
        epilog=EPILOG,
    )
    queues = " or ".join(QUEUES)
    parser.add_argument("--system", metavar="S", action=keep("system"), help=f"what to open: {names} or {queues}")
    stops = "refuse whatever changes something; with --root only look, and start nothing"
    parser.add_argument("--readonly", nargs=0, action=keep("readonly"), help=stops)
    parser.add_argument("--journal", metavar="FILE", type=target, help=recording)
    root = f"the folder of a pipeline that was run before, for --system {queues} (a demonstration)"
    parser.add_argument("--root", metavar="DIR", type=given, help=root)
    queuearguments.add_trust(parser)
    add_env(parser)
    parser.add_argument("--version", action="version", version=f"roundhouse {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)

    def command(name: str, words: str, *parents: Parser, examples: Sequence[str] = ()) -> Parser:
        capital = words[0].upper() + words[1:] + "."
        return commands.add_parser(name, help=words, description=capital, parents=parents, examples=examples)

    connect = option("--connect", metavar="ENDPOINT", type=value(Endpoint), help="of the broker to join (this user's)")
    _roles(command, keep, (system, journal), connect)
    _runs(command, keep, (system, journal))
    _jobs(command, connect)
    queuearguments.add_commands(command, _json("the report"), journal)
    _kept(command)
    return parser, commands.choices


def _roles(command: Command, keep: Keep, every: Sequence[Parser], connect: Parser) -> None:
    """Brokers and workers."""
    others = "a user whose peers may give and be given commands as well as this one's; unknown: who can not be told"
    trust = option("--trust", metavar="USER", type=user, action="append", default=[], help=others)
    bind = option("--bind", metavar="ENDPOINT", type=value(Endpoint), help="where to listen (the system's own place)")
    slots = f"tasks that each worker takes at once, in a {TAKERS} its processors ({Pool().slots})"
    takes = option("--slots", metavar="N", action=keep("pool", "slots"), help=slots)
    workers = option("--count", metavar="N", type=value(COUNT), default=1, help="workers in this process (1)")
    shown: Sequence[str] = ("roundhouse broker", f"roundhouse broker --system {OTHER} --bind tcp://127.0.0.1:7000")
    command("broker", "run a broker, and print ready once it listens", bind, trust, *every, examples=shown)
    shown = ("roundhouse worker --count 10", "roundhouse worker --slots 1 --connect tcp://127.0.0.1:7000")
    words = "run workers for a broker elsewhere, and print ready once all have joined"
    add_env(command("worker", words, connect, workers, takes, trust, *every, examples=shown))


def _runs(command: Command, keep: Keep, every: Sequence[Parser]) -> None:
    """One message, or many."""
    usual = Run()
    place = "of the broker (one of its own with workers, which end with the run)"
    connect = option("--connect", metavar="ENDPOINT", type=value(Endpoint), help=place)
    limit = f"seconds that a task may take ({usual.timeout:g})"
    timeout = option("--timeout", metavar="SECONDS", action=keep("run", "timeout"), help=limit)
    carried = f"bytes of data in each task ({usual.bytes})"
    size = option("--bytes", metavar="N", action=keep("run", "bytes"), help=carried)
    count = option("n", metavar="N", action=keep("run", "count"), help="tasks, 1 or more")
    out = f"tasks that are out at once, at most ({usual.in_flight})"
    window = option("--in-flight", metavar="N", action=keep("run", "in_flight"), help=out)
    pace = "tasks a second that are due, whatever comes back: an open loop (the next when one comes back)"
    rate = option("--rate", metavar="R", type=value(RATE), help=pace)
    before = "compare with a kept run afterwards; last: the newest of which the same was asked"
    baseline = option("--baseline", metavar="ID", type=given, help=before)
    one = (connect, timeout, _json("the run"), *every)
    bulk = (count, connect, window, rate, timeout, baseline, _bound(), _json("the run"), *every)
    command("ping", "send one ping, and wait for no reply", *one)
    command("pingt", "send one ping, and time its reply", *one)
    command("data", "ask for one stream of data, and time it", *one, size)
    shown: Sequence[str] = (
        "roundhouse bulkping 10000",
        "roundhouse bulkping 10000 --rate 500 --json run.json",
        "roundhouse bulkping 10000 --baseline last --bound 10",
    )
    command("bulkping", "send N pings, a few at a time", *bulk, examples=shown)
    shown = ("roundhouse bulkdata 1000 --bytes 65536",)
    command("bulkdata", "ask for N streams of data, a few at a time", *bulk, size, examples=shown)


def _kept(command: Command) -> None:
    """What works on files."""
    drill = command(
        "drill",
        "play a script of runs and faults in virtual time, and judge what was promised",
        _json("the report"),
        examples=(f"roundhouse drill docs/drills/{DEFAULT}.toml",),
    )
    drill.add_argument(
        "file", metavar="FILE", type=source("the script of a drill, in TOML"), help="the script, in TOML"
    )
    drill.add_argument("--seed", metavar="N", type=value(SEED), help="of everything that is random (the script's)")
    shown: Sequence[str] = ("roundhouse --journal night.journal", "roundhouse replay night.journal")
    replay = command("replay", "open a recording, and move through it in time", examples=shown)
    made = source("a recording, which --journal FILE makes")
    replay.add_argument("file", metavar="FILE", type=made, help="the journal; a cut one opens as far as it stands")
    check = "play it without a screen; the exit status is 1 where today's cores do something else than the recorded"
    replay.add_argument("--check", action="store_true", help=check)
    shown = ("roundhouse runs", "roundhouse runs --csv runs.csv")
    runs = command("runs", "list the kept runs, or show one", examples=shown)
    runs.add_argument("id", metavar="ID", nargs="?", type=given, help="the run to show, as the list names it")
    export = runs.add_mutually_exclusive_group()
    export.add_argument("--csv", metavar="PATH", type=target, help="write a table to a file instead, - for stdout")
    export.add_argument("--json", metavar="PATH", type=target, help="write JSON to a file instead, - for stdout")
    compare = command("compare", "show two kept runs beside each other", _bound())
    compare.add_argument("a", metavar="A", type=given, help="the run before, as roundhouse runs names it")
    compare.add_argument("b", metavar="B", type=given, help="the run after")
    command("paths", "print every file and folder that is used")


def _jobs(command: Command, connect: Parser) -> None:
    """The commands of a system whose tasks are processes."""
    shown: Sequence[str] = (
        "roundhouse submit --tasks 50 --logs logs --wait -- ./convert.sh",
        "roundhouse submit job.toml",
    )
    words = f"hand an array of tasks of one command to the workers of a {TAKERS}"
    submit = command("submit", words, connect, examples=shown)
    submit.usage = "roundhouse submit [options] FILE | roundhouse submit [options] -- COMMAND ..."
    described = source("a file that describes a job, or put its command behind --")
    submit.add_argument("file", metavar="FILE", nargs="?", type=described, help="TOML or JSON with keys as the options")
    submit.add_argument("--name", type=given, help="of the job and its logs (the command's)")
    submit.add_argument("--tasks", metavar="N", type=value(TASKS), help="how many, numbered 1 to N (1)")
    submit.add_argument("--dir", metavar="DIR", type=given, help="where they run (here)")
    submit.add_argument("--logs", metavar="DIR", type=given, help="where NAME_1.log to NAME_N.log go (DIR of --dir)")
    submit.add_argument("--processors", metavar="N", type=value(PROCESSORS), help="that each task takes (1)")
    submit.add_argument("--wait", action="store_true", help="until the last task has ended; 1 where one failed")
    shown = ("roundhouse jobs", "roundhouse jobs hold 3")
    jobs = command("jobs", f"list the jobs of a {TAKERS}, or hold, release or cancel one", connect, examples=shown)
    orders = ("hold", "release", "cancel")
    jobs.add_argument("order", metavar="ORDER", nargs="?", choices=orders, help="hold, release or cancel (a list)")
    jobs.add_argument("id", metavar="ID", nargs="?", type=value(JOB), help="the job, as the list names it")
    jobs.add_argument("--json", metavar="PATH", type=target, help="write the list as JSON to a file, - for stdout")
    stop = command("stop", f"take processors from the workers of a {TAKERS}, or all of them", connect)
    much = stop.add_mutually_exclusive_group(required=True)
    much.add_argument("n", metavar="N", nargs="?", type=value(STOPPED), help="processors, of the newest worker first")
    much.add_argument("--all", action="store_true", help="every one; what runs ends as usual")
    much.add_argument("--now", action="store_true", help="every one; what runs is killed")


def _json(what: str) -> Parser:
    return option("--json", metavar="PATH", type=target, help=f"write {what} as JSON to a file, - for stdout")


def _bound() -> Parser:
    worse = "end with status 1 where it is worse by more than this and than repeats differ (it is only shown)"
    return option("--bound", metavar="PERCENT", type=value(BOUND), help=worse)
