"""The command line. Textual is only imported when a screen is asked for.

Exit status: 0 everything asked for succeeded; 1 some of it failed; 2 wrong usage or configuration; 128 + n ended by
signal n. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module

from console.cli.arguments import Asked, read_arguments
from console.cli.consent import refused
from console.cli.streams import OutputLost, result, show_as, tell

SERVERS = ("console", "broker", "worker", "client", "bulkping", "bulkdata")
"""Commands in whose processes cores are driven. Not ``drive``: what it starts needs a process of one thread."""

ALONE = {
    "status": ("status", "status"),
    "check": ("check", "check"),
    "order": ("order", "order"),
    "console": ("screen", "console"),
    "broker": ("roles", "broker"),
    "worker": ("roles", "worker"),
    "client": ("roles", "client"),
    "explore": ("explore", "run"),
    "attach": ("attach", "attach"),
    "replay": ("replay", "replay"),
    "submit": ("jobs", "submit"),
    "jobs": ("jobs", "jobs"),
    "stop": ("jobs", "stop"),
    "request": ("request", "request"),
    "pair": ("pair", "pair"),
    "result": ("results", "show"),
    "tasks": ("deadtasks", "tasks"),
    "pipeline": ("queues", "pipeline"),
    "relay": ("relay", "relay"),
}
"""Commands that take their options and the settings: the module in ``console.cli`` and the function."""


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command line; returns the exit status."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="roundhouse")  # a terminal that knows no "µ" is no reason to fail
    try:
        try:
            status = carry_out(read_arguments(sys.argv[1:] if argv is None else argv))
        except SystemExit as exit_:  # of argparse, after its own message
            status = int(exit_.code or 0)
        result("")
    except OutputLost as lost:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter fails to flush it again
        if lost.pipe:
            return 128 + signal.SIGPIPE
        tell(str(lost))
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return status


def carry_out(asked: Asked) -> int:
    """Hand over to the command's own module, which is imported only now."""
    show_as(getattr(asked.options, "color", "auto"), getattr(asked.options, "quiet", False))
    if asked.command == "paths":
        from console.cli.kept import paths

        return paths()
    if asked.command == "runs":
        from console.cli.kept import runs

        return runs(asked.options)
    if asked.command == "compare":
        from console.cli.compare import compare_kept

        return compare_kept(asked.options)

    if asked.command in ("completion", "man"):
        from console.cli import completion

        return completion.man() if asked.command == "man" else completion.completion(asked.options)

    if asked.command == "keys":
        from console.cli.keys import keys

        return keys(asked.options)
    if status := refused(asked.command, asked.options):
        return status
    from engine.drive.collector import collecting
    from engine.errors import Refused
    from engine.settings.tomlfile import Wrong

    try:
        with collecting() if asked.command in SERVERS else nullcontext():
            return start(asked)
    except Wrong as wrong:
        for problem in wrong.problems:
            tell(str(problem))
    except Refused as refusal:
        tell(str(refusal))
    return 2


def start(asked: Asked) -> int:
    """The commands that run something."""
    if hasattr(asked.options, "env"):
        from engine.drive.environment import narrow

        narrow(asked.options.env)
    if asked.command in ALONE:
        module, name = ALONE[asked.command]
        return int(getattr(import_module(f"console.cli.{module}"), name)(asked.options, asked.flags))
    match asked.command:
        case "drill":
            from console.cli.drill import drill

            return drill(asked.options)
        case "doctor":
            from console.cli.doctor import doctor

            return doctor()
        case "drive" | "feed" as command:
            from console.cli import queues

            return queues.drive(asked.options) if command == "drive" else queues.feed(asked.options)
        case _:
            from console.cli.runs import run

            return run(asked.command, asked.options, asked.flags)


if __name__ == "__main__":
    sys.exit(main())
