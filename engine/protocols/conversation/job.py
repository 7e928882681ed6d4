"""One job of a broker: an array of ``num_tasks`` tasks, numbered from 1, and a task of it that is out.

Tasks are made when they are given, not before, so an array costs the same whatever its length.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from typing import NamedTuple

from engine.parts.inflight import Task
from engine.protocols.conversation import messages
from engine.protocols.conversation.frontend import CONTROL
from engine.protocols.conversation.machine import Does
from engine.protocols.conversation.messages import RUNNING, STATUS, Description
from engine.protocols.conversation.past import TaskRow

ID = Struct(">QQ")  # job, task: big endian, so that ids read and sort as people expect


class JobTask(Task):
    """A task in flight: which one, the counter of the JOB that carried it (ruling 8), how often it was refused.

    ``holder``: the name of the worker that has it or had it last; ``why``: why it came back.
    """

    __slots__ = ("counter", "holder", "job", "number", "refusals", "why")

    def __init__(self, job: Job, number: int) -> None:
        super().__init__((job.client, ID.pack(job.id, number)), job.kind, [], job.accepted)
        self.job, self.number = job, number
        self.counter = self.refusals = 0
        self.holder = self.why = ""

    def row(self, state: str, took: float | None = None, status: str = "", log: str = "") -> TaskRow:
        """What is told of it."""
        return TaskRow(self.number, state, self.holder, self.attempt, self.given, took, status, log)


class Job:
    """One array. ``out``, ``done``, ``failed``, ``dropped`` count tasks; ``returned`` are those that came back.

    ``running``: those that are out, by number, of a job that is no lone task. ``told``: failures that were told.
    ``base``: the number before its first one.
    """

    __slots__ = (
        "accepted", "base", "builtin", "client", "done", "dropped", "entry", "failed", "follow", "fresh", "id", "kind",
        "lone", "out", "owner", "packed", "ref", "returned", "running", "size", "slots", "state", "text", "told",
    )  # fmt: skip

    def __init__(self, job_id: int, text: Description, slots: int, client: bytes, ref: int, accepted: float) -> None:
        self.id, self.text, self.slots = job_id, text, slots
        self.size = size_of(text)
        self.client = client
        self.owner = b"" if client == CONTROL else client
        self.ref, self.accepted = ref, accepted
        self.follow = False
        self.builtin = messages.built_in(text.command)
        self.lone = self.builtin and text.num_tasks == 1  # it is answered by its end alone
        self.kind = text.command[1:5] if self.builtin else "job"
        self.state = Does.NEW
        self.base = 0
        self.fresh = 1  # the number, behind the base, of the next task that was never given
        self.returned: deque[JobTask] = deque()
        self.running: dict[int, JobTask] = {}
        self.out = self.done = self.failed = self.dropped = self.told = 0
        self.entry: tuple[int, int] | None = None  # where it stands in its queue
        self.packed = b""  # its description as JOBs carry it, once one does

    @property
    def body(self) -> bytes:
        """The packed description that JOBs of this array carry."""
        if not self.packed:
            self.packed = messages.pack_description(self.text._replace(job_id=self.id, status=RUNNING))
        return self.packed

    @property
    def status(self) -> int:
        """Its state as messages say it."""
        return STATUS.index(self.state)

    @property
    def queued(self) -> int:
        """Tasks that wait: not given, and not dropped."""
        return self.text.num_tasks - self.fresh + 1 + len(self.returned)

    @property
    def description(self) -> Description:
        """What was submitted, with the id and the status of now."""
        return self.text._replace(job_id=self.id, status=self.status)


class Course(NamedTuple):
    """How far a job has come, as ``Job`` has it. ``out``: of each task that was given and has not ended its number, and
    how often a worker was lost with it.
    """

    job_id: int
    status: int
    fresh: int
    done: int
    failed: int
    dropped: int
    out: tuple[tuple[int, int], ...]


def size_of(text: Description) -> int:
    """Bytes of what a client wrote."""
    return sum(len(part.encode()) for part in text.texts)
