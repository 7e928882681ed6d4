"""What every broker has to keep to, whatever its protocol: judged by its messages alone.

The rules of this file:

- A witness stands beside a broker's core and reads what comes and goes. It is copied with the core, and what it
  remembers tells states apart. So it believes nothing that the core says of itself, but for who has a free slot.
- Always: a reply goes to a client that has asked for it and waits, once, and an answer goes to nobody else.
- What a system asks of each step of its broker (``Explored.step``) is asked here.
- Where nothing goes wrong: a task is given once, in the order in which tasks came, and to the worker that was used
  longest ago of those that have a free slot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.core import Command, Core, Event, Received, Send
from engine.parts.explain import Decoded, Explain, task_name
from engine.parts.explored import UNEXPLORED, Explored
from engine.parts.inflight import TaskKey

LOOSE = {"properties.Witness": frozenset({"used", "waiting"})}
"""What a witness remembers in vain where something may go wrong: it serves the strict rules alone."""

MOST = 2  # times that a request that came twice is remembered


class Rules(NamedTuple):
    """What a witness goes by. ``strict``: nothing goes wrong. ``alone``: no other broker tells this one of tasks.
    ``twice``: a message may come twice, and a request that does may count as another one. ``workers``: routing ids.
    ``own``: what the system itself asks of each step.
    """

    explain: Explain
    strict: bool
    alone: bool
    twice: bool
    workers: tuple[bytes, ...]
    own: Explored = UNEXPLORED


class Constant:
    """A value that never changes, so that copies share it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Witness:
    """What one broker was told and said."""

    def __init__(self) -> None:
        self.waiting: list[TaskKey] = []  # asked for, and never given
        self.open: list[TaskKey] = []  # asked for, and not answered
        self.held: dict[tuple[bytes, bytes], TaskKey] = {}  # worker, and the name that both have for the task
        self.used: list[bytes] = []  # workers, the one that was used longest ago first

    def came(self, one: Decoded, twice: bool = False) -> TaskKey | None:
        """A message of a peer; the task that it answers."""
        peer = one.peer or b""
        if one.leg == "request":
            key = (one.client or peer, one.task)
            if key not in self.open or (twice and self.open.count(key) < MOST):
                self.open.append(key)
                self.waiting.append(key)
        elif one.leg == "answer":
            known = self.held.pop((peer, one.alias or one.task), None)
            self._use(peer)
            return (one.client, one.task) if one.task else known
        return None

    def gave(self, one: Decoded, key: TaskKey | None, rules: Rules, free: set[bytes]) -> str:
        """A task goes to a worker. ``free``: who had a free slot before this event, and was not used since."""
        worker, strict, wrong = one.peer or b"", rules.strict, ""
        if key is not None:
            if key not in self.open and rules.alone:
                wrong = f"task {task_name(key[1])} is given, and nobody waits for it"
            elif strict and key in self.open and key not in self.waiting:
                wrong = f"task {task_name(key[1])} is given twice"
            if key in self.waiting:
                self.waiting.remove(key)
            self.held[worker, one.alias or key[1]] = key
        if strict and not wrong and worker in free and worker in self.used:
            at = self.used.index(worker)
            longer = [other for other in free - {worker} if other not in self.used[at:]]
            if longer:
                wrong = f"{worker!r} is given a task, though {longer[0]!r} was used longer ago"
        self._use(worker)
        free.discard(worker)
        return wrong

    def overtaken(self, before: list[TaskKey]) -> str:
        """Of the tasks that waited ``before`` an event, whether others than the first were given in it. They may have
        gone in packed messages, whose order says nothing.
        """
        given = [key for key in before if key not in self.waiting]
        late = [key for key in before[: len(given)] if key not in given]
        first = next((key for key in given if key not in before[: len(given)]), None)
        return f"task {task_name(first[1])} overtakes {task_name(late[0][1])}" if first is not None else ""

    def replied(self, one: Decoded, rules: Rules, answered: list[TaskKey]) -> str:
        """A reply goes to a client. ``answered``: the tasks of the answers that came."""
        key = (one.client or one.peer or b"", one.task)
        if one.peer != key[0]:
            return f"the reply to task {task_name(key[1])} goes to {one.peer!r}, who is not its client"
        if answered and one.leg == "reply" and key not in answered:
            first = task_name(answered[0][1])
            return f"the answer to task {first} goes to task {task_name(key[1])} of {key[0]!r}"
        if key not in self.open:
            doubt = f"a reply to task {task_name(key[1])} of {key[0]!r}, who does not wait for it"
            return doubt if rules.alone else ""
        self.open.remove(key)
        if key in self.waiting:
            self.waiting.remove(key)
        return ""

    def _use(self, worker: bytes) -> None:
        if worker in self.used:
            self.used.remove(worker)
        self.used.append(worker)


class Observed:
    """A broker's core with its witness, as one core. ``wrong``: what the last event showed, empty for nothing."""

    def __init__(self, core: Core, rules: Constant) -> None:
        self.core, self.rules = core, rules
        self.witness = Witness()
        self.wrong = ""

    def handle(self, event: Event, now: float) -> list[Command]:
        """See ``engine.core.Core``."""
        rules: Rules = self.rules.value
        answered: list[TaskKey] = []
        free: set[bytes] = set()
        if type(event) is Received:
            for frames in event.messages:
                for one in rules.explain.decode("broker", "in", list(frames), event.socket):
                    if not one.leg:
                        continue
                    if rules.strict and not free:
                        free = {row.key for row in self.core.snapshot(now).workers if row.free}
                    if (key := self.witness.came(one, rules.twice)) is not None:
                        answered.append(key)
        free.intersection_update(rules.workers)
        mark = rules.own.mark(self.core, now)
        commands = self.core.handle(event, now)
        self.wrong, before = rules.own.step(mark, self.core, now), list(self.witness.waiting)
        for command in commands:
            if type(command) is Send:
                self._said(command, answered, free)
        if rules.strict:
            self.wrong = self.wrong or self.witness.overtaken(before)
        return commands

    def _said(self, send: Send, answered: list[TaskKey], free: set[bytes]) -> None:
        rules: Rules = self.rules.value
        for one in rules.explain.decode("broker", "out", list(send.frames), send.socket):
            if one.leg == "give":
                key: TaskKey | None = (one.client, one.task) if one.task else None
                if key is None and rules.explain.whose is not None:
                    key = rules.explain.whose(self.core, send)
                self.wrong = self.wrong or self.witness.gave(one, key, rules, free)
            elif one.leg in ("reply", "denial"):
                self.wrong = self.wrong or self.witness.replied(one, rules, answered)

    def wake_at(self) -> float:
        """See ``engine.core.Core``."""
        return self.core.wake_at()

    def check(self) -> None:
        """See ``engine.core.Core``."""
        self.core.check()
        assert not self.wrong, self.wrong

    def snapshot(self, now: float) -> Any:
        """See ``engine.core.Core``."""
        return self.core.snapshot(now)
