"""Tasks that a worker had when it was lost: any of them may be what ended it, so each is tried alone.

The rules of this file:

- A suspect goes only to a worker that holds nothing, and its caller gives that one nothing beside it. So a task that
  ends every worker that tries it ends no other task with it.
- Where everybody holds something, one worker is kept for each suspect that waits, the least recently used first: it
  gets nothing until it is empty. So suspects wait no longer than for what one worker holds, and the others go on with
  new tasks.
- Never more are kept than suspects wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from engine.parts.inflight import Task
from engine.parts.ready import Ready

W = TypeVar("W", bound=Hashable)


class Suspects(Generic[W]):
    """``waiting``: the suspects, the next one first. ``kept``: workers, which stand in no order of ready ones."""

    __slots__ = ("kept", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[Task] = deque()
        self.kept: dict[W, None] = {}

    def match(self, ready: Ready[W], empty: Callable[[W], bool]) -> list[tuple[Task, W]]:
        """Suspects that wait no longer, each with the worker that is to have it, and that is to be ready no longer.

        Call it when a suspect is new, or when the worker put last into ``ready`` may have become empty: where each
        suspect has a worker kept for it, no other worker is looked at.
        """
        last = ready.last()
        if last is None:
            return []
        among = list(ready) if len(self.kept) < len(self.waiting) else [last]
        found = [worker for worker in among if empty(worker)]
        return [(self.waiting.popleft(), worker) for worker in found[: len(self.waiting)]]

    def keep(self, ready: Ready[W]) -> list[W]:
        """Workers that are kept from now on, and were taken out of ``ready``."""
        found = []
        while len(self.kept) < len(self.waiting) and (worker := ready.first()) is not None:
            ready.drop(worker)
            self.kept[worker] = None
            found.append(worker)
        return found

    def spare(self) -> list[W]:
        """Workers that are kept no longer, for fewer suspects wait."""
        return [self.kept.popitem()[0] for _ in range(len(self.kept) - len(self.waiting))]

    def check(self, ready: Iterable[W], empty: Callable[[W], bool]) -> None:
        """No worker is kept without need, and no suspect waits while a worker could have it."""
        assert len(self.kept) <= len(self.waiting), "a worker is kept for nobody"
        assert all(task.attempt for task in self.waiting), "one that was never tried is a suspect"
        assert not any(map(empty, self.kept)), "a suspect waits beside an empty worker that is kept"
        ready = list(ready)
        assert not self.kept.keys() & set(ready), "a worker that is kept is ready"
        assert not self.waiting or not any(map(empty, ready)), "a suspect waits beside an empty worker"
        assert not ready or len(self.kept) == len(self.waiting), "a suspect has no worker kept for it"
