"""What is remembered of the tasks of jobs: who has which, and how each ended.

- A task that is out or came back is told by its own record. Of one that has ended a row is kept: the newest ``KEPT``
  that succeeded and the newest ``KEPT`` that failed, of all jobs together; of a job that is forgotten none.
- Texts of peers are cut, so that a row has a bound: some 8 MB in all where they are usual, 40 MB at most.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from engine.protocols.conversation.messages import FAULT

KEPT = 10_000  # tasks that have ended well, and as many that failed
MAX_TEXT = 200  # characters of a status
MAX_LOG = 255  # characters of a file's name

WAITS, RUNS, DONE, FAILED = STATES = ("waiting", "running", "done", "failed")


class TaskRow(NamedTuple):
    """One task of a job. ``worker``: who has it or had it last, in words; ``attempts``: how often it was given.

    ``started``: monotonic seconds of when it was given last, in an answer seconds before the answer; ``took``: seconds
    until its end, None before. ``log``: its file's name in the job's folder of logs, empty where it is not known.
    """

    number: int
    state: str
    worker: str
    attempts: int
    started: float
    took: float | None
    status: str
    log: str


def short(status: str) -> str:
    """How a task ended, without the words that say that it failed: its state says so."""
    return status.removeprefix(FAULT)[:MAX_TEXT]


class Past:
    """The tasks that have ended, by job and number."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[int, TaskRow]] = {}
        self._order: dict[str, deque[tuple[int, int]]] = {DONE: deque(), FAILED: deque()}

    def add(self, job_id: int, row: TaskRow) -> None:
        """A task has ended; where there are too many of its kind the oldest is forgotten."""
        self._rows.setdefault(job_id, {})[row.number] = row
        order = self._order[row.state]
        order.append((job_id, row.number))
        if len(order) > KEPT:
            of, number = order.popleft()
            if of in self._rows:  # else the job is forgotten as a whole
                del self._rows[of][number]

    def of(self, job_id: int) -> list[TaskRow]:
        """What is remembered of a job, in no order."""
        return list(self._rows.get(job_id, {}).values())

    def forget(self, job_id: int) -> None:
        """A job is forgotten, and its tasks with it."""
        self._rows.pop(job_id, None)
