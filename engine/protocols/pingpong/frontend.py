"""The broker's frontend half: what clients ask, what they are told, and what is withdrawn of them.

The rules of this file:

- What was accepted is answered once: DONE, FAILED or WITHDRAWN. What was not accepted is answered FULL or REFUSED.
- A client that asks for a task again, because its connection broke or was silent, is answered when that task ends. Only
  another job under an id that is in use is refused.
- What waits of a client that is gone is withdrawn. It is told so all the same, for it may only have stood still.
"""

from __future__ import annotations

from collections.abc import Collection

from engine.core import Command, Frames, Note, Send
from engine.parts.callers import MOVED, Callers
from engine.parts.inflight import Task, TaskKey
from engine.parts.limits import MAX_HELD, MAX_ROUTING_ID
from engine.parts.plain import several
from engine.parts.violations import Violations
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.messages import DONE, FAILED, FULL, NOT_A_JOB, PONG, REFUSED, WITHDRAWN
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.tasks import Tasks

FRONTEND = "frontend"
BACKLOG_FULL = "the backlog is full"


class Frontend:
    """Reads clients' messages into ``tasks``, and answers them."""

    def __init__(self, options: Options, tasks: Tasks, violations: Violations) -> None:
        self._options, self._tasks, self._violations = options, tasks, violations
        self.callers = Callers()
        self.full = self.refused = self.again = 0

    def read(self, frames: Frames, idle: bool, now: float, out: list[Command]) -> bool:
        """Take one message. ``idle``: a worker is. True if a task is new."""
        request = messages.from_client(frames)
        client = frames[0][:MAX_ROUTING_ID] if frames else b""
        if isinstance(request, str):
            out.extend(self._violations.add(client, request, now))
            return False
        self._tasks.owners.heard(client, now)
        task_id, job = request
        if not task_id:
            out.append(Send([client, b"", PONG], FRONTEND))
            return False
        self.callers.sent(client, 1, now)
        known = self._job((client, task_id))
        if known == job:
            self.again += 1
        elif known is not None:
            out.extend(self._violations.add(client, "id in use", now))
            self._refuse(client, task_id, b"a task of another job has this id", out)
        elif job in NOT_A_JOB:  # ruling 3
            self._refuse(client, task_id, b"a job may not be %s: a worker takes it for a command" % job, out)
        else:
            return self._accept((client, task_id), job, idle, now, out)
        return False

    def _job(self, key: TaskKey) -> bytes | None:
        """The job of a task that has not ended."""
        task = self._tasks.get(key)
        return None if task is None else task.message[0]

    def _accept(self, key: TaskKey, job: bytes, idle: bool, now: float, out: list[Command]) -> bool:
        """A task that is new; whether it waits now."""
        client, task_id = key
        why = self._excess(client, job, idle)
        if why:  # rulings 7 and 14
            self.full += 1
            out.append(Send([client, b"", task_id, FULL, why.encode()], FRONTEND))
            return False
        self._tasks.accept(key, job, now)
        return True

    def done(self, task: Task, result: bytes, now: float, out: list[Command]) -> None:
        """A worker has answered."""
        self._tasks.done(task, now)
        self._tell(task, DONE, result, out)

    def returned(self, task: Task, out: list[Command]) -> None:
        """A delivery came to nothing."""
        if self._tasks.retry(task):
            self._keep(task, out)
        else:
            out.append(Note("bad", f"a task failed after {task.attempt} deliveries", task.worker))
            self._tell(task, FAILED, b"%d deliveries came to nothing" % task.attempt, out)

    def undone(self, task: Task, out: list[Command]) -> None:
        """A task never left for its worker."""
        self._tasks.undo(task)
        self._keep(task, out)

    def expire(self, now: float, out: list[Command]) -> None:
        """Withdraw what waits of clients that are gone."""
        gone = self._tasks.owners.silent(now)
        if gone and (withdrawn := self._withdraw(gone, b"its client was silent", out)):
            out.append(Note("warn", f"{several(withdrawn, 'task')} withdrawn from the backlog: clients are silent"))

    def withdraw(self, client: bytes, out: list[Command]) -> None:
        """An operator says that what waits of a client is not to be done."""
        withdrawn = self._withdraw([client], b"an operator said so", out)
        out.append(Note("info", f"{several(withdrawn, 'task')} withdrawn from the backlog", client))

    def discard(self, key: TaskKey, out: list[Command]) -> None:
        """An operator says that a task which waits is not to be done."""
        task = self._tasks.get(key)
        if task is None or not self._tasks.discard(task):
            out.append(Note("warn", f"task {key[1].hex()} does not wait any more", key[0], True))
            return
        self._tell(task, WITHDRAWN, b"an operator said so", out)
        out.append(Note("info", f"task {key[1].hex()}, which waited, is withdrawn", key[0]))

    def move(self, key: TaskKey, first: bool, out: list[Command]) -> None:
        """An operator says that a task which waits is to be given before the others, or after them."""
        task = self._tasks.get(key)
        if task is None or not self._tasks.move(task, first):
            out.append(Note("warn", f"task {key[1].hex()} does not wait any more", key[0], True))
        else:
            out.append(Note("info", f"task {key[1].hex()} {MOVED[first]}", key[0]))

    def _keep(self, task: Task, out: list[Command]) -> None:
        """A task waits again; unless nobody waits for it."""
        if self._tasks.owners.gone(task.key[0]):
            self._withdraw([task.key[0]], b"its client was silent", out)

    def _withdraw(self, clients: Collection[bytes], why: bytes, out: list[Command]) -> int:
        tasks = self._tasks.withdraw(frozenset(clients))
        for task in tasks:
            self._tell(task, WITHDRAWN, why, out)
        return len(tasks)

    def _excess(self, client: bytes, job: bytes, idle: bool) -> str:
        tasks, waiting = self._tasks, len(self._tasks.backlog)
        if (waiting >= self._options.max_backlog and not idle) or tasks.size + len(job) > MAX_HELD:
            return BACKLOG_FULL
        return tasks.owners.excess(client, 0 if idle else 1, len(job))

    def _refuse(self, client: bytes, task_id: bytes, why: bytes, out: list[Command]) -> None:
        self.refused += 1
        out.append(Send([client, b"", task_id, REFUSED, why], FRONTEND))

    def _tell(self, task: Task, status: bytes, text: bytes, out: list[Command]) -> None:
        client, task_id = task.key
        out.append(Send([client, b"", task_id, status, text], FRONTEND))
