"""What a round robin broker knows of one worker, and the row that an operator sees of it."""

from __future__ import annotations

from engine.core import NEVER, Frames
from engine.parts.inflight import Task
from engine.parts.view import State, WorkerRow
from engine.protocols.roundrobin.messages import EXEC, OTHER, PLAIN


class Worker:
    """One worker of the table. Times: monotonic seconds."""

    __slots__ = (
        "apart",
        "done",
        "failed",
        "held",
        "joined",
        "key",
        "leaving",
        "lost_at",
        "name",
        "opened",
        "owed",
        "owed_at",
        "ping_at",
        "ping_id",
        "quiet",
        "row",
        "rtt",
        "slots",
        "stranger",
        "written_off",
    )

    def __init__(self, key: bytes, name: str, slots: int, now: float) -> None:
        self.key, self.name, self.slots, self.joined = key, name, slots, now
        self.held: dict[Task, None] = {}  # in the order in which they were given
        self.owed = 0  # tasks that it answered and whose INCREMENT is still to come
        self.owed_at = 0.0  # its last answer
        self.quiet: dict[Task, None] = {}  # of them, what is ended by an INCREMENT alone; oldest first
        self.written_off = 0  # tasks taken from it whose INCREMENT may still come, and frees nothing
        self.done = self.failed = 0
        self.leaving = False
        self.apart = False  # gets nothing until it is empty: kept for a suspect, or alone with one
        self.lost_at = NEVER  # when it was lost; NEVER while it is not
        self.opened = NEVER  # when it sent the link PING after which it has done nothing else; NEVER if it has
        self.stranger = False  # whoever has its id now is no worker: only a REGISTER makes it one again
        self.ping_id = 0  # of our unanswered PING, 0 for none
        self.ping_at = 0.0
        self.rtt: float | None = None
        self.row: WorkerRow | None = None  # as shown last; None when something has changed since

    @property
    def used(self) -> int:
        """Slots: one for each task that it holds and for each answer that is still owed an INCREMENT."""
        return len(self.held) + self.owed

    @property
    def stands(self) -> str:
        """Its state in the map of ``explain``."""
        if self.lost_at != NEVER:
            return "lost"
        if self.leaving:
            return "draining"
        return "ready" if self.used < self.slots else "busy"

    def state(self, heard: float, late_after: float, now: float) -> State:
        """In the operator's words; ``late_after``: seconds of silence that make it late."""
        if self.lost_at != NEVER:
            return "lost"
        if self.leaving:
            return "drain"
        if now - heard > late_after:
            return "late"
        return "ready" if self.used < self.slots else "busy"

    def view(self, state: State, heard: float, expiry: float, violations: int) -> WorkerRow:
        """The row, the same object as long as nothing in it changes."""
        row = self.row
        if row is None or row.state != state or row.violations != violations or row.heard != heard:
            row = self.row = WorkerRow(
                key=self.key,
                name=self.name,
                state=state,
                slots=self.slots,
                free=max(0, self.slots - self.used),
                in_flight=len(self.held),
                done=self.done,
                failed=self.failed,
                violations=violations,
                joined=self.joined,
                heard=heard,
                lost_at=min(self.lost_at, heard + expiry),
                rtt=self.rtt,
            )
        return row


def is_empty(worker: Worker) -> bool:
    """Whether a suspect may be given to it."""
    return not worker.used


def is_quiet(task: Task) -> bool:
    """Whether an INCREMENT alone ends it: nobody waits for a reply, or its worker may not know how to make one."""
    return task.message[0] == EXEC or task.kind == OTHER


def size_of(message: Frames) -> int:
    """Bytes of a task, nothing where it brings no arguments: there its id's bound is one."""
    return sum(map(len, message)) if len(message) > PLAIN else 0
