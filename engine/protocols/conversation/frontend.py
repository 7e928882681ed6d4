"""What clients say to the broker and hear from it. Ours: the seed describes only the other side of its server.

- One message is one frame, a msgpack map; an empty frame is a keep-alive, and the broker answers it with one.
- A request names itself by ``Ask`` and numbers itself by ``Ref``, which every answer to it repeats.
- A job is first ``accepted``; only a lone built-in task (``:ping``, ``:data N``) is answered by its end alone.
- ``Follow``: the client hears of the end of each task and of the job. Without it, only of acceptance.
- ``Id``: 16 random bytes. A broker with a store takes a job with an id once, whoever submits it how often.
- ``Again``: the client has submitted this before, under the same ``Ref``, and does not know what became of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgpack

from engine.parts.store import GLOBAL
from engine.protocols.conversation import messages
from engine.protocols.conversation.header import STOP_NOW
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.past import TaskRow

MAX_NAME = 128  # characters: the name becomes part of a file's name
MAX_PATH = 4096  # characters
MAX_SIZE = 1024  # processors of one task
CONTROL = b"control"  # the client that speaks for the broker's own user, through the control socket
FULL = "full"  # what a refusal begins with where there is no room
MAX_LISTED = 500  # jobs in one answer, the newest
MAX_TASKS = 1000  # tasks in one answer
MAX_CROWDS = 100  # clients in one answer whose lone tasks wait
MAX_LIST = 1024 * 1024  # bytes of their texts

# ---- requests: also the orders that a client core takes, ``Ordered(Submit(…))`` -----------------------------------


class Submit(NamedTuple):
    """Queue an array of tasks. Its job id and status are the broker's to give. ``slots``: processors of one task.

    ``again``: it may have been taken already; then only its answers are wanted. ``ident``: 16 random bytes, under which
    a broker with a store knows it again, or none.
    """

    job: Description
    slots: int = 1
    follow: bool = True
    again: bool = False
    ident: bytes = b""


class ListJobs(NamedTuple):
    """Ask for the jobs that the broker knows. The lone built-in tasks of one client that wait are one row."""


class ListTasks(NamedTuple):
    """Ask for the tasks of a job: those whose number is above ``after``; ``failed``: those alone that failed."""

    job_id: int
    failed: bool = False
    after: int = 0


class Hold(NamedTuple):
    """Give no more tasks of a job; what runs goes on."""

    job_id: int


class Release(NamedTuple):
    """Undo a hold."""

    job_id: int


class CancelJob(NamedTuple):
    """Drop what waits of a job; what runs goes on, for the seed has no message that ends one task.

    For a lone built-in task: of all those of its client.
    """

    job_id: int


class StopWorkers(NamedTuple):
    """Take so many processors from the workers, newest worker first. 0: all; ``STOP_NOW``: all, killing what runs."""

    nproc: int = 0


Request = Submit | ListJobs | ListTasks | Hold | Release | CancelJob | StopWorkers

# ---- answers ----------------------------------------------------------------------------------------------------


class Accepted(NamedTuple):
    """A job is queued; or, with the job's id, a hold, release or cancel is done."""

    ref: int
    job_id: int


class Stopping(NamedTuple):
    """What a stop does: ``nproc`` processors of ``workers`` are taken, of ``asked``, and ``left`` are left in all."""

    ref: int
    asked: int
    nproc: int
    workers: int
    left: int


class Refusal(NamedTuple):
    """Nothing was done, and why."""

    ref: int
    why: str


class TaskEnded(NamedTuple):
    """One task has ended. ``data``: what a ``:data`` task gave."""

    ref: int
    job_id: int
    task: int
    success: bool
    status: str
    data: bytes | None


class JobEnded(NamedTuple):
    """The last task of a job has ended. ``status``: FINISHED or CANCELLED; ``done``, ``failed``: tasks."""

    ref: int
    job_id: int
    status: int
    done: int
    failed: int


class JobRow(NamedTuple):
    """One job in a list; the counts are tasks."""

    job: Description
    slots: int
    waiting: int
    running: int
    done: int
    failed: int


class JobsListed(NamedTuple):
    """The newest jobs, oldest first, and how many more there are. ``largest``: the most processors of one worker."""

    ref: int
    jobs: tuple[JobRow, ...]
    more: int
    largest: int = 0


class TasksListed(NamedTuple):
    """Tasks of a job that were given at least once, by number, and how many more the broker knows above the last.

    ``forgotten``: tasks that have ended and are not remembered (``past``).
    """

    ref: int
    job: JobRow
    tasks: tuple[TaskRow, ...]
    more: int
    forgotten: int


