"""The actors of a sandbox: which seats there are, and who is shown their events."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Event, Received
from engine.errors import Refused
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.protocols.negotiated import Options
from engine.sim.rogue import rogue
from engine.tracing.trace import Trace


@pytest.fixture
def stage() -> Sandbox:
    stage = Sandbox(SYSTEMS["roundrobin"], workers=2, slots=2).open()
    stage.advance(3.5)
    return stage


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_trace_is_shown_everything_from_its_attachment_on(system: str) -> None:
    stage = Sandbox(SYSTEMS[system], workers=2, slots=2).open()
    stage.advance(3.5)
    trace = Trace(stage.system)
    stage.attach(trace)
    stage.run(BulkSpec("ping", 5))
    stage.advance(0.4)
    entries = trace.entries()
    assert entries and min(entry.at for entry in entries) >= 3.5
    assert {entry.seat for entry in entries} >= {"broker", "client"}
    count = trace.total
    stage.detach(trace)
    stage.advance(5.0)
    assert trace.total == count and stage.taps == ()


def test_who_comes_and_goes_is_traced_strangers_too(stage: Sandbox) -> None:
    trace = Trace(stage.system)
    stage.attach(trace)
    twin = stage.twin("worker-1")
    stage.add("rogue-1", rogue([[b"nonsense"]], stage.endpoints[0], b"rogue-1"))
    stage.kill("worker-2")
    stage.add_workers(1)
    stage.advance(5.0)
    assert twin == "twin-1"
    assert {entry.seat for entry in trace.entries()} >= {"twin-1", "rogue-1", "worker-3", "broker"}


def test_a_restarted_seat_is_the_same_peer_anew(stage: Sandbox) -> None:
    key, core = stage.key("worker-1"), stage.world.core("worker-1")
    stage.restart("worker-1")
    assert stage.key("worker-1") == key and stage.world.core("worker-1") is not core
    stage.kill("worker-1")
    assert "worker-1" not in stage.workers()
    stage.restart("worker-1")
    assert stage.workers()["worker-1"] == key
    with pytest.raises(KeyError):
        stage.key("nobody")


def test_a_tap_is_told_the_time_of_the_seats_own_clock(stage: Sandbox) -> None:
    seen: list[tuple[str, str, float, Event, Any]] = []
    stage.taps = (lambda *what: seen.append(what),)
    stage.world.skew("worker-1", jump=100.0)
    stage.advance(2.5)
    ours = [now for node, name, now, event, _ in seen if (node, name) == ("pool", "worker-1")]
    theirs = [now for node, _, now, event, _ in seen if node == "broker" and isinstance(event, Received)]
    assert min(ours) > 103.0 and max(theirs) <= stage.now


def test_of_a_pair_the_one_that_serves_is_asked() -> None:
    stage = Sandbox(SYSTEMS["negotiated"], Options(fallback="tcp://127.0.0.1:6727"), workers=1).open()
    stage.advance(4.0)
    assert (stage.server(), stage.sight().serving) == ("broker", ("broker",))
    stage.kill("broker")
    stage.advance(10.0)
    assert (stage.server(), stage.sight().serving) == ("fallback", ("fallback",))


def test_an_empty_cast_sees_nothing() -> None:
    cast = Sandbox(SYSTEMS["pingpong"])
    sight = cast.sight()
    assert (sight.at, sight.broker, sight.client, sight.serving, cast.workers()) == (0.0, None, None, (), {})
    with pytest.raises(Refused, match="no broker"):
        cast.server()
    with pytest.raises(Refused, match="client has left"):
        cast.client_view()


@pytest.mark.parametrize("system", ["roundrobin", "negotiated"])
def test_a_worker_has_one_name_in_a_trace_whatever_its_broker_calls_it(system: str) -> None:
    with Sandbox(SYSTEMS[system], workers=3) as lab:
        trace = lab.trace(500)
        lab.attach(trace)
        lab.advance(5.0)
        told = {
            entry.frames[2]: dict(entry.fields)["text"]
            for entry in trace.entries()
            if entry.direction == "note" and entry.source == "broker" and "joined" in dict(entry.fields)["text"]
        }
        assert told == {lab.key(name): f"{name} joined" for name in ("worker-1", "worker-2", "worker-3")}


def test_a_worker_that_took_another_name_is_found_by_that(stage: Sandbox) -> None:
    stage.twin("worker-1")
    stage.advance(1.0)
    assert len(stage.workers()) == 3 and len(set(stage.workers().values())) == 2
    stage.advance(30.0)
    broker = stage.sight().broker
    assert broker is not None
    rows = {row.key for row in broker.workers if row.state != "lost"}
    assert len(rows) == 3 and {stage.seat_of(key) for key in rows} == set(stage.workers())
