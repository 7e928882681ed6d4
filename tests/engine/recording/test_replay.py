"""The same state whichever way it is reached, and a difference that is said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Received, Send, Started
from engine.protocols.pingpong import SYSTEM
from engine.recording import journal as journals
from engine.recording import replay
from engine.recording.journal import Journal
from engine.recording.replay import Replay, Step

WORKER = ["tcp://127.0.0.1:6715", 7, 1]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two workers, one after the other, each started and then given 200 messages, a pair a second."""
    clock = iter(range(0, 10_000, 200))
    monkeypatch.setattr(journals, "time", SimpleNamespace(monotonic=lambda: float(next(clock)), time=lambda: 0.0))
    path = tmp_path / "a.journal"
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None)
    cores = {}
    for at, name in ((200.0, "worker-1"), (400.0, "worker-2")):
        journal.seated("pool", name, "worker", WORKER, {})
        cores[name] = SYSTEM.worker(SYSTEM.options(), *WORKER).core
        journal.tap("pool", name, at, Started(), cores[name].handle(Started(), at))
        for i in range(100):
            event = Received([[b"", b"PONG"], [b"", b"data %d" % i]])
            journal.tap("pool", name, at + i, event, cores[name].handle(event, at + i))
    journal.close()
    return path


def test_backwards_shows_the_same_as_forwards(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "NEAREST", 16)
    machine = Replay.open(path, SYSTEMS)
    forwards = [machine.pictures()]
    while machine.step():
        forwards.append(machine.pictures())
    assert machine.differences == []
    for position in [*reversed(range(len(machine) + 1)), 77, 3, 150, 0, 42]:
        machine.seek(position)
        assert machine.position == position
        assert machine.pictures() == forwards[position], position


def test_a_step_shows_what_the_core_was_given_and_answered(path: Path) -> None:
    machine, steps = Replay.open(path, SYSTEMS), list[Step]()
    machine.seek(4, steps.append)
    assert [(step.name, step.event) for step in steps] == [
        ("worker-1", Started()),
        ("worker-1", Received([[b"", b"PONG"], [b"", b"data 0"]])),
        ("worker-1", Received([[b"", b"PONG"], [b"", b"data 1"]])),
    ]
    assert [command.frames for command in steps[0].commands if isinstance(command, Send)] == [[b"", b"READY"]]


def test_by_time(path: Path) -> None:
    machine = Replay.open(path, SYSTEMS)
    machine.seek_time(machine.end + 1)
    assert machine.position == len(machine)
    machine.seek_time(250.0)
    assert (machine.position, machine.now) == (53, 250.0)
    machine.seek_time(machine.begin - 1)
    assert (machine.position, machine.now) == (0, machine.begin)


def test_other_rules_than_the_recorded_ones_are_said_once(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None)
    journal.seated("pool", "worker-1", "worker", WORKER, {})
    journal.tap("pool", "worker-1", 1.0, Started(), [Send([b"", b"HELLO"])])  # our workers say READY
    journal.close()
    machine = Replay.open(path, SYSTEMS)
    for position in (len(machine), 0, len(machine)):
        machine.seek(position)
    (difference,) = machine.differences
    assert (difference.node, difference.name) == ("pool", "worker-1")
