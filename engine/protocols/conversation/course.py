"""What stands in a store of a job, as it is written.

- A *job* is its submission, as its client said it. It is kept until the job has ended.
- A *course* is how far an array has come: beside counts only the tasks that are out or came back, so it is small. The
  newest one counts. A lone task has none.
- A *task* is one of an array that nobody could do: the store has it as a dead task, of an array that goes on.
- How a job has ended is said in words, how a lone task has by its data or its status.
"""

from __future__ import annotations

import re

import msgpack

from engine.core import Frames, Outcome
from engine.parts.store import DEAD
from engine.parts.unpacking import UNREADABLE
from engine.protocols.conversation import frontend, messages
from engine.protocols.conversation.frontend import Answer, JobEnded, Submit, TaskEnded
from engine.protocols.conversation.job import Course, Job
from engine.protocols.conversation.messages import CANCELLED, DONE, FAULT, FINISHED, STATUS

JOB, COURSE, TASK = b"job", b"course", b"task"
BROKEN = "failed"  # why a lone task has failed whose worker says how
KINDS = (*DEAD, "cancelled", "withdrawn", "refused")  # why others have failed
_WORDS = re.compile(rb"job (\d+) (finished|cancelled): (\d+) done, (\d+) failed")


def pack_job(ident: bytes, ref: int, submit: Submit) -> Frames:
    """A submission under an id of its own."""
    return [JOB, ident, frontend.pack_request(ref, submit._replace(again=False))]


def read_job(message: Frames) -> tuple[int, Submit] | None:
    """The number that its client gave it, and the submission; None where it is none."""
    asked = frontend.request(message[2]) if len(message) > 2 else ""
    if isinstance(asked, str) or not isinstance(asked[1], Submit):
        return None
    return asked[0], asked[1]


def pack_course(ident: bytes, job: Job) -> Frames:
    """How far a job has come."""
    running = [(task.number, task.attempt - 1) for task in job.running.values()]  # this try is not lost yet
    back = [(task.number, task.attempt) for task in job.returned]
    course = Course(job.id, job.status, job.fresh, job.done, job.failed, job.dropped, (*running, *back))
    return [COURSE, ident, msgpack.packb(course)]


def read_course(message: Frames, tries: int) -> Course | None:
    """The same out of the store; every task is given once more at least, of ``tries`` times. None where it is none."""
    try:
        job_id, status, fresh, done, failed, dropped, out = msgpack.unpackb(message[2])
        again = tuple((number, max(0, min(attempts, tries - 1))) for number, attempts in sorted(out))
        return Course(job_id, status, fresh, done, failed, dropped, again)
    except (*UNREADABLE, TypeError, IndexError):
        return None


def pack_task(ident: bytes, job: Job, number: int) -> Frames:
    """One task of an array, to be tried again on its own."""
    submit = Submit(job.text._replace(num_tasks=1), job.slots, follow=False)
    return [TASK, ident, frontend.pack_request(0, submit), str(number).encode()]


def named(message: Frames) -> str:
    """A task of an array in words: its number, its job's name and its command; empty for anything else."""
    asked = read_job(message) if message[:1] == [TASK] else None
    if asked is None or len(message) < 4:
        return ""
    job, number = asked[1].job, message[3].decode("ascii", "replace")
    return f"task {number} of {job.name}: {job.command} in {job.working_dir}"


# ---- how it ended ----------------------------------------------------------------------------------------------------


def outcome_of(job: Job) -> Outcome:
    """How an array has ended, or a lone task that was dropped while it waited."""
    if job.lone:
        return Outcome("withdrawn")
    why = "cancelled" if job.status == CANCELLED else "failed" if job.failed else ""
    status = STATUS[CANCELLED if job.status == CANCELLED else FINISHED]
    return Outcome(why, f"job {job.id} {status}: {job.done} done, {job.failed} failed".encode())


def outcome_of_task(update: messages.Update, worker: bytes) -> Outcome:
    """How a lone task has ended."""
    if update.success:
        return Outcome("", update.data, worker)
    why = update.status.removeprefix(FAULT)
    return Outcome(why) if why in KINDS else Outcome(BROKEN, update.status.encode(), worker)


def answers(ref: int, submit: Submit, outcome: Outcome) -> list[Answer]:
    """What whoever submits it again is told of a job that has ended."""
    why, data, _ = outcome
    if messages.lone(submit.job):
        status = DONE if not why else (data or b"").decode("utf-8", "replace") if why == BROKEN else f"{FAULT}{why}"
        return [TaskEnded(ref, 0, 1, not why, status, None if why else data)]
    said = _WORDS.fullmatch(data or b"")
    if said is None:
        return [frontend.Refusal(ref, f"it has ended: {why}")]
    job_id, done, failed = (int(said[number]) for number in (1, 3, 4))
    ended = JobEnded(ref, job_id, STATUS.index(said[2].decode()), done, failed)
    return [frontend.Accepted(ref, job_id), *[ended] * submit.follow]