Answer = Accepted | Stopping | Refusal | TaskEnded | JobEnded | JobsListed | TasksListed

_ASKS: dict[str, type[Any]] = {
    "submit": Submit,
    "jobs": ListJobs,
    "tasks": ListTasks,
    "hold": Hold,
    "release": Release,
    "cancel": CancelJob,
    "stop": StopWorkers,
}
_NAMES = {kind: name for name, kind in _ASKS.items()}
_SAYS: dict[str, type[Any]] = {
    "accepted": Accepted,
    "stopping": Stopping,
    "refused": Refusal,
    "task": TaskEnded,
    "job": JobEnded,
    "jobs": JobsListed,
    "tasks": TasksListed,
}
_REF = (1 << 63) - 1


def pack_request(ref: int, request: Request) -> bytes:
    """One request as a message."""
    fields: dict[str, object] = {"Ask": _NAMES[type(request)], "Ref": ref}
    match request:
        case Submit(job, slots, follow, again, ident):
            fields |= {"JobDescription": messages.description_map(job), "NumProc": slots, "Follow": follow}
            if again:
                fields["Again"] = True
            if ident:
                fields["Id"] = ident
        case Hold(job_id) | Release(job_id) | CancelJob(job_id):
            fields["JobId"] = job_id
        case ListTasks(job_id, failed, after):
            fields |= {"JobId": job_id, "Failed": failed, "After": after}
        case StopWorkers(nproc):
            fields["NumProc"] = nproc
    packed: bytes = msgpack.packb(fields)
    return packed


def request(body: bytes) -> tuple[int, Request] | str:
    """A client's number and request, or why the message is no request at all."""
    return parsed(messages.load(body, messages.FEW))


def parsed(value: Any) -> tuple[int, Request] | str:
    """The same of a message that is out of msgpack."""
    if type(value) is not dict:
        return "unreadable request"
    ref: Any = value.get("Ref")
    kind = _ASKS.get(_text(value.get("Ask")))
    if not messages.whole(ref, 0, _REF) or kind is None:
        return "unreadable request"
    nproc, job_id = value.get("NumProc", 1), value.get("JobId", 0)
    if kind is ListJobs:
        return ref, ListJobs()
    if kind is Submit:
        job = messages.description(value.get("JobDescription"))
        follow, again, ident = value.get("Follow", False), value.get("Again", False), value.get("Id", b"")
        whole = type(follow) is type(again) is bool and messages.whole(nproc, 1, MAX_SIZE)
        if not whole or job is None or type(ident) is not bytes or len(ident) not in (0, GLOBAL):
            return "unreadable request"
        return ref, Submit(job, nproc, follow, again, ident)
    if kind is StopWorkers:
        return (ref, StopWorkers(nproc)) if messages.whole(nproc, 0, STOP_NOW) else "unreadable request"
    if not messages.whole(job_id, 1, _REF):
        return "unreadable request"
    if kind is ListTasks:
        failed, after = value.get("Failed", False), value.get("After", 0)
        right = type(failed) is bool and messages.whole(after, 0, _REF)
        return (ref, ListTasks(job_id, failed, after)) if right else "unreadable request"
    return ref, kind(job_id)


def refusal(submit: Submit) -> str:
    """Why a job can not be taken as it is described, empty where it can."""
    job = submit.job
    if job.num_tasks < 1:
        return "no tasks"
    if any("\0" in text or len(text) > MAX_PATH for text in job.texts) or not job.command:
        return "unusable command or path"
    if any("\ud800" <= character <= "\udfff" for text in job.texts if not text.isascii() for character in text):
        return "command or path is not UTF-8"
    if messages.built_in(job.command):
        return "" if messages.answer(job.command) is not None else "unknown built-in command"
    if not job.name or "/" in job.name or len(job.name) > MAX_NAME:
        return f"unusable name: 1 to {MAX_NAME} characters, none of them a slash"
    if not job.working_dir.startswith("/") or not job.logging_dir.startswith("/"):
        return "working and log directories must be absolute"
    return ""


def follows(request: Request) -> bool:
    """Whether a request has more answers than one."""
    return isinstance(request, Submit) and request.follow


def unfit(order: object) -> str:
    """Why an order can not be given as it stands, empty where it can."""
    return refusal(order) if isinstance(order, Submit) else ""


