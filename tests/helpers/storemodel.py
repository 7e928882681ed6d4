"""A judge of stores: it does itself, as simply as can be, what a store is asked for, and compares."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from engine.core import Ended, Entry, Leased, Outcome, Store, Stored
from engine.parts.store import DEAD, EPOCHS, GLOBAL, KEPT, Keeps

STEPS = 25


class Task:
    """One that has not ended."""

    def __init__(self, entry: Entry) -> None:
        self.entry, self.token = entry, 0
        self.attempts = self.lost = 0


class Crash(NamedTuple):
    """What becomes of a store that dies: without the last commands, or with them."""

    store: Keeps
    done: bool


Crashes = Callable[[Keeps, list[Store], Random], Crash]
"""Have the store die while it does these commands, and open it again."""


class Judge:
    """``perform`` asks the store and raises AssertionError where its answer is wrong."""

    def __init__(self, store: Keeps, crashes: Crashes, random: Random, shared: bool = False) -> None:
        """``shared``: by several brokers. It keeps all outcomes, and may not have at once what was leased."""
        self._shared = shared
        self.store, self._crashes, self._random = store, crashes, random
        self.tasks: list[Task] = []  # oldest first
        self.results: dict[bytes, Outcome] = {}
        self.dead: dict[int, tuple[Entry, str]] = {}  # by number
        self.accepted = self.succeeded = 0
        self.failed: dict[str, int] = {}
        self.tokens: list[int] = []  # ever given out
        self.number = 0

    def play(self, steps: int = STEPS) -> None:
        """Ask for this and that, crash now and then; at the end finish everything."""
        for _ in range(steps):
            commands = [self._command() for _ in range(self._random.randint(1, 3))]
            if self._random.random() < 0.2:
                self._crash(commands)
            else:
                self._judge(commands, self.store.perform(commands))
            self._books()
        self._crash([])
        while self.tasks:
            self._judge(one := [self._next(lease=len(self.tasks))], self.store.perform(one))
            ended = [Ended(task.token, Outcome("")) for task in self.tasks if task.token]
            self._judge(one := [self._next(ended=ended)], self.store.perform(one))
        self._books()
        assert self.accepted == self.succeeded + sum(self.failed.values())

    def _next(self, **asked: object) -> Store:
        self.number += 1
        usual: dict[str, object] = {"ended": [], "lost": [], "tasks": [], "lease": 0, "revive": ()}
        return Store(self.number, **(usual | asked))  # type: ignore[arg-type]

    def _command(self) -> Store:
        random = self._random
        tokens = random.sample(self.tokens, min(len(self.tokens), random.randint(0, 4)))
        outcomes = [
            Outcome(random.choice(("", "", "deadline", "undeliverable")), random.choice((None, b"data")), b"w")
            for _ in tokens
        ]
        lost = random.sample(self.tokens, min(len(self.tokens), random.randint(0, 1)))
        return self._next(
            ended=[Ended(token, outcome) for token, outcome in zip(tokens, outcomes, strict=True)],
            lost=lost,
            tasks=[self._entry() for _ in range(random.randint(0, 3))],
            lease=random.choice((0, 0, 1, 2, 5)),
            revive=tuple(random.sample(range(1, 40), 5)) if not self._shared and random.random() < 0.3 else (),
        )

    def _entry(self) -> Entry:
        random = self._random
        ident = random.randrange(12).to_bytes(random.choice((8, GLOBAL)), "big")
        return Entry(b"client %d" % random.randrange(3), [b"\x04", ident, b"\x01", bytes(random.randrange(40))])

    # ---- what is right -----------------------------------------------------------------------------------------------

    def _crash(self, commands: list[Store]) -> None:
        died = self._crashes(self.store, commands, self._random)
        self.store = died.store
        if died.done:
            for command in commands:
                self._right(command, None)
        for task in self.tasks:
            task.attempts += task.token != 0
            task.token = 0

    def _judge(self, commands: list[Store], answers: list[Stored]) -> None:
        assert [answer.number for answer in answers] == [command.number for command in commands]
        for command, answer in zip(commands, answers, strict=True):
            self._right(command, answer)

    def _right(self, command: Store, answer: Stored | None) -> None:
        """Do it here; ``answer``: what the store said, None where it died."""
        fenced = [one.token for one in command.ended if not self._end(one)]
        for token in command.lost:
            for task in self.tasks:
                task.lost += task.token == token
        revived = sum(map(self._revive, command.revive))
        fates = [self._put(entry) for entry in command.tasks]
        leased = [task for task in self.tasks if not task.token][: command.lease]
        if answer is None:
            for task in leased if not self._shared else ():
                task.token = -1
            return
        assert answer.fates == fates and answer.fenced == fenced and not answer.refused
        assert self._shared or (answer.revived, answer.dead) == (revived, len(self.dead))
        if self._shared:
            leased = [self._meant(one) for one in answer.leased]
        assert [(*one.message, one.attempts, one.lost) for one in answer.leased] == [
            (*task.entry.message, task.attempts, task.lost) for task in leased
        ]
        assert all(one.far or one.client == task.entry.client for one, task in zip(answer.leased, leased, strict=True))
        for one, task in zip(answer.leased, leased, strict=True):
            self._give(one, task)
        assert self._shared or answer.waiting == sum(not task.token for task in self.tasks)

    def _meant(self, leased: Leased) -> Task:
        """What a dead broker had leased comes back by and by, and not in order."""
        key = (leased.message, leased.attempts, leased.lost)
        return next(one for one in self.tasks if not one.token and (one.entry.message, one.attempts, one.lost) == key)

    def _give(self, leased: Leased, task: Task) -> None:
        assert leased.token not in self.tokens, "a token for the second time"
        self.tokens.append(leased.token)
        task.token = leased.token

    def _put(self, entry: Entry) -> Outcome | str | None:
        ident = entry.message[1]
        if len(ident) == GLOBAL:
            if ident in self.results:
                return self.results[ident]
            if any(task.entry.message[1] == ident for task in self.tasks):
                return KEPT
        self.tasks.append(Task(entry))
        self.accepted += 1
        return None

    def _revive(self, number: int) -> bool:
        entry, why = self.dead.pop(number, (None, ""))
        if entry is None:
            return False
        self.results.pop(entry.message[1], None)
        self.failed[why] -= 1
        self.tasks.append(Task(entry))
        return True

    def _end(self, ended: Ended) -> bool:
        task = next((task for task in self.tasks if task.token == ended.token), None)
        if task is None:
            return False
        self.tasks.remove(task)
        if len(task.entry.message[1]) == GLOBAL:
            self.results[task.entry.message[1]] = ended.outcome
        if ended.outcome.why:
            self.failed[ended.outcome.why] = self.failed.get(ended.outcome.why, 0) + 1
            if ended.outcome.why in DEAD:
                self.dead[ended.token & (1 << EPOCHS) - 1] = task.entry, ended.outcome.why
        else:
            self.succeeded += 1
        return True

    def _books(self) -> None:
        counts = self.store.counts()
        leased = sum(task.token != 0 for task in self.tasks)
        assert counts.balanced
        assert counts[:2] == (self.accepted, self.succeeded) and dict(counts.failed) == {
            why: n for why, n in self.failed.items() if n
        }
        if self._shared:  # what a dead broker had leased counts as leased until another one has it
            ended = self.accepted - len(self.tasks)
            assert (counts.waiting + counts.leased, counts.results) == (len(self.tasks), ended)
        else:
            assert counts[3:] == (len(self.tasks) - leased, leased, len(self.results), len(self.dead))
        for number in range(12):
            ident = number.to_bytes(GLOBAL, "big")
            kept = any(task.entry.message[1] == ident for task in self.tasks)
            assert self.store.result(ident) == (KEPT if kept else self.results.get(ident))
