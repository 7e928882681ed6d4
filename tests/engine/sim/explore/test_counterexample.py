"""A course on real cores: its text, which can be played again, and its journal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.journal.read import read
from engine.labs.replay import Replay
from engine.sim.explore.counterexample import AFTER, Recorder, Watcher, named, played, repeat
from engine.sim.explore.model import Model
from engine.sim.explore.moves import Move
from engine.sim.explore.scene import Bounds
from engine.sim.explore.walk import Walk
from tests.engine.sim.explore.scenes import scene


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_course_is_played_again_from_its_text(name: str) -> None:
    small = replace(scene(name, faults=("kill",)), bounds=Bounds(rounds=1, states=1_000))
    walk = Walk(Model(small))
    moves = walk.way(walk.run().progress.states - 1)
    course = repeat(small, moves, after=False)
    assert not course.wrong and sum(line.startswith("! ") for line in course.lines) == len(moves)
    assert played(small, course.lines) == course


def test_what_comes_after_is_told_too() -> None:
    course = repeat(scene(), ())
    assert course.lines[:2] == (f"! {AFTER}", ": client is asked") and ": client > broker" in course.lines
    assert any(line.startswith("worker-1 > broker: WORKREPLY") for line in course.lines)


def test_what_comes_after_is_played_again_too() -> None:
    course = repeat(scene("pingpong"), ())
    assert played(scene("pingpong"), course.lines) == course


def test_what_is_said_alike_is_told_apart_by_numbers() -> None:
    small = scene("roundrobin", faults=("spoil",))
    model = Model(small)
    state = model.begin()
    for name in ("client is asked", "client > broker"):
        state, _ = model.apply(state, next(move for move, words in named(model, state).items() if words == name))
    words = list(named(model, state).values())
    assert len(words) == len(set(words))


class Told(Watcher):
    def __init__(self) -> None:
        self.told: list[str] = []

    def began(self) -> None:
        self.told.append("began")

    def moved(self, name: str, at: float, move: Move, words: str) -> None:
        self.told.append(f"{name or 'nobody'}: {words}")


def test_a_watcher_hears_whose_move_it_is() -> None:
    told = Told()
    moves = ["client is asked", "client > broker", "cut worker-2", "broker > worker-1"]
    played(scene("pingpong", faults=("cut",), tasks=1), [f"! {move}" for move in moves], [told])
    assert told.told == [
        "began",
        "client: client is asked",
        "client: client > broker",
        "worker-2: cut worker-2",
        "broker: broker > worker-1",
    ]


def test_what_can_not_happen_is_said() -> None:
    with pytest.raises(LookupError, match="'the moon rises' can not happen; client is asked, the clock goes on can"):
        played(scene(), ["! the moon rises"])


@pytest.mark.parametrize("kind", ["kill", "restart", "leave", "clock"])
def test_its_journal_replays_as_recorded(kind: str, tmp_path: Path) -> None:
    small = replace(scene("roundrobin", faults=(kind,)), bounds=Bounds(rounds=1, states=2_000))
    walk = Walk(Model(small))
    states = walk.run().progress.states
    ways = map(walk.way, range(states - 1, 0, -1))
    moves = next(way for way in ways if kind in {move.kind for move in way})
    notes: list[Note] = []
    recorder = Recorder(tmp_path / "found.journal", small, notes.append)
    repeat(small, moves, [recorder])
    recorder.journal.close()
    assert not notes and not recorder.journal.lost
    replay = Replay(read(tmp_path / "found.journal", SYSTEMS), SYSTEMS)
    replay.seek(len(replay.records))
    assert not replay.differences and not replay.cut
