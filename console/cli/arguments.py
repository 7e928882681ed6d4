"""The arguments of the command line.

Values of settings are not checked here: ``engine.settings`` gets them as they were typed, and checks them together with
the configuration.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from console.cli import (
    explorearguments,
    jobarguments,
    keyarguments,
    operatearguments,
    queuearguments,
    runarguments,
    screenarguments,
    storearguments,
)
from console.cli.parsing import Parser, add_control, add_env, add_log, add_standing, as_json, keeper, option, otel
from console.readers import given, source, target, user, value
from engine import __version__, catalogue
from engine.catalogue import QUEUES, SEED_LANE, SYSTEMS
from engine.schema import Endpoint, OneOf, Range
from engine.settings.pools import Pool
from engine.settings.settings import Flag, Run

DEFAULT, OTHER, *_ = SYSTEMS  # in examples
((LANED, LANE),) = catalogue.LANES.items()
EXAMPLES = (
    "roundhouse",
    f"roundhouse --system {OTHER}",
    "roundhouse bulkping 1000",
    "roundhouse broker",
    "roundhouse worker --count 10",
    "roundhouse bulkping 10000 --connect tcp://127.0.0.1:6714",
)
EPILOG = """\
The first opens the console with a broker and workers inside it: ? lists its
keys, q quits. The third starts a broker and ten workers, and stops them after
the run. Use three terminals for the last three.

roundhouse COMMAND --help explains a command. Values in parentheses are
defaults; an option, a variable ROUNDHOUSE_... or the configuration file
replaces them. roundhouse paths prints the name of that file.

Exit status: 0 everything asked for succeeded, 1 some of it failed, 2 wrong
usage or configuration, 128+n ended by signal n. Results go to stdout,
everything else to stderr.
"""
COUNT = Annotated[int, Range(1, 20_000)]
LEVEL = Annotated[int, Range(0, 9)]
LEVELS = {"error": 0, "info": 1, "debug": 5}
SEED = Annotated[int, Range(0, 2**32)]

SHELLS = ("bash", "zsh", "fish")
KEPT = ("result", "tasks")
"""Commands that read what a broker of a system keeps."""

FILED = ("runs", "compare", "paths", "doctor", "completion", "man", "drill", "replay", "keys")
"""Other commands that only read and write files."""

MUTE = (*FILED, *queuearguments.COMMANDS, *operatearguments.ASKERS)
"""Commands that connect to no broker."""

UNRECORDED = (*FILED, *KEPT, *operatearguments.ASKERS, "feed", "relay", "submit", "jobs", "stop", "pair", "attach")
"""Commands that have nothing to record in a journal."""

ATTACHED = ("broker", "worker", "pipeline")
"""Commands whose processes can be attached to, beside the console."""

RUNNERS = (None, "worker", "pipeline", "drive")
"""Commands that run an operator's own commands; None is the console."""

Command = Callable[..., Parser]
Keep = Callable[..., type[argparse.Action]]


class Asked(NamedTuple):
    """One command line: the command (``console`` if none is named), its options, and settings."""

    command: str
    options: argparse.Namespace
    flags: list[Flag]


def read_arguments(argv: Sequence[str]) -> Asked:
    """Read a command line. Exits with status 2 and a message if it is wrong, with 0 after --help and --version."""
    flags: list[Flag] = []
    parser, commands = make_parsers(keeper(flags))
    at = argv.index("--") if "--" in argv else len(argv)
    if "submit" not in argv[:at]:
        at = len(argv)
    options, unknown = parser.parse_known_args(argv[:at])
    asked = commands.get(options.command, parser)
    if options.command == "pipeline" and not any(word.startswith("-") for word in unknown):
        options.names, unknown = options.names + unknown, []  # argparse finds no names that stand behind an option
    if unknown:
        asked.error(f"{' '.join(unknown)}: {asked.prog} takes no such argument")
    if options.command == "submit":  # what follows -- is the job's command line
        options.words = list(argv[at + 1 :])
    _check(asked, options, flags)
    if isinstance(getattr(options, "control", None), str):  # over tcp, beside the usual one
        flags.append(Flag(("security", "control"), "--control", options.control))
        del options.control
    return Asked(options.command or "console", options, flags)


