"""Words about jobs at a broker's prompt: each is one order to its control socket, and its answer in words."""

from __future__ import annotations

import os
from pathlib import Path

from console.cli.jobs import table
from console.commands import Command, CommandError
from console.jobs.file import scripted
from console.jobs.line import job_of, request_of
from engine.drive.control.caller import Caller
from engine.drive.control.place import place
from engine.errors import Refused
from engine.protocols.conversation import ORDERS, frontend, words
from engine.protocols.conversation.frontend import Answer, JobsListed, ListJobs, Request
from engine.settings.tomlfile import Wrong

STEP = 0.05  # seconds between two looks at the answers; a request leaves with one of them


def carry_out(command: Command, control: Path, endpoint: str, scripts: Path) -> str:
    """Do what was typed at the broker at this endpoint; what is to be printed.

    ``control``: the folder of control sockets; ``scripts``: that of the scripts of jobs. Raises ``CommandError`` where
    the words are wrong, ``Refused`` where the broker says no.
    """
    made: str | None = None
    request: Request
    if command.name == "jobs":
        request = ListJobs()
    elif command.name == "submit":
        try:
            submit, typed = job_of(str(command.argument))
            request = scripted(submit._replace(follow=False), typed, scripts)
        except (ValueError, Wrong) as wrong:
            raise CommandError(f"submit: {wrong}") from None
        made = request.job.command if len(typed) > 1 else None
    else:
        request = request_of(command)
    answer = ask(request, control, endpoint)
    if isinstance(answer, frontend.Refusal):
        if made is not None:
            os.unlink(made)  # nobody runs it
        raise Refused(f"{command.name}: {answer.why}")
    if isinstance(answer, JobsListed):
        return table(answer)
    return f"{words.of(answer)}\n"


def ask(request: Request, control: Path, endpoint: str) -> Answer:
    """One order and its answer. Raises ``Refused`` where none comes."""
    with Caller(place(control, endpoint), endpoint, ORDERS) as caller:
        caller.order(request)
        answers: list[Answer] = []
        while not answers and caller.linked:
            answers = caller.answers(STEP)
    if not answers:
        raise Refused(f"the broker at {endpoint} does not answer")
    return answers[0]
