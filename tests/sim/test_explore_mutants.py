"""The model checker proves itself: cores with a planted mistake each, and the course of events that shows it.

A mutant is a method of a core's class with something else in its place. What is expected is what is found wrong, and
every move from the moment at which all have joined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from engine.catalogue import SYSTEMS
from engine.parts.ready import Ready
from engine.parts.suspects import Suspects
from engine.protocols.conversation.jobs import Jobs
from engine.protocols.conversation.machine import Does
from engine.protocols.negotiated.dispatcher import Dispatcher
from engine.protocols.negotiated.machine import Rank
from engine.protocols.negotiated.standby import Standby
from engine.protocols.pingpong.broker import Broker as PingBroker
from engine.protocols.pingpong.table import Table
from engine.protocols.pingpong.tasks import Tasks
from engine.protocols.roundrobin.lanes import Lanes
from engine.protocols.roundrobin.pool import Pool
from engine.sim.explore.counterexample import repeat
from engine.sim.explore.model import Model
from engine.sim.explore.scene import Bounds, Scene
from engine.sim.explore.walk import Walk


class Mutant(NamedTuple):
    """``of``: class, method, and what stands in its place, made of the real one."""

    name: str
    system: str
    of: tuple[type[Any], str, Callable[[Any], Any]]
    wrong: str
    course: tuple[str, ...]
    scene: dict[str, Any]


def freed_twice(real: Any) -> Any:
    def increment(self: Any, worker: Any, now: float, out: list[Any]) -> Any:
        wrong = real(self, worker, now, out)
        worker.owed -= 1
        return wrong

    return increment


def to_the_wrong_client(real: Any) -> Any:
    def relay(self: Any, client: bytes, ident: bytes, *rest: Any) -> None:
        other = next((peer for peer in self.peers if peer != client and peer.endswith(b"02")), client)
        real(self, other, ident, *rest)

    return relay


def beside_others(real: Any) -> Any:
    return lambda self, ready, empty: real(self, ready, lambda worker: True)


def last_first(real: Any) -> Any:
    return lambda self: next(reversed(self.order), None)


def newest_first(real: Any) -> Any:
    def give(self: Any, worker: bytes, now: float) -> Any:
        self.backlog.rotate(1)
        return real(self, worker, now)

    return give


def not_taken_back(real: Any) -> Any:
    return lambda self, worker, tasks: worker.held.clear()


def idle_though_busy(real: Any) -> Any:
    def step(self: Any, worker: Any, event: str, guard: str = "") -> None:
        real(self, worker, event, guard)
        if event == "PING":
            self.ready.put(worker.key)

    return step


def task_forgotten(real: Any) -> Any:
    def take_back(self: Any, worker: Any, out: list[Any]) -> None:
        worker.task = None

    return take_back


def given_and_kept(real: Any) -> Any:
    def next(self: Any, *rest: Any) -> Any:
        task = real(self, *rest)
        if task is not None:
            self.queued += 1
        return task

    return next


def slot_kept(real: Any) -> Any:
    def take(self: Any, key: bytes, task_key: Any) -> Any:
        task = real(self, key, task_key)
        if task is not None and (member := self.members.get(key)) is not None:
            self._unqueue(member)
        return task

    return take


def held_when_it_came_back(real: Any) -> Any:
    def back(self: Any, task: Any) -> None:
        real(self, task)
        self.ripe -= 1
        task.job.state = Does.HELD

    return back


def serves_after_a_gap(real: Any) -> Any:
    def heard(self: Any, state: Any, sequence: int, *rest: Any) -> Any:
        gap = sequence > self.peer_sequence + 1 > 0
        news = real(self, state, sequence, *rest)
        self.state = Rank.ACTIVE if gap else self.state
        return news

    return heard


def too_early(real: Any) -> Any:
    return lambda self: self.peer_at + 0.75 * self._interval  # a moment's silence, and no request


PACKED = {"heartbeat": 2.0, "expiry": 6.0, "packed": True}
SEED = {**PACKED, "packed": False}
"""Settings of round robin, on the packed lane and on the seed's own."""

