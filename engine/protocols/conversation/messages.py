"""The msgpack bodies of JOB and UPDATE, exactly as the original packs them.

- Maps with the original's keys in its order, nested, minimal widths; unknown keys and bytes behind the map are
  ignored, a missing key is a zero value, structs may come as arrays: all as the original reads.
- Ours: no body and nil are refused; so is any value of another type, and what exceeds a limit.
- Ours: a Task may say ``NumProc`` (ruling 4); an update of a ``:data`` task brings ``Data``, that of a command ``Log``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgpack

from engine.core import Process
from engine.parts.store import GLOBAL
from engine.parts.unpacking import UNREADABLE, unpack

WAITING, RUNNING, FINISHED, HELD, CANCELLED = range(5)
STATUS = ("waiting", "running", "finished", "held", "cancelled")
"""A job's status in words, by its number on the wire; 3 is the seed's "paused", and what the order "hold" leads to."""

DONE = "done"
FAULT = "error encountered: "
WITHDRAWN = f"{FAULT}withdrawn"
MAX_STATUS = 1024  # characters that we send

MAX_DATA = 1024 * 1024  # bytes that one :data task may ask for, and be answered with
MAX_UPDATE = 2 * MAX_DATA  # bytes of an UPDATE's body; a broker is sent no other body
_PATTERN = bytes(range(251)) * (MAX_DATA // 251 + 1)  # 251 is prime: a shifted or torn payload shows

FEW, MANY = 16, 2500  # arrays and maps in what names one thing, in what lists up to 1024; some that nobody knows too

_U64 = 2**64 - 1
_I64 = 2**63 - 1
_LIMITS = {
    "max_array_len": 1024,
    "max_map_len": 256,
    "max_str_len": 64 * 1024,
    "max_bin_len": 4 * 1024 * 1024,
    "max_ext_len": 0,
}


class Description(NamedTuple):
    """The seed's JobDescription: an array of ``num_tasks`` tasks of one command. ``status``: WAITING … CANCELLED."""

    job_id: int
    name: str
    num_tasks: int
    working_dir: str
    logging_dir: str
    command: str
    status: int = WAITING

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Everything in it that has a length."""
        return self.name, self.working_dir, self.logging_dir, self.command


class TaskBody(NamedTuple):
    """The seed's Task: number ``number`` of an array, which takes ``slots`` processors."""

    number: int
    job: Description
    slots: int = 1


class Update(NamedTuple):
    """The seed's JobStatusUpdate. ``free``: the worker's processors without work, None where it does not say.

    ``log``: the name of the task's log in the job's folder of logs, empty where it does not say.
    """

    job_id: int
    task: int
    success: bool
    status: str
    free: int | None = None
    data: bytes | None = None
    log: str = ""


def load(body: bytes, most: int) -> Any:
    """The first msgpack value of a body; whatever follows it is ignored. None for nil and for what can not be read.

    ``most``: arrays and maps in it.
    """
    try:
        return unpack(body, most, **_LIMITS)
    except msgpack.ExtraData as extra:
        return extra.unpacked
    except UNREADABLE:
        return None


def pack_description(job: Description) -> bytes:
    """One JobDescription, to be packed once for all tasks of an array."""
    packed: bytes = msgpack.packb(description_map(job))
    return packed


def pack_task(number: int, description: bytes, slots: int = 1) -> bytes:
    """The body of a JOB with one Task; ``description`` as ``pack_description`` gave it."""
    if slots == 1:
        return b"".join((b"\x82\xa4Task", msgpack.packb(number), b"\xaeJobDescription", description))
    return b"".join(
        (
            b"\x83\xa4Task",
            msgpack.packb(number),
            b"\xaeJobDescription",
            description,
            b"\xa7NumProc",
            msgpack.packb(slots),
        )
    )


def tasks(body: bytes) -> list[TaskBody] | str:
    """The tasks of a JOB's body, or why it is refused. A single Task is a list of one (ruling 3)."""
    value = load(body, MANY)
    several = type(value) is list and bool(value) and type(value[0]) is not int  # else a Task's own fields
    found = [_task(entry) for entry in (value if several else (value,))]
    whole = [task for task in found if task is not None]
    return whole if value != [] and len(whole) == len(found) else "unreadable job"


def pack_update(update: Update) -> bytes:
    """The body of an UPDATE."""
    fields = {
        "JobId": update.job_id,
        "Task": update.task,
        "Success": update.success,
        "Status": update.status,
        "NewJob": None if update.free is None else {"NumProc": update.free},
    }
    if update.data is not None:
        fields["Data"] = update.data
    if update.log:
        fields["Log"] = update.log
    packed: bytes = msgpack.packb(fields)
    return packed


