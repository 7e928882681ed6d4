"""What can be asked for on the command line.

Values of settings are not read here: they go to ``engine.settings`` as they were typed, so that they are judged
together with the configuration and in the same words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from engine import __version__
from engine.schema import Misfit, Range, fit, parse
from engine.settings import Endpoint, Flag

EPILOG = """\
Without a command: the console, with everything running in this process.

Exit status: 0 everything asked for succeeded, 1 some of it failed, 2 wrong usage or configuration,
128+n ended by signal n. Results go to stdout, everything else to stderr.
"""
STDOUT = Path("-")
COUNT = Annotated[int, Range(1, 20_000)]
RATE = Annotated[float, Range(0.001, 10_000_000)]


class Asked(NamedTuple):
    """One command line: the command (``console`` where none is named), its own options, and settings."""

    command: str
    options: argparse.Namespace
    flags: list[Flag]


def read_arguments(argv: Sequence[str]) -> Asked:
    """Exits with status 2 and a message for what is not a command line, with 0 after --help and --version."""
    flags: list[Flag] = []
    options = _parser(_keeper(flags)).parse_args(argv)
    return Asked(options.command or "console", options, flags)


def _parser(keep: Callable[..., type[argparse.Action]]) -> argparse.ArgumentParser:
    system = _option("--system", metavar="S", action=keep("system"), help="the system that is spoken, say roundrobin")
    parser = argparse.ArgumentParser(
        prog="roundhouse",
        description="A terminal operations console for ZeroMQ brokers and their workers.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        parents=[system],
    )
    parser.add_argument("--readonly", nargs=0, action=keep("readonly"), help="refuse orders that stop workers")
    parser.add_argument("--version", action="version", version=f"roundhouse {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")

    def command(name: str, words: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        capital = words[0].upper() + words[1:] + "."
        return commands.add_parser(name, help=words, description=capital, parents=parents, allow_abbrev=False)

    bind = _option("--bind", metavar="ENDPOINT", type=_read(Endpoint), help="where to listen")
    connect = _option("--connect", metavar="ENDPOINT", type=_read(Endpoint), help="the broker's endpoint")
    slots = _option("--slots", metavar="N", action=keep("pool", "slots"), help="tasks that a worker takes at once")
    workers = _option("--count", metavar="N", type=_read(COUNT), default=1, help="workers in this process (1)")
    timeout = _option("--timeout", metavar="SECONDS", action=keep("run", "timeout"), help="that a task may take")
    json = _option("--json", metavar="PATH", type=_path, help="write the run as JSON to a file, or - for stdout")
    size = _option("--bytes", metavar="N", action=keep("run", "bytes"), help="of data in each task")
    count = _option("n", metavar="N", action=keep("run", "count"), help="how many")
    window = _option("--in-flight", metavar="N", action=keep("run", "in_flight"), help="tasks that are out at once")
    rate = _option("--rate", metavar="R", type=_read(RATE), help="tasks a second, whatever comes back (open loop)")
    one = (system, connect, timeout, json)
    bulk = (*one, count, window, rate)

    command("broker", "a broker, no screen", system, bind)
    command("worker", "workers for a broker that runs elsewhere, no screen", system, connect, workers, slots)
    command("ping", "one ping without a reply", *one)
    command("pingt", "one ping and its round trip", *one)
    command("data", "one data stream and its round trip", *one, size)
    command("bulkping", "N pings, a few at a time", *bulk)
    command("bulkdata", "N data streams, a few at a time", *bulk, size)
    runs = command("runs", "list the kept runs, or show one")
    runs.add_argument("id", metavar="ID", nargs="?", help="the run to show")
    command("paths", "every file and folder that is used")
    return parser


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
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    return path