MUTANTS = (
    Mutant(
        "a slot is freed twice",
        "roundrobin",
        (Pool, "increment", freed_twice),
        "broker: check: assert key in pool.liveness and worker.owed >= 0 and worker.written_off >= 0",
        (
            "client is asked",
            "client > broker",
            "broker > worker-1",
            "worker-1 > broker",
            "broker > client",
            "worker-1 > broker",
        ),
        {"options": SEED},
    ),
    Mutant(
        "a reply goes to the wrong client",
        "roundrobin",
        (Lanes, "relay", to_the_wrong_client),
        "broker: the answer to task 0 goes to task 0 of b'tcp://127.0.0.1:6714:102'",
        ("client is asked", "client > broker", "broker > worker-1", "worker-1 > broker"),
        {"options": PACKED, "clients": 2, "tasks": 1},
    ),
    Mutant(
        "a suspect goes beside other tasks",
        "roundrobin",
        (Suspects, "match", beside_others),
        "broker: not alone",
        ("client is asked", "client > broker", "broker > worker-1", "kill worker-2", "worker-2 > broker"),
        {"options": PACKED, "slots": 2, "tasks": 2, "faults": ("kill",)},
    ),
    Mutant(
        "the worker that was used last is first",
        "roundrobin",
        (Ready, "first", last_first),
        "broker: b'tcp://127.0.0.1:6714:2' is given a task, though b'tcp://127.0.0.1:6714:1' was used longer ago",
        (
            "client is asked",
            "client > broker",
            "broker > worker-2",
            "worker-2 > broker",
            "broker > client",
            "client-2 is asked",
            "client-2 > broker",
        ),
        {"options": PACKED, "clients": 2, "tasks": 1},
    ),
    Mutant(
        "what a lost worker had is forgotten",
        "roundrobin",
        (Pool, "take_back", not_taken_back),
        "broker: the ledger does not balance: "
        "LedgerView(sent=2, succeeded=0, failed=(), in_flight=1, queued=0, dropped=0)",
        ("client is asked", "client > broker", "broker > worker-1", "kill worker-2", "worker-2 > broker"),
        {"options": PACKED, "faults": ("kill",)},
    ),
    Mutant(
        "the newest task is first",
        "pingpong",
        (Tasks, "give", newest_first),
        "broker: task 2 overtakes 1",
        (
            "client is asked",
            "client > broker",
            "broker > worker-1",
            "client > broker",
            "client > broker",
            "worker-1 > broker",
        ),
        {"workers": 1, "tasks": 3},
    ),
    Mutant(
        "a busy worker that PINGs is ready",
        "pingpong",
        (Table, "step", idle_though_busy),
        "broker: the ready queue is not the idle workers",
        (
            "the clock goes on",
            "worker-1 wakes",
            "client is asked",
            "client > broker",
            "broker > worker-1",
            "worker-1 > broker",
        ),
        {},
    ),
    Mutant(
        "the task of a worker that started over is forgotten",
        "pingpong",
        (PingBroker, "_take_back", task_forgotten),
        "broker: check: assert list(self.tasks.held(worker.key)) == held",
        ("client is asked", "client > broker", "restart worker-1", "worker-1 connects", "worker-1 > broker"),
        {"faults": ("restart",), "tasks": 1},
    ),
    Mutant(
        "a task that is given waits on",
        "conversation",
        (Jobs, "next", given_and_kept),
        "broker: check: assert self.queued == sum(job.queued for job in self._jobs.values())",
        ("client is asked", "client > broker"),
        {},
    ),
    Mutant(
        "a job is held that nobody holds",
        "conversation",
        (Jobs, "back", held_when_it_came_back),
        "broker: job 1 was running and is held: no row of its table that was walked leads there",
        ("client is asked", "kill worker-1", "worker-1 > broker", "client > broker"),
        {"tasks": 1, "faults": ("kill",)},
    ),
    Mutant(
        "a slot does not come back",
        "negotiated",
        (Dispatcher, "take", slot_kept),
        "broker: check: assert stands == (set(member.services) if ready else set())",
        ("client is asked", "client > broker", "broker > worker-1", "worker-1 > broker"),
        {"tasks": 3},
    ),
    Mutant(
        "a fallback serves too early",
        "negotiated",
        (Standby, "_takeover", too_early),
        "fallback: the fallback takes over, and heard the other 0.75 s ago: under 2.5 s proves nothing",
        (
            "the clock goes on",
            "fallback wakes",
            "fallback > broker",
            "lose broker > fallback",
            "the clock goes on",
            "fallback wakes",
        ),
        {"pair": True, "workers": 1, "tasks": 1, "faults": ("lose",)},
    ),
    Mutant(
        "a fallback that missed a message of its primary serves",
        "negotiated",
        (Standby, "heard", serves_after_a_gap),
        "both brokers of the pair serve",
        (
            "the clock goes on",
            "fallback wakes",
            "fallback > broker",
            "lose broker > fallback",
            "the clock goes on",
            "broker wakes",
            "broker > fallback",
        ),
        {"pair": True, "workers": 1, "tasks": 1, "faults": ("lose",)},
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_found_and_its_course_is_told(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    made, name, change = mutant.of
    monkeypatch.setattr(made, name, change(getattr(made, name)))
    system, more = SYSTEMS[mutant.system], dict(mutant.scene)
    options = system.options(**more.pop("options", {}))
    scene = Scene(system, options=options, bounds=Bounds(rounds=more.pop("rounds", 2), states=100_000), **more)
    found = Walk(Model(scene)).run().violation
    assert found is not None
    course = repeat(scene, found.moves)
    told = tuple(line[2:] for line in course.lines if line.startswith("! "))[: len(found.moves)]
    assert (course.wrong, told) == (mutant.wrong, mutant.course)