def update(body: bytes) -> Update | str:
    """The update of an UPDATE's body, or why it is refused."""
    value = _fields(load(body, FEW), _UPDATE)
    if value is None:
        return "unreadable update"
    job_id, task, success, status, new_job, data, log = value
    free = None
    if new_job is not None:
        asked = _fields(new_job, _NEW_JOB)
        if asked is None or not whole(asked[0], 0, _I64):
            return "unreadable update"
        free = asked[0]
    right = (
        whole(job_id, 0, _U64)
        and whole(task, -_I64, _I64)
        and type(success) is bool
        and type(status) is type(log) is str
    )
    if not right or (data is not None and (type(data) is not bytes or len(data) > MAX_DATA)):
        return "unreadable update"
    return Update(job_id, task, success, status, free, data, log)


def description(value: Any) -> Description | None:
    """A JobDescription as it came out of msgpack; None where it is none."""
    fields = _fields(value, _DESCRIPTION)
    if fields is None:
        return None
    job_id, name, num_tasks, working_dir, logging_dir, command, status = fields
    texts = all(type(text) is str for text in (name, working_dir, logging_dir, command))
    if not texts or not whole(job_id, 0, _U64) or not whole(num_tasks, 0, _I64) or not whole(status, 0, CANCELLED):
        return None
    return Description(*fields)


def built_in(command: str) -> bool:
    """Whether a command is one of ours that a worker answers by itself: ``:ping``, ``:data N``."""
    return command.startswith(":")


def lone(job: Description) -> bool:
    """Whether this is a single built-in task, the unit of a bulk run, which is answered by its end alone."""
    return job.num_tasks == 1 and built_in(job.command)


def ident_of(job: Description) -> bytes:
    """The global id of a lone built-in task, which a broker with a store names by it; empty where it has none."""
    named = len(job.name) == 2 * GLOBAL and built_in(job.command)
    try:
        return bytes.fromhex(job.name) if named else b""
    except ValueError:
        return b""


def answer(command: str) -> bytes | None:
    """What a built-in command gives: nothing for ``:ping``, N bytes for ``:data N``; None for an unknown one."""
    if command == ":ping":
        return b""
    size = command[6:]
    if not command.startswith(":data ") or not size.isdecimal() or not size.isascii() or len(size) > 7:
        return None
    return _PATTERN[: int(size)] if int(size) <= MAX_DATA else None


_DESCRIPTION = (
    ("JobId", 0),
    ("Name", ""),
    ("NumTasks", 0),
    ("WorkingDir", ""),
    ("LoggingDir", ""),
    ("Command", ""),
    ("Status", 0),
)
_TASK: tuple[tuple[str, Any], ...] = (("Task", 0), ("JobDescription", {}), ("NumProc", 1))
_UPDATE = (("JobId", 0), ("Task", 0), ("Success", False), ("Status", ""), ("NewJob", None), ("Data", None), ("Log", ""))
_NEW_JOB = (("NumProc", 0),)


def description_map(job: Description) -> dict[str, object]:
    """A JobDescription as it goes into msgpack."""
    return {name: value for (name, _), value in zip(_DESCRIPTION, job, strict=True)}


def _task(value: Any) -> TaskBody | None:
    fields = _fields(value, _TASK)
    if fields is None:
        return None
    number, about, slots = fields
    job = description(about)
    if job is None or not whole(number, -_I64, _I64) or not whole(slots, 1, 0xFFFF_FFFF):
        return None
    return TaskBody(number, job, slots)


def _fields(value: Any, names: tuple[tuple[str, Any], ...]) -> list[Any] | None:
    """The values of a struct that came as a map or as an array, zero values where they are missing."""
    if type(value) is dict:
        return [value.get(name, zero) for name, zero in names]
    if type(value) is list:
        given = value[: len(names)]
        return given + [zero for _, zero in names[len(given) :]]
    return None


def whole(value: Any, low: int, high: int) -> bool:
    """Whether this is an int (a bool is none here) within the bounds."""
    return type(value) is int and low <= value <= high


def usable(task: TaskBody) -> bool:
    """Whether this can be run at all: a known built-in, or a command under a name that is no path."""
    job = task.job
    if built_in(job.command):
        return answer(job.command) is not None
    texts = (job.command, job.name, job.working_dir, job.logging_dir)
    return bool(job.command and job.name) and "/" not in job.name and not any("\0" in text for text in texts)


def process(task: TaskBody) -> Process:
    """Task N of an array runs ``[command, str(N)]`` and logs to ``<name>_<N>.log``."""
    job, number = task.job, str(task.number)
    return Process(job.command, number, job.working_dir, job.logging_dir, f"{job.name}_{number}")
