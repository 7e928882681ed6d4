"""Orders that destroy something: they ask on a terminal, and without one need ``--yes``."""

from __future__ import annotations

import sys
from argparse import Namespace

from console.cli.parsing import Parser, option
from console.cli.streams import tell
from console.text import clean


def consenting() -> Parser:
    """The argument of commands that may destroy something."""
    return option("--yes", action="store_true", help="do what destroys something without asking")


def fate(command: str, options: Namespace) -> str:
    """What a command destroys, as a question; nothing where it destroys nothing."""
    match command:
        case "jobs" if options.order == "cancel":
            return f"Cancel job {options.id}? Its tasks that wait are dropped."
        case "stop" if options.now:
            return "Stop all workers now? The tasks that they run are killed."
        case "pipeline" if options.order == "kill":
            return f"Kill all drivers of {clean(str(options.root))}? What they hold counts as failed."
        case "pipeline" if options.order == "recover":
            names = ", ".join(map(clean, options.names))
            return (
                f"Are the drivers {names} dead? What they hold counts as failed; if one lives, it is worked on twice."
            )
    return ""


def refused(command: str, options: Namespace) -> int:
    """0 where it may be done; 1 where the operator says no; 2, and the reason is told, where nobody can be asked."""
    question = fate(command, options)
    if not question or options.yes:
        return 0
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        tell(f"{command} is not done without a terminal to ask on: {question} --yes says so")
        return 2
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return 0 if sys.stdin.readline().strip().lower() in ("y", "yes") else 1
