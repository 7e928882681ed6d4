"""The tasks that workers hold: with which worker each is, since when, and which attempt it is.

A task is accepted once and delivered at most a limited number of times. Between the two it is either queued in its
core's backlog or held by exactly one worker; this part is the only record of the second.
"""

from __future__ import annotations

from collections.abc import Iterable

TaskKey = tuple[bytes, bytes]
"""(the client's routing id, the id that the client gave)"""


class Task:
    """One accepted task. ``message``: what the core needs to deliver it again, opaque here. Times: monotonic seconds.

    ``given`` is 0.0 until the first delivery. ``attempt`` counts deliveries, ``worker`` holds it now.
    """

    __slots__ = ("accepted", "attempt", "given", "key", "kind", "message", "worker")

    def __init__(self, key: TaskKey, kind: str, message: list[bytes], accepted: float) -> None:
        self.key = key
        self.kind = kind
        self.message = message
        self.accepted = accepted
        self.given = 0.0
        self.attempt = 0
        self.worker = b""


class InFlight:
    """Tasks held by workers, found by worker and key in O(1), listed by worker in order of delivery."""

    __slots__ = ("_held", "count")

    def __init__(self) -> None:
        self._held: dict[bytes, dict[TaskKey, Task]] = {}
        self.count = 0

    def give(self, task: Task, worker: bytes, now: float) -> None:
        """Record a delivery."""
        task.worker, task.given = worker, now
        task.attempt += 1
        held = self._held.get(worker)
        if held is None:
            held = self._held[worker] = {}
        held[task.key] = task
        self.count += 1

    def take(self, worker: bytes, key: TaskKey) -> Task | None:
        """The task that this worker holds under this key, no longer in flight; None if it holds no such task."""
        held = self._held.get(worker)
        task = held.pop(key, None) if held else None
        if task is not None:
            self.count -= 1
        return task

    def take_all(self, worker: bytes) -> list[Task]:
        """Everything that a worker holds, in the order in which it was given; it holds nothing afterwards."""
        held = self._held.pop(worker, {})
        self.count -= len(held)
        return list(held.values())

    def of(self, worker: bytes) -> Iterable[Task]:
        """What a worker holds, in the order in which it was given."""
        return self._held.get(worker, {}).values()

    def held(self, worker: bytes) -> int:
        """How many tasks a worker holds."""
        return len(self._held.get(worker, ()))

    def all(self) -> list[Task]:
        """Every task that is out."""
        return [task for held in self._held.values() for task in held.values()]

    def check(self) -> None:
        """No task is with two workers, and every record agrees with its place."""
        keys = [key for held in self._held.values() for key in held]
        assert len(keys) == len(set(keys)) == self.count, "a task is held twice, or the count is off"
        for worker, held in self._held.items():
            for key, task in held.items():
                assert task.key == key and task.worker == worker and task.attempt >= 1