def pack_answer(answer: Answer) -> bytes:
    """One answer as a message."""
    match answer:
        case TaskEnded(ref, job_id, task, success, status, data):
            fields: dict[str, object] = {
                "Say": "task",
                "Ref": ref,
                "JobId": job_id,
                "Task": task,
                "Success": success,
                "Status": status,
            }
            if data is not None:
                fields["Data"] = data
        case Accepted(ref, job_id):
            fields = {"Say": "accepted", "Ref": ref, "JobId": job_id}
        case Stopping(ref, asked, nproc, workers, left):
            counts = {"Asked": asked, "NumProc": nproc, "Workers": workers, "Left": left}
            fields = {"Say": "stopping", "Ref": ref, **counts}
        case Refusal(ref, why):
            fields = {"Say": "refused", "Ref": ref, "Why": why}
        case JobEnded(ref, job_id, status, done, failed):
            fields = {"Say": "job", "Ref": ref, "JobId": job_id, "Status": status, "Done": done, "Failed": failed}
        case JobsListed(ref, jobs, more, largest):
            rows = [_row_map(row) for row in jobs]
            fields = {"Say": "jobs", "Ref": ref, "Jobs": rows, "More": more, "Largest": largest}
        case TasksListed(ref, job, tasks, more, forgotten):
            about = {"Job": _row_map(job), "Tasks": tasks, "More": more, "Forgotten": forgotten}
            fields = {"Say": "tasks", "Ref": ref, **about}
    packed: bytes = msgpack.packb(fields)
    return packed


def answer(body: bytes) -> Answer | str:
    """The broker's answer, or why the message is none."""
    return answered(messages.load(body, messages.MANY))


def answered(value: Any) -> Answer | str:
    """The same of a message that is out of msgpack."""
    if type(value) is not dict:
        return "unreadable answer"
    ref: Any = value.get("Ref")
    kind = _SAYS.get(_text(value.get("Say")))
    if not messages.whole(ref, 0, _REF) or kind is None:
        return "unreadable answer"
    if kind is JobsListed:
        return _listed(ref, value)
    if kind is TasksListed:
        return _tasks_listed(ref, value)
    wanted = _ANSWERS[kind]
    fields: list[Any] = [value.get(name) for name in wanted]
    if not all(type(field) in types for field, types in zip(fields, wanted.values(), strict=True)):
        return "unreadable answer"
    found: Answer = kind(ref, *fields)
    return found


def loaded(message: bytes) -> dict[str, Any]:
    """The map of one of our own messages."""
    value: dict[str, Any] = messages.load(message, messages.MANY)
    return value


_INT = (int,)
_ANSWERS: dict[type[Any], dict[str, tuple[type[Any], ...]]] = {
    Accepted: {"JobId": _INT},
    Stopping: {"Asked": _INT, "NumProc": _INT, "Workers": _INT, "Left": _INT},
    Refusal: {"Why": (str,)},
    TaskEnded: {"JobId": _INT, "Task": _INT, "Success": (bool,), "Status": (str,), "Data": (bytes, type(None))},
    JobEnded: {"JobId": _INT, "Status": _INT, "Done": _INT, "Failed": _INT},
}
_TASK: tuple[Any, ...] = (int, str, str, int, float, (float, type(None)), str, str)
_COUNTS = ("NumProc", "Waiting", "Running", "Done", "Failed")


def _row_map(row: JobRow) -> dict[str, object]:
    return {"JobDescription": messages.description_map(row.job), **dict(zip(_COUNTS, row[1:], strict=True))}


def _listed(ref: int, value: dict[str, Any]) -> JobsListed | str:
    rows, more, largest = value.get("Jobs"), value.get("More"), value.get("Largest", 0)
    if type(rows) is not list or type(more) is not int or type(largest) is not int:
        return "unreadable answer"
    found = [_job_row(row) for row in rows]
    whole = tuple(row for row in found if row is not None)
    return JobsListed(ref, whole, more, largest) if len(whole) == len(found) else "unreadable answer"


def _job_row(row: Any) -> JobRow | None:
    job = messages.description(row.get("JobDescription")) if type(row) is dict else None
    if job is None or not all(messages.whole(row.get(name), 0, _REF) for name in _COUNTS):
        return None
    return JobRow(job, *(row[name] for name in _COUNTS))


def _tasks_listed(ref: int, value: dict[str, Any]) -> TasksListed | str:
    job, rows, more, forgotten = (value.get(name) for name in ("Job", "Tasks", "More", "Forgotten"))
    about = _job_row(job)
    if about is None or type(rows) is not list or type(more) is not int or type(forgotten) is not int:
        return "unreadable answer"
    if not all(
        type(row) is list
        and len(row) == len(_TASK)
        and all(isinstance(at, of) for at, of in zip(row, _TASK, strict=True))
        for row in rows
    ):
        return "unreadable answer"
    return TasksListed(ref, about, tuple(TaskRow(*row) for row in rows), more, forgotten)


def _text(value: Any) -> str:
    return value if type(value) is str else ""