def _check(parser: Parser, options: argparse.Namespace, flags: list[Flag]) -> None:
    """Check combinations of arguments, which argparse can not express."""
    for part in (jobarguments, runarguments, queuearguments, screenarguments, storearguments, operatearguments):
        part.check(parser, options)
    systems = {flag.text for flag in flags if flag.place == ("system",)}
    if options.command in queuearguments.COMMANDS:
        systems -= QUEUES.keys()
    match options.command:
        case command if systems and any(flag.name == "--lane" for flag in flags) and LANED not in systems:
            parser.error(f"--lane: {', '.join(sorted(systems))} has one lane, the seed's own messages")
        case command if storearguments.asked(flags) and systems and not systems & set(catalogue.STORED):
            parser.error(f"--durable, --backlog: {', '.join(sorted(systems))} keeps its tasks in memory")
        case command if hasattr(options, "env") and command not in RUNNERS:
            parser.error(
                f"{command}: --env is for {', '.join(filter(None, RUNNERS))} and the console, which run commands"
            )
        case command if options.journal and command in UNRECORDED:
            parser.error(f"{command}: there is nothing to record in a --journal")
        case str(command) if hasattr(options, "control") and command not in ATTACHED:
            parser.error(f"{command}: --control is for {', '.join(ATTACHED)} and the console")
        case str(command) if command != "attach" and any(flag.place == ("readonly",) for flag in flags):
            parser.error(f"{command}: --readonly is the console's")
        case command if systems and command in MUTE:
            parser.error(f"{command}: it connects to no broker, so --system can not be {', '.join(sorted(systems))}")


