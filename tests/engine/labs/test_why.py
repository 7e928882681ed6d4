"""Why a task went where it went: asked of a journal, with the broker's table as it stood before."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Command, Event
from engine.journal import write as journals
from engine.journal.codec import kept
from engine.journal.format import EVENT, SEAT
from engine.journal.write import Journal
from engine.labs.replay import Replay
from engine.labs.why import SHOWN, choices, why
from engine.parts.bulk import BulkSpec
from engine.parts.explain import task_name
from engine.sim.world import World


def recorded(path: Path, name: str, spec: BulkSpec, workers: int = 3, slots: int = 1) -> Replay:
    """A simulated run's journal."""
    system = SYSTEMS[name]
    options = system.options(packed=False) if name == "roundrobin" else system.options()
    journal = Journal(path / f"{name}.journal", system, options, lambda note: None)
    world = World()
    endpoint = f"inproc://{name}"
    seats: list[tuple[str, str, list[Any]]] = [("broker", "broker", [[endpoint]])]
    seats += [(f"w{number}", "worker", [endpoint, number, slots]) for number in range(1, workers + 1)]
    seats.append(("client", "client", [endpoint, 100]))

    def tap(at: float, seat: str, event: Event, commands: list[Command]) -> None:
        journal.tap(seat, seat, at, kept(event), commands)

    world.watchers.append(tap)
    for seat, role, args in seats:
        journal.seated(seat, seat, role, args, {})
        world.add(seat, getattr(system, role)(options, *args))
    world.run_for(2.0)
    world.order("client", spec)
    world.run_for(3.0)
    journal.close()
    return Replay.open(journal.path, SYSTEMS)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "time", SimpleNamespace(monotonic=lambda: 0.0, time=lambda: 0.0))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_task_that_was_given_went_to_the_first_with_a_free_slot(tmp_path: Path, name: str) -> None:
    replay = recorded(tmp_path, name, BulkSpec("ping", 12, in_flight=6))
    replay.seek(5)
    found = [choice for record in range(len(replay)) for choice in choices(replay, record)]
    assert replay.position == 5 and replay.differences == []
    assert len({choice.task for choice in found}) == len(found) == 12
    chosen = [choice for choice in found if choice.candidates.order]
    assert chosen and all(standing.free > 0 for choice in chosen for standing in choice.candidates.order)
    for choice in chosen:
        if choice.candidates.order[0].key != choice.worker:  # the message gave several tasks
            assert choice.worker in {standing.key for standing in choice.candidates.order}
    firsts = {choice.candidates.order[0].key for choice in chosen if choice.candidates.order[0].key == choice.worker}
    assert len(firsts) == 3, "the least recently used takes turns"


def test_the_words(tmp_path: Path) -> None:
    replay = recorded(tmp_path, "roundrobin", BulkSpec("ping", 3, in_flight=1), workers=2, slots=2)
    told = [why(replay, record) for record in range(len(replay)) if choices(replay, record)]
    assert told[0].splitlines() == [
        "w1 was given task 0 of inproc://roundrobin:100 (TRACKEXEC PING), when this came: TRACKEXEC PING 0 from "
        "inproc://roundrobin:100.",
        "Of those that could take it, it was the one used least recently.",
        "  w1: 2 of 2 free",
        "  w2: 2 of 2 free",
        "000 Worker Table: least recently used first, past those without a free slot",
    ]
    assert told[1].startswith("w2 was given task 1")


def test_a_task_that_waited_is_explained_by_what_freed_a_slot(tmp_path: Path) -> None:
    replay = recorded(tmp_path, "roundrobin", BulkSpec("ping", 4, in_flight=4), workers=1)
    told = [why(replay, record) for record in range(len(replay)) if choices(replay, record)]
    assert "INCREMENT from inproc://roundrobin:1." in told[1]
    assert "It could take none before, and 3 tasks waited; now it could." in told[1]
    assert "000 Processing Queue: what waits goes first, oldest first" in told[1]


def test_many_tasks_at_once_are_cut_and_one_can_be_asked_for(tmp_path: Path) -> None:
    replay = recorded(tmp_path, "roundrobin", BulkSpec("ping", 20, in_flight=20), workers=1, slots=20)
    record = next(record for record in range(len(replay)) if len(choices(replay, record)) > SHOWN)
    many = len(choices(replay, record))
    assert why(replay, record).endswith(f"and {many - SHOWN} more")
    asked = choices(replay, record)[1].task
    assert asked is not None
    one = why(replay, record, asked)
    assert one.startswith(f"w1 was given task {task_name(asked[1])} of") and "\n\n" not in one


def test_where_no_task_was_given(tmp_path: Path) -> None:
    replay = recorded(tmp_path, "pingpong", BulkSpec("ping", 1))
    kinds = [record[0] for record in replay.records]
    worker = next(at for at, record in enumerate(replay.records) if record[0] == EVENT and record[2] != 1)
    for record in (-1, len(replay), kinds.index(SEAT), worker):
        assert why(replay, record) == "no task was given here"
