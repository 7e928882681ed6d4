"""The conversation's own commands: submit an array of tasks, see and steer the jobs, stop workers.

Each is one order to the broker's control socket and its answer; ``submit --wait`` follows its job to the end.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from console.cli.common import broker_of, settings_of
from console.cli.jobtasks import show
from console.cli.signals import Signals
from console.cli.streams import deliver, result, tell, unanswered
from console.jobs.file import doubtful_logs, scripted, submit_of
from console.text import clean
from engine.drive.control.caller import Caller
from engine.drive.control.place import place
from engine.protocols.conversation import ORDERS as SPOKEN
from engine.protocols.conversation.frontend import (
    Accepted,
    Answer,
    CancelJob,
    Hold,
    JobEnded,
    JobRow,
    JobsListed,
    ListJobs,
    Refusal,
    Release,
    Request,
    Stopping,
    StopWorkers,
    Submit,
    TaskEnded,
)
from engine.protocols.conversation.header import STOP_ALL, STOP_NOW
from engine.protocols.conversation.messages import CANCELLED, FINISHED, STATUS
from engine.protocols.conversation.words import stops, wants
from engine.settings.paths import Paths
from engine.settings.settings import Flag
from engine.settings.tomlfile import Problem, Wrong

SYSTEM = "conversation"
SCHEMA = "roundhouse.jobs/1"
STEP = 0.05  # seconds between two looks at the answers
AGAIN = 3  # times that a job is submitted again whose broker does not answer, each after ``SILENCE``
ASSURE = 40  # steps between two questions whether the broker still knows a job
HEAD = ("job", "name", "status", "tasks", "waiting", "running", "done", "failed", "processors", "command")
ORDERS: dict[str, tuple[type[Any], str]] = {
    "hold": (Hold, "is held"),
    "release": (Release, "is released"),
    "cancel": (CancelJob, "is cancelled"),
}


class JobSession:
    """A broker's control socket, as one command meets it."""

    def __init__(self, caller: Caller, signals: Signals, endpoint: str) -> None:
        self.signals = signals
        self.refused = False  # whether the answer to the last question was no, so that nothing of it was done
        self._caller, self._endpoint = caller, endpoint
        self._fresh: deque[Answer] = deque()

    @property
    def linked(self) -> bool:
        """Whether the broker is there."""
        return self._caller.linked

    def order(self, request: Request) -> None:
        """Send an order."""
        self._caller.order(request)

    def answer(self) -> Answer | None:
        """The next answer, if one has come. Raises ``engine.errors.Refused`` for another version."""
        if not self._fresh:
            self._fresh.extend(self._caller.answers(0))
        return self._fresh.popleft() if self._fresh else None

    def ask(self, request: Request) -> Answer | None:
        """An order and its answer; None, and the reason is told, where a signal came or the answer is no.

        A job is submitted again where the broker does not answer: by its id a broker with a store knows what it took
        before it died, and one without refuses, as the job may have run.
        """
        self.order(request)
        tries, again = AGAIN if isinstance(request, Submit) and request.ident else 0, False
        while (answer := self.answer()) is None and (self.linked or tries):
            if not self.linked and isinstance(request, Submit):
                if tries == AGAIN:
                    tell(f"nobody answers at {clean(self._endpoint)}: the job is submitted again, under the same id")
                tries -= 1
                again = True
                self._caller.anew()
                self.order(request._replace(again=True))
            if self.signals.wait(STEP):
                return None
        self.refused = isinstance(answer, Refusal) and not again
        if answer is not None and not isinstance(answer, Refusal):
            return answer
        about = f"job {request.job_id}: " if isinstance(request, (Hold, Release, CancelJob)) else ""
        tell(unanswered(SYSTEM, self._endpoint) if answer is None else about + clean(answer.why))
        return None


def submit(options: Namespace, flags: list[Flag]) -> int:
    """Submit a job and print its id. With ``--wait`` 0 where every task succeeded, else 1."""
    request, words = submit_of(options)
    if why := doubtful_logs(request.job):
        tell(clean(why))
    with session(options, flags) as counter:
        request = scripted(request._replace(follow=options.wait), words, Paths.of_user().jobs)
        answer = counter.ask(request)
        if not isinstance(answer, Accepted):
            if counter.refused and len(words) > 1:
                os.unlink(request.job.command)  # the script that was just made for it; nobody runs it
            return counter.signals.status(1)
        result(f"{answer.job_id}\n")
        return follow(counter, answer.job_id) if options.wait else 0