def make_parsers(keep: Keep) -> tuple[Parser, Mapping[str, Parser]]:
    """The main parser, and the parsers of the commands by name."""
    default, *others = SYSTEMS
    names = f"{default} (the default), {', '.join(others)}"
    system = option("--system", metavar="S", action=keep("system"), help=f"the protocol: {names}")
    recording = "record all events to a new file, for roundhouse replay"
    journal = option("--journal", metavar="FILE", type=target, default=argparse.SUPPRESS, help=recording)
    parser = Parser(
        prog="roundhouse",
        description="A terminal operations console for ZeroMQ brokers and their workers.",
        examples=EXAMPLES,
        epilog=EPILOG,
    )
    queues = " or ".join(QUEUES)
    parser.add_argument("--system", metavar="S", action=keep("system"), help=f"what to open: {names} or {queues}")
    screenarguments.add_screen(parser, keep)
    output = screenarguments.add_output(Parser(add_help=False))
    screenarguments.add_output(parser)
    parser.add_argument("--journal", metavar="FILE", type=target, help=recording)
    root = f"the folder of an existing pipeline, for --system {queues} (a demonstration)"
    parser.add_argument("--root", metavar="DIR", type=given, help=root)
    queuearguments.add_trust(parser)
    add_env(parser)
    add_control(parser)
    lane = _lane(keep)
    parser.add_argument("--lane", **lane)
    storearguments.add_stores(parser, keep)
    parser.add_argument("--version", action="version", version=f"roundhouse {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)

    def command(name: str, words: str, *parents: Parser, examples: Sequence[str] = ()) -> Parser:
        capital = words[0].upper() + words[1:] + "."
        return commands.add_parser(name, help=words, description=capital, parents=(*parents, output), examples=examples)

    connect = option(
        "--connect", metavar="ENDPOINT", type=value(Endpoint), help="endpoint of the broker (that of this user)"
    )
    every = (
        system,
        option("--lane", **lane),
        journal,
        keyarguments.shared(keep),
        storearguments.add_stores(Parser(add_help=False), keep),
    )
    _roles(command, keep, every, connect)
    runarguments.add_commands(command, keep, every)
    jobarguments.add_commands(command, connect)
    _pair(command, connect)
    storearguments.add_command(command, keep, system)
    _request(command, keep, connect)
    keyarguments.add_command(command)
    queuearguments.add_commands(command, as_json("the report"), journal)
    explorearguments.add_command(command, as_json("the report"), system)
    operatearguments.add_commands(command, keep)
    _kept(command)
    return parser, commands.choices


def _lane(keep: Keep) -> dict[str, Any]:
    """The argument that chooses between two ways to write the same messages."""
    action = keep(LANED, LANE, **{SEED_LANE: "false", LANE: "true"})
    words = f"write {LANED}'s messages as the seed does, or {LANE}, many tasks in one ({SEED_LANE})"
    return {"metavar": "LANE", "action": action, "choices": (SEED_LANE, LANE), "help": words}


def _roles(command: Command, keep: Keep, every: Sequence[Parser], connect: Parser) -> None:
    """Brokers and workers."""
    others = "also accept peers of this user, who may then exchange commands; unknown: peers whose user is not known"
    trust = option("--trust", metavar="USER", type=user, action="append", default=[], help=others)
    bind = option(
        "--bind", metavar="ENDPOINT", type=value(Endpoint), help="where to listen (the system's own endpoint)"
    )
    slots = f"tasks that each worker takes at a time; in a {jobarguments.TAKERS} its processors ({Pool().slots})"
    takes = option("--slots", metavar="N", action=keep("pool", "slots"), help=slots)
    number = "number of workers in this process (1; on a terminal none until register or bulk is typed)"
    workers = option("--count", metavar="N", type=value(COUNT), help=number)
    level = _levels()
    verbose = option("-v", action="store_true", dest="verbose", help="print the broker's table every second")
    shown: Sequence[str] = ("roundhouse broker", f"roundhouse broker --system {OTHER} --bind tcp://127.0.0.1:7000")
    words = "run a broker, and print ready once it listens"
    broker = command("broker", words, bind, trust, verbose, level, *every, examples=shown)
    shown = ("roundhouse worker --count 10", "roundhouse worker --slots 1 --connect tcp://127.0.0.1:7000")
    words = "run workers for a broker elsewhere, and print ready once all have joined"
    runs = f"what workers of {' or '.join(catalogue.SERVERS)} offer: NAME=COMMAND or NAME=module:function"
    services = option("--services", metavar="A,B", action=keep(catalogue.SERVERS[0], "services"), help=runs)
    worker = command("worker", words, connect, workers, takes, services, trust, level, *every, examples=shown)
    add_env(worker)
    for parser in (broker, worker):
        add_standing(parser)
        add_log(parser)
    shown = ("roundhouse client", "roundhouse client --connect tcp://127.0.0.1:7000 -d 1")
    words = "run a client with a prompt, or the commands that its input holds"
    command("client", words, connect, otel(), level, *every, examples=shown)


def _levels() -> Parser:
    """How much is told on stderr."""
    parent = Parser(add_help=False)
    either = parent.add_mutually_exclusive_group()
    words = "0: errors; 1: also joins, leavings and tasks; 5: also statistics (warnings and errors)"
    either.add_argument("-d", metavar="LEVEL", dest="level", type=value(LEVEL), help=words)
    named = "the same by a name: error, warning, info or debug"
    either.add_argument("--log-level", metavar="NAME", dest="level", type=level_named, help=named)
    return parent


def level_named(text: str) -> int | None:
    """The level of a name; None of warning."""
    if text not in (*LEVELS, "warning"):
        raise argparse.ArgumentTypeError(f"expected {OneOf((*LEVELS, 'warning'))}, got {text!r}")
    return LEVELS.get(text)


def _kept(command: Command) -> None:
    """What works on files."""
    drill = command(
        "drill",
        "run a script of runs and faults in virtual time, and check the promises",
        as_json("the report"),
        examples=(f"roundhouse drill docs/drills/{DEFAULT}.toml",),
    )
    made = source("the script of a drill, in TOML")
    drill.add_argument("file", metavar="FILE", type=made, help="the script, in TOML")
    which = drill.add_mutually_exclusive_group()
    which.add_argument("--seed", metavar="N", type=value(SEED), help="seed of all random numbers (the script's)")
    which.add_argument("--real", action="store_true", help="on real processes; the history of all tasks is judged")
    shown: Sequence[str] = ("roundhouse --journal night.journal", "roundhouse replay night.journal")
    replay = command("replay", "open a recording, and move through it in time", examples=shown)
    made = source("a recording, which --journal FILE makes")
    replay.add_argument(
        "file", metavar="FILE", type=made, help="the journal; of an incomplete one, what there is of it"
    )
    check = "replay without a screen; exit status 1 if this version does something else than was recorded"
    replay.add_argument("--check", action="store_true", help=check)
    runarguments.add_kept(command)
    command("paths", "print every file and folder that is used")
    words = "print a script with which a shell completes words of this command line"
    completion = command("completion", words, examples=("roundhouse completion bash",))
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    command("man", "print the manual page", examples=("roundhouse man",))


def _pair(command: Command, connect: Parser) -> None:
    """Brokers that stand in for each other."""
    shown: Sequence[str] = ("roundhouse pair", "roundhouse pair back --connect tcp://127.0.0.1:6727")
    words = f"show which broker of a pair serves, or hand back; with {' or '.join(catalogue.PAIRS)}"
    pair = command("pair", words, connect, examples=shown)
    told = "show; back: the fallback hands the service back; serve: a fallback that never heard its primary serves"
    pair.add_argument("order", metavar="ORDER", nargs="?", choices=("show", "back", "serve"), default="show", help=told)


def _request(command: Command, keep: Keep, connect: Parser) -> None:
    """One request to a service."""
    shown: Sequence[str] = (
        f"roundhouse worker --system {catalogue.SERVERS[0]} --services 'upper=tr a-z A-Z'",
        "roundhouse request upper hello",
    )
    usual = f"seconds to wait for the broker, and then for the reply ({Run().timeout:g})"
    timeout = option("--timeout", metavar="SECONDS", action=keep("run", "timeout"), help=usual)
    words = f"send one request to a service of {' or '.join(catalogue.SERVERS)}, and print its reply"
    request = command("request", words, connect, timeout, keyarguments.shared(keep), examples=shown)
    request.add_argument("service", metavar="SERVICE", type=given, help="the name of the service")
    request.add_argument("data", metavar="DATA", nargs="?", default="", help="what it is sent; - for stdin (nothing)")
