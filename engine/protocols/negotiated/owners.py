"""Whose the tasks of a broker are: what a client asked for has that client as owner, and nothing stays without one.

The bounds here are one client's share. Without them one that asks for what nobody does fills the backlog for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from engine.parts.inflight import Task
from engine.parts.limits import MAX_HELD

SERVICES = 64  # for which one client may have tasks
BYTES = MAX_HELD // 8  # of the bodies of one client's tasks
LEAST = 1_000  # tasks of one client that may wait, however short the backlog


def share(backlog: int) -> int:
    """How many tasks of one client may wait in a backlog of so many: a tenth."""
    return min(backlog, max(LEAST, backlog // 10))


class Owner:
    """One client's tasks. ``waiting`` of them are with no worker; ``size``: bytes of all their bodies."""

    __slots__ = ("services", "size", "tasks", "waiting")

    def __init__(self) -> None:
        self.tasks: dict[bytes, Task] = {}
        self.services: Counter[str] = Counter()
        self.size = self.waiting = 0


class Owners:
    """Those who have tasks at a broker, by routing id."""

    def __init__(self) -> None:
        self._owners: dict[bytes, Owner] = {}

    def __contains__(self, client: bytes) -> bool:
        return client in self._owners

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._owners)

    def items(self) -> Iterator[tuple[bytes, Owner]]:
        """Each with what it has."""
        return iter(self._owners.items())

    def add(self, task: Task) -> None:
        """A task is there, and waits."""
        client, task_id = task.key
        owner = self._owners.get(client)
        if owner is None:
            owner = self._owners[client] = Owner()
        owner.tasks[task_id] = task
        owner.services[task.kind] += 1
        owner.size += len(task.message[0])
        owner.waiting += 1

    def given(self, task: Task) -> None:
        """A worker has it."""
        self._owners[task.key[0]].waiting -= 1

    def back(self, task: Task) -> None:
        """It waits again."""
        self._owners[task.key[0]].waiting += 1

    def remove(self, task: Task) -> None:
        """A task that does not wait is over."""
        client, task_id = task.key
        owner = self._owners[client]
        del owner.tasks[task_id]
        owner.size -= len(task.message[0])
        owner.services[task.kind] -= 1
        if not owner.services[task.kind]:
            del owner.services[task.kind]
        if not owner.tasks:
            del self._owners[client]

    def waiting(self, client: bytes) -> list[Task]:
        """A client's tasks that are with no worker, oldest first."""
        owner = self._owners.get(client)
        return [] if owner is None or not owner.waiting else [task for task in owner.tasks.values() if not task.worker]

    def excess(self, client: bytes, service: str, size: int) -> str:
        """Why a client may not have one more task for a service, of so many bytes; empty where it may."""
        owner = self._owners.get(client)
        if owner is None:
            return ""
        if service not in owner.services and len(owner.services) >= SERVICES:
            return f"you have tasks for {SERVICES} services, which is the most"
        if owner.size + size > BYTES:
            return f"your tasks would have more than {BYTES} bytes"
        return ""

    def queued(self, client: bytes) -> int:
        """How many tasks of a client wait."""
        owner = self._owners.get(client)
        return owner.waiting if owner is not None else 0

    def check(self, tasks: dict[tuple[bytes, bytes], Task]) -> None:
        """Each task has its owner, and each owner is counted right."""
        assert sum(len(owner.tasks) for owner in self._owners.values()) == len(tasks)
        for client, owner in self._owners.items():
            mine = list(owner.tasks.values())
            assert mine and all(tasks.get((client, task_id)) is task for task_id, task in owner.tasks.items())
            assert owner.waiting == sum(not task.worker for task in mine), f"{client!r}: waiting is miscounted"
            assert owner.size == sum(len(task.message[0]) for task in mine)
            assert owner.services == Counter(task.kind for task in mine)