def follow(counter: JobSession, job_id: int) -> int:
    """Until a job has ended, or nobody is left who knows how it does; what failed is told as it does.

    A broker with a store that was started again goes on with it and does not know who follows it: then its list tells.
    """
    steps, told, over = 0, "", False
    counter.order(ListJobs())
    while not counter.signals.wait(STEP):
        while (answer := counter.answer()) is not None:
            match answer:
                case TaskEnded(_, _, task, False, status):
                    tell(clean(f"task {task}: {status}"))
                case JobEnded(_, _, status, done, failed):
                    return end(status, done, failed)
                case JobsListed(_, rows, more, largest):
                    found = [row for row in rows if row.job.job_id == job_id]
                    here = [wants(row, largest) for row in found]
                    if not here and not more:
                        tell(f"the broker does not know job {job_id} any more: it was started again")
                        return 1
                    if over and has_ended(found):  # for so long that its end was told, if to us
                        return end(found[0].job.status, found[0].done, found[0].failed)
                    over = has_ended(found)
                    if here and here[0] != told:
                        told = here[0]
                        tell(f"job {job_id} {told or 'fits a worker now'}")
        if not counter.linked:
            tell("the broker does not answer any more")
            return 1
        steps += 1
        if steps % ASSURE == 0:
            counter.order(ListJobs())
    tell(f"job {job_id} goes on")
    return counter.signals.status(1)


def has_ended(found: Sequence[JobRow]) -> bool:
    """Whether nothing of this job is left, as far as it is listed."""
    return any(row.job.status in (FINISHED, CANCELLED) and not row.running for row in found)


def end(status: int, done: int, failed: int) -> int:
    """Tell how a job has ended; the exit status."""
    result(f"{STATUS[status]}: {done} done, {failed} failed\n")
    return 1 if failed else 0


def jobs(options: Namespace, flags: list[Flag]) -> int:
    """List the jobs, or give an order about one of them."""
    with session(options, flags) as counter:
        if options.order == "show":
            return show(counter, options)
        if options.order:
            order, done = ORDERS[options.order]
            answer = counter.ask(order(options.id))
            if answer is not None:
                result(f"job {options.id} {done}\n")
            return counter.signals.status(1) if answer is None else 0
        answer = counter.ask(ListJobs())
        if not isinstance(answer, JobsListed):
            return counter.signals.status(1)
        if options.json is not None:
            return 0 if deliver(document(answer), options.json) else 1
        result(table(answer))
        return 0


def stop(options: Namespace, flags: list[Flag]) -> int:
    """Take processors from the workers, and say what really stops; status 1 where nothing does."""
    with session(options, flags) as counter:
        nproc = STOP_NOW if options.now else STOP_ALL if options.all else options.n
        answer = counter.ask(StopWorkers(nproc))
        if not isinstance(answer, Stopping):
            return counter.signals.status(1)
        result(f"{stops(answer)}\n")
        return 0 if answer.workers else 1


@contextmanager
def session(options: Namespace, flags: list[Flag]) -> Iterator[JobSession]:
    """The broker's control socket for one command. Raises ``Wrong`` where another system is asked for, and
    ``engine.errors.Refused`` where no broker of this user is there.
    """
    for flag in flags:
        if flag.place == ("system",) and flag.text != SYSTEM:
            raise Wrong([Problem(flag.name, f"jobs are those of {SYSTEM}, not of {clean(flag.text)}")])
    settings = settings_of([*flags, Flag(("system",), "--system", SYSTEM)])
    endpoint = options.connect or broker_of(settings)
    with Signals() as signals, Caller(place(settings.paths.control, endpoint), endpoint, SPOKEN) as caller:
        yield JobSession(caller, signals, endpoint)


def table(listed: JobsListed) -> str:
    """A line for each job, oldest first."""
    rows = [HEAD, *map(row, listed.jobs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, cells, widths)).rstrip() for cells in rows]
    if listed.more:
        lines.append(f"and {listed.more} older ones")
    wanting = [(job.job.job_id, wants(job, listed.largest)) for job in listed.jobs]
    lines += [f"job {job_id} waits: it {why}" for job_id, why in wanting if why]
    return "".join(f"{line}\n" for line in lines)


def row(job: JobRow) -> tuple[str, ...]:
    """One job in cells."""
    about = job.job
    counts = (about.num_tasks, job.waiting, job.running, job.done, job.failed, job.slots)
    texts = (str(about.job_id), clean(about.name, 24), STATUS[about.status])
    return (*texts, *map(str, counts), clean(about.command, 60))


def document(listed: JobsListed) -> str:
    """The jobs as JSON, ``SCHEMA``."""
    found = [
        {
            "id": job.job.job_id,
            "name": job.job.name,
            "status": STATUS[job.job.status],
            "tasks": job.job.num_tasks,
            "waiting": job.waiting,
            "running": job.running,
            "done": job.done,
            "failed": job.failed,
            "processors": job.slots,
            "command": job.job.command,
            "dir": job.job.working_dir,
            "logs": job.job.logging_dir,
            "wants": wants(job, listed.largest) or None,
        }
        for job in listed.jobs
    ]
    return json.dumps({"schema": SCHEMA, "jobs": found, "older": listed.more}, indent=2) + "\n"
