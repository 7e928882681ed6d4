"""What can be typed about jobs, in the console and at a prompt; ``submit`` takes the command's own arguments."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser
from typing import NoReturn

from console.commands import Command, CommandError, Word
from console.jobs.arguments import add_job
from console.jobs.file import submit_of
from console.text import clean
from engine.protocols.conversation.frontend import CancelJob, Hold, Release, StopWorkers, Submit
from engine.protocols.conversation.header import STOP_ALL, STOP_NOW
from engine.settings.tomlfile import Wrong

MOST = 2**32 - 2  # processors of one STOP

WORDS = (
    Word("submit", "FILE", "submit a job: a FILE that describes it, or options, then -- and its command"),
    Word("jobs", "", "list the jobs"),
    Word("hold", "JOB", "give no more tasks of a job"),
    Word("release", "JOB", "give them again"),
    Word("cancel", "JOB", "drop what waits of a job, after a question"),
    Word(
        "stop",
        "[N|all|now]",
        "stop the current run, or a worker; N: take N processors away, all of them, or at once",
    ),
)


Order = Hold | Release | CancelJob | StopWorkers


def request_of(command: Command) -> Order:
    """What a typed command asks of the broker. Raises ``CommandError`` in words; ``submit`` is ``job_of``."""
    name, text = command.name, str(command.argument)
    if name == "stop":
        every = {"all": STOP_ALL, "now": STOP_NOW}
        return StopWorkers(every[text] if text in every else _number(text, "a number of processors, all or now", MOST))
    job_id = _number(text, "the id of a job", 2**63 - 1)
    return Hold(job_id) if name == "hold" else Release(job_id) if name == "release" else CancelJob(job_id)


def _number(text: str, what: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= most):
        raise CommandError(f"expected {what}, got {clean(text)!r}")
    return int(text)


class _Line(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raises ValueError with what is wrong."""
        raise ValueError(message.removeprefix("argument "))


def job_of(line: str) -> tuple[Submit, tuple[str, ...]]:
    """``FILE``, or ``--tasks 50 -- COMMAND ARGUMENT``: what is to be submitted, and the words of its command.

    Raises ValueError in words for who typed it.
    """
    words = shlex.split(line)
    at = words.index("--") if "--" in words else len(words)
    parser = _Line(prog="submit", add_help=False, allow_abbrev=False)
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
