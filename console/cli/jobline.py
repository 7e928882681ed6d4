"""A job as it is typed in one line: the arguments of the command ``submit``, without a shell."""

from __future__ import annotations

import shlex
from typing import NoReturn

from console.cli.arguments import add_job
from console.cli.jobfile import submit_of
from console.cli.parsing import Parser
from engine.protocols.conversation.frontend import Submit
from engine.settings import Wrong


class _Line(Parser):
    def error(self, message: str) -> NoReturn:
        """Raises ValueError with what is wrong."""
        raise ValueError(message.removeprefix("argument "))


def job_of(line: str) -> tuple[Submit, tuple[str, ...]]:
    """``FILE``, or ``--tasks 50 -- COMMAND ARGUMENT``: what is to be submitted, and the words of its command.

    Raises ValueError in words for who typed it.
    """
    words = shlex.split(line)
    at = words.index("--") if "--" in words else len(words)
    parser = _Line(prog="submit", add_help=False)
    add_job(parser)
    options, unknown = parser.parse_known_args(words[:at])
    options.words = words[at + 1 :]
    if unknown:
        raise ValueError(f"{' '.join(unknown)}: no such argument; put the command behind --")
    if (options.file is None) == (not options.words):
        raise ValueError("either a FILE that describes the job, or -- and its command")
    try:
        return submit_of(options)
    except Wrong as wrong:
        raise ValueError("; ".join(map(str, wrong.problems))) from None
