"""What the broker answers, in words for people: in notes, on the screen and on the command line."""

from __future__ import annotations

from engine.parts.plain import several
from engine.protocols.conversation import messages
from engine.protocols.conversation.frontend import (
    Accepted,
    Answer,
    JobEnded,
    JobRow,
    JobsListed,
    Refusal,
    Stopping,
    TaskEnded,
    TasksListed,
)
from engine.protocols.conversation.header import STOP_NOW
from engine.protocols.conversation.messages import CANCELLED


def wants(row: JobRow, largest: int) -> str:
    """Why what waits of a job can go to none of the workers that are there; empty where it can, or need not.

    ``largest``: the most processors that one of them has.
    """
    if not row.waiting or row.slots <= largest or row.job.status in (messages.HELD, messages.CANCELLED):
        return ""
    needs = f"needs {several(row.slots, 'processor')}"
    return f"{needs}, " + (f"the largest worker has {largest}" if largest else "no worker is there")


def stops(told: Stopping) -> str:
    """What really stops, in words."""
    if not told.workers:
        return "nothing stops: no worker is there that has processors left"
    some = "1 processor stops" if told.nproc == 1 else f"{told.nproc} processors stop"
    of = several(told.workers, "worker")
    if told.asked == STOP_NOW:
        return f"{some} at once, of {of}; what ran there is given back"
    short = "" if told.asked <= told.nproc else f", {told.asked} were asked for"
    rest = "none is left" if not told.left else "1 is left" if told.left == 1 else f"{told.left} are left"
    return f"{some}, of {of}{short}; {rest}"


def of(answer: Answer) -> str:
    """An answer, for a broker's own operator."""
    match answer:
        case Accepted(_, job_id):
            return f"job {job_id}: so ordered"
        case Refusal(_, why):
            return f"refused: {why}"
        case Stopping():
            return stops(answer)
        case JobEnded(_, job_id, status, done, failed):
            return f"job {job_id} {'cancelled' if status == CANCELLED else 'ended'}: {done} done, {failed} failed"
        case JobsListed(_, jobs, more):
            return f"{several(len(jobs) + more, 'job')}"
        case TasksListed(_, job, tasks, more):
            return f"job {job.job.job_id}: {several(len(tasks) + more, 'task')}"
        case TaskEnded(_, job_id, task, _, status):
            return f"job {job_id} task {task}: {status}"
