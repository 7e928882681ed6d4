"""The same state whichever way it is reached, and a difference that is said."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note, Ordered, Received, Send, Started
from engine.journal import write as journals
from engine.journal.codec import Unreadable
from engine.journal.write import Journal
from engine.labs import replay
from engine.labs.replay import Replay, Step
from engine.parts.bulk import BulkSpec
from engine.protocols.pingpong import SYSTEM

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


def ordered(path: Path, order: object) -> Replay:
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None, clock=lambda: 1.0)
    journal.seated("client", "client", "client", ["tcp://127.0.0.1:6715", 7], {})
    journal.tap("client", "client", 1.0, Ordered(order), [])
    journal.close()
    return Replay.open(path, SYSTEMS)


def test_an_order_that_no_operator_can_give_ends_the_replay(tmp_path: Path) -> None:
    machine = ordered(tmp_path / "a.journal", BulkSpec("ping", 10**12))
    assert machine.step()
    with pytest.raises(Unreadable, match="n: expected a whole number from 1 to 100,000,000, got 1000000000000"):
        machine.step()


def test_cores_that_answer_out_of_proportion_end_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.labs.replay.WORK", 0)
    monkeypatch.setattr("engine.labs.replay.FACTOR", 0)
    machine = ordered(tmp_path / "a.journal", BulkSpec("ping", 1))
    machine._play = lambda record, watch: machine._spend([Note("info", "x")])  # type: ignore[method-assign]
    with pytest.raises(Unreadable, match="answer far more than was recorded"):
        machine.step()


def test_so_many_cores_and_not_one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.labs.replay.MAX_SEATS", 1)
    journal = Journal(tmp_path / "a.journal", SYSTEM, SYSTEM.options(), lambda note: None)
    for name in ("worker-1", "worker-2"):
        journal.seated("pool", name, "worker", ["tcp://127.0.0.1:6715", 7, 1], {})
    journal.close()
    machine = Replay.open(tmp_path / "a.journal", SYSTEMS)
    assert machine.step()
    with pytest.raises(Unreadable, match="more than 1 cores at one time"):
        machine.step()


def test_keyframes_have_a_bound_and_without_them_the_way_back_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.labs.replay.NEAREST", 1)
    monkeypatch.setattr("engine.labs.replay.KEYFRAMES", 10**9)
    shown = []
    for room in (10**7, 5):
        monkeypatch.setattr("engine.labs.replay.ROOM", room)
        machine = ordered(tmp_path / f"{room}.journal", BulkSpec("ping", 10))
        machine.seek(len(machine))
        shown.append((len(machine._frames) > 2, machine.pictures()["client"].run))
        machine.seek(1)
        machine.seek(2)
        assert machine.position == 2
    assert [frames for frames, _ in shown] == [True, False] and shown[0][1] == shown[1][1]
