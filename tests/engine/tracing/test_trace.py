"""The ring, its bounds, who is who; and simulated runs of all systems whose tasks are followed through their lives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import MAIN, Command, Exit, Frames, Note, Received, Reopen, Send, Started, Unsent
from engine.journal import write as journals
from engine.journal.write import Journal
from engine.labs.replay import Replay
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Decoded, Direction, Role
from engine.parts.violations import Violations
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.broker import BACKEND
from engine.sim.wire import Link
from engine.tracing.filter import parse
from engine.tracing.trace import Trace
from tests.helpers.traces import Watched

WORKER = ("tcp://127.0.0.1:6715", 7, 1)
PONG, JOB = [b"", b"PONG"], [b"", b"hello"]
WHOLE = ["sent", "accepted", "given", "taken", "answered", "returned", "relayed", "received"]


def traced(**more: Any) -> Trace:
    trace = Trace(SYSTEM, **more)
    trace.seated("pool", "w7", "worker", SYSTEM.worker(SYSTEM.options(), *WORKER))
    trace.seated("broker", "broker", "broker", SYSTEM.broker(SYSTEM.options(), [WORKER[0]]))
    return trace


def test_what_a_worker_hears_and_says() -> None:
    trace = traced()
    trace.tap("pool", "w7", 1.0, Received([PONG, JOB]), [Send([b"", b"hello"]), Note("good", "joined")])
    shown = [(e.number, e.direction, e.source, e.target, e.command, e.size) for e in trace.entries()]
    assert shown == [
        (1, "in", "broker", "w7", "PONG", 4),
        (2, "in", "broker", "w7", "job", 5),
        (3, "out", "w7", "broker", "result", 5),
        (4, "note", "w7", "w7", "good", 10),
    ]
    entry = trace.entry(2)
    assert entry is not None
    assert (entry.at, entry.node, entry.frames, entry.link, entry.record) == (1.0, "pool", JOB, b"worker-7", None)
    assert entry.rule.startswith("002") and trace.entry(5) is None and trace.entry(2, 1) is None


def test_nothing_is_decoded_before_somebody_looks_and_then_once(monkeypatch: pytest.MonkeyPatch) -> None:
    trace, calls = traced(), list[Frames]()
    decode = trace.explain.decode

    def counted(role: Role, direction: Direction, frames: Frames, socket: str) -> list[Decoded]:
        calls.append(frames)
        return decode(role, direction, frames, socket)

    monkeypatch.setattr(trace, "explain", trace.explain._replace(decode=counted))
    trace.tap("pool", "w7", 1.0, Received([PONG] * 50), [])
    assert calls == []
    trace.entries(limit=3)
    assert len(calls) == 3
    trace.entries(limit=5)
    assert len(calls) == 5


def test_the_newest_come_last_and_pages_go_back() -> None:
    trace = traced()
    trace.tap("pool", "w7", 1.0, Received([PONG] * 10), [])
    assert [entry.number for entry in trace.entries(limit=3)] == [8, 9, 10]
    assert [entry.number for entry in trace.entries(limit=3, before=8)] == [5, 6, 7]
    assert trace.entries(before=1) == [] and trace.entries(parse("cmd=EXIT")) == []


def test_the_ring_is_bounded_in_messages_and_in_bytes() -> None:
    trace = traced(kept=3)
    trace.tap("pool", "w7", 1.0, Received([PONG] * 5), [])
    assert [entry.number for entry in trace.entries()] == [3, 4, 5] and (len(trace), trace.total) == (3, 5)
    trace = traced(most=20)
    for _ in range(9):
        trace.tap("pool", "w7", 1.0, Received([[b"", b"0123456789"]]), [])
    assert [entry.number for entry in trace.entries()] == [8, 9]
    trace.tap("pool", "w7", 1.0, Received([[b"", bytes(100)]]), [])
    assert [entry.number for entry in trace.entries()] == [10]
    trace.clear()
    trace.tap("pool", "w7", 1.0, Received([PONG]), [])
    assert [entry.number for entry in trace.entries()] == [11]


def test_who_is_not_seated_is_not_traced() -> None:
    trace = traced()
    trace.tap("pool", "w8", 1.0, Received([PONG]), [])
    trace.tap("pool", "w7", 1.0, Started(), [Send([b"", b"READY"]), Exit("over")])
    trace.tap("pool", "w7", 2.0, Received([PONG]), [])
    assert [entry.command for entry in trace.entries()] == ["READY"]


def test_names_of_peers() -> None:
    trace = traced()
    trace.named(b"worker-7", "not this")
    trace.named(b"worker-9", "w\x1b9")
    heard = [[peer, b"", b"PING"] for peer in (b"worker-7", b"worker-8", b"worker-9", b"\xff\0")]
    trace.tap("broker", "broker", 1.0, Received(heard, BACKEND), [])
    assert [entry.source for entry in trace.entries()] == ["w7", "worker-8", "w?9", "ff00"]
    trace.tap("pool", "w7", 1.0, Started(), [Reopen(MAIN, b"new-id", "tcp://127.0.0.1:9"), Send([b"", b"READY"])])
    trace.tap("broker", "broker", 1.0, Received([[b"new-id", b"", b"READY"]], BACKEND), [])
    assert [(one.source, one.target, one.state) for one in trace.arrows()][-1] == ("w7", "broker", "arrived")


def test_a_refused_send_and_a_violation_that_is_only_noted() -> None:
    trace = traced()
    out: list[Command] = [Send([b"worker-7", b"", b"hello"], BACKEND)]
    out += Violations().add(b"worker-7", "result without a job", 1.0)
    trace.tap("broker", "broker", 1.0, Unsent([b"worker-7", b"", b"hello"], "unreachable", BACKEND), out)
    assert [(e.direction, e.command) for e in trace.entries()] == [("refused", "job"), ("out", "job"), ("note", "bad")]
    (noted,) = trace.entries(parse("violation"))
    assert noted.violation == "result without a job"


def test_a_replayed_journal_is_traced_as_the_run_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "time", SimpleNamespace(monotonic=lambda: 1.0, time=lambda: 0.0))
    path = tmp_path / "a.journal"
    journal = Journal(path, SYSTEM, SYSTEM.options(), lambda note: None)
    journal.seated("pool", "w7", "worker", list(WORKER), {})
    core = SYSTEM.worker(SYSTEM.options(), *WORKER).core
    for event in (Started(), Received([PONG, JOB])):
        journal.tap("pool", "w7", 2.0, event, core.handle(event, 2.0))
    journal.close()
    replay = Replay.open(path, SYSTEMS)
    trace = Trace(replay.system)
    trace.replays(replay)
    replay.seek(len(replay), trace.step)
    shown = [(entry.record, entry.direction, entry.command) for entry in trace.entries() if entry.direction != "note"]
    assert shown == [(1, "out", "READY"), (2, "in", "PONG"), (2, "in", "job"), (2, "out", "result")]


# ---- all systems -------------------------------------------------------------------------------------------------


def cases() -> list[Any]:
    found = [pytest.param(name, None, id=name) for name in SYSTEMS]
    roundrobin = SYSTEMS["roundrobin"]
    return [
        *found,
        pytest.param("roundrobin", replace(roundrobin.options(), packed=False), id="roundrobin over the seed's lane"),
    ]


@pytest.mark.parametrize(("name", "options"), cases())
def test_every_task_of_a_run_is_followed_through_its_life(name: str, options: Any) -> None:
    watched = Watched(SYSTEMS[name], options=options)
    watched.run(BulkSpec("data", 40, size=10, in_flight=12))
    trace = watched.trace
    tasks = {arrow.task for arrow in trace.arrows() if arrow.task is not None}
    assert len(tasks) == 40
    for task in tasks:
        life = trace.follow(task)
        assert [leg.what.replace("queued", "accepted") for leg in life.legs] == WHOLE
        assert all(leg.after >= 0.0 for leg in life.legs) and life.deliveries == 1 and life.ended
        assert life.legs[3].where == life.legs[4].where and life.legs[3].where in ("w1", "w2")
    assert not trace.entries(parse("violation"))
    assert {arrow.state for arrow in trace.arrows()} <= {"arrived", "under way", "note"}
    late = [arrow for arrow in trace.arrows() if arrow.state == "under way"]
    assert all(watched.world.now - arrow.at < 1.0 for arrow in late)
    assert all((arrow.transit or 0.0) >= 0.0 for arrow in trace.arrows())


@pytest.mark.parametrize("name", SYSTEMS)
def test_of_workers_in_other_processes_the_brokers_end_is_seen(name: str) -> None:
    watched = Watched(SYSTEMS[name], blind=("w1", "w2"))
    watched.run(BulkSpec("ping", 5, in_flight=5))
    tasks = {arrow.task for arrow in watched.trace.arrows() if arrow.task is not None}
    assert len(tasks) == 5
    for task in tasks:
        legs = [leg.what.replace("queued", "accepted") for leg in watched.trace.follow(task).legs]
        assert legs == [what for what in WHOLE if what not in ("taken", "answered")]


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_task_whose_worker_dies_is_given_again(name: str) -> None:
    watched = Watched(SYSTEMS[name], workers=2, slots=1)
    world = watched.world
    world.run_for(2.0)
    world.cut("w1", "broker")
    world.order("client", BulkSpec("ping", 2, in_flight=2, timeout=60.0))
    world.run_for(0.1)
    world.crash("w1")
    world.run_for(30.0)
    lives = [watched.trace.follow(task) for task in {one.task for one in watched.trace.arrows() if one.task}]
    assert sorted(life.deliveries for life in lives) == [1, 2]
    assert all(life.ended for life in lives)
    again = next(life for life in lives if life.deliveries == 2)
    assert [leg.what for leg in again.legs].count("given again") == 1
    assert again.legs[-1].what == "received"


def test_a_bad_link_loses_arrows_and_no_lives_are_invented() -> None:
    watched = Watched(SYSTEMS["pingpong"])
    watched.world.run_for(2.0)
    watched.world.link(Link(loss=0.3))
    watched.world.order("client", BulkSpec("ping", 60, in_flight=4, timeout=2.0))
    watched.world.run_for(60.0)
    states = {arrow.state for arrow in watched.trace.arrows()}
    assert {"arrived", "lost"} <= states and "heard" not in states
    tasks = {one.task for one in watched.trace.arrows() if one.task is not None}
    assert len(tasks) == 60


def test_what_was_said_under_a_name_that_was_given_up_keeps_its_link() -> None:
    watched = Watched(SYSTEMS["pingpong"])
    watched.world.run_for(2.0)
    before = [arrow.state for arrow in watched.trace.arrows()]
    for node, seat in {(entry.node, entry.seat) for entry in watched.trace.entries()}:
        watched.trace.tap(node, seat, 2.0, Started(), [Reopen(routing_id=b"another name")])
    assert [arrow.state for arrow in watched.trace.arrows()] == before
    assert "heard" not in before
