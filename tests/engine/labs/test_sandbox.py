"""A stage is a lab whose time stands still until it is told to go on."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note, Ordered, Received
from engine.errors import Refused
from engine.feed import Fact
from engine.journal.read import read
from engine.labs.replay import Replay
from engine.labs.replaylab import ReplayLab
from engine.labs.sandbox import Sandbox
from engine.labs.virtualclock import BEGAN, MOST
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView
from engine.protocols.negotiated import Options
from engine.protocols.roundrobin.pool import Pool
from engine.runs.history import History
from engine.sim.rogue import rogue
from engine.tracing.trace import Trace

ALL = list(SYSTEMS)


def opened(system: str = "roundrobin", **more: Any) -> Sandbox:
    """A stage on which everybody has joined."""
    stage = Sandbox(SYSTEMS[system], more.pop("options", None), **{"workers": 4, "slots": 2, **more}).open()
    stage.advance(4.0)
    return stage


def finish(stage: Sandbox, spec: BulkSpec) -> None:
    stage.run(spec)
    for _ in range(200):
        stage.advance(0.5)
        run = stage.run_view()
        if run is not None and run.state == "ended":
            return
    raise AssertionError("the run does not end")


def table(stage: Sandbox) -> BrokerView:
    view = stage.sight().broker
    assert view is not None
    return view


def history_of(system: str, seed: int, pieces: int) -> str:
    """Everything that every core of a small life was given and answered, and the pictures at its end."""
    seen = hashlib.sha256()
    stage = Sandbox(SYSTEMS[system], workers=3, seed=seed)
    stage.taps = (lambda *what: seen.update(repr(what).encode()),)
    with stage:
        stage.advance(3.0)
        stage.run(BulkSpec("data", 60, size=100, rate=30.0))
        for _ in range(pieces):
            stage.advance(1.0 / pieces)
        stage.kill("worker-2")
        stage.advance(10.0)
        seen.update(repr(stage.feed.pictures).encode())
        seen.update(repr(stage.feed.since(0)).encode())
    return seen.hexdigest()


@pytest.mark.parametrize("system", ALL)
def test_a_seed_repeats_its_history_however_time_is_cut_and_another_has_another(system: str) -> None:
    assert history_of(system, 1, 1) == history_of(system, 1, 64)
    assert history_of(system, 1, 1) != history_of(system, 2, 1)


@pytest.mark.parametrize("system", ALL)
def test_what_a_lab_gives_a_stage_gives_in_its_own_time(system: str) -> None:
    """The same as ``tests/loopback/test_lab.py`` asks of a lab: both kinds of runs pass, and the books balance."""
    stage = opened(system)
    for spec in (BulkSpec("ping", 200), BulkSpec("data", 200, size=1024, in_flight=200)):
        finish(stage, spec)
        report = stage.report()
        assert (report["verdict"], report["succeeded"], report["failed"]) == ("pass", 200, {})
        assert report["ledger"]["balanced"] and report["transport"] == "stage"
    view = table(stage)
    assert (view.ledger.sent, view.ledger.succeeded, view.in_flight, view.backlog) == (400, 400, 0, 0)
    assert sum(row.done for row in view.workers) == 400
    assert stage.health().dead == ()


def test_time_passes_at_the_speed_that_is_set_and_not_at_all_at_none() -> None:
    stage = opened()
    stage.speed = 0.0
    stage.advance(100.0)
    assert stage.now == 4.0
    stage.speed = 2.5
    stage.advance(2.0)
    assert (stage.now, stage.health().loop_lag) == (9.0, 0.0)


def test_an_advance_that_is_too_much_stops_and_says_by_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.labs.virtualclock.MOST", 50)
    stage = opened()
    before = stage.now
    stage.advance(60.0)
    assert before < stage.now < before + 60.0
    assert stage.health().loop_lag == pytest.approx(before + 60.0 - stage.now)
    assert MOST > 50


def test_a_step_is_one_thing_and_a_message_step_ends_with_a_message() -> None:
    stage = opened()
    stage.advance(0.7)  # between two heartbeats
    stage.run(BulkSpec("ping", 1))
    (first,) = stage.step()
    assert (first.node, first.name, first.at) == ("client", "client", stage.now)
    assert isinstance(first.event, Ordered) and len(first.commands) == 1
    arrived = stage.step_message()
    assert isinstance(arrived[-1].event, Received) and arrived[-1].name == "broker"
    assert not any(isinstance(one.event, Received) for one in arrived[:-1])
    view: BrokerView = stage.feed.pictures["broker"]
    assert view.in_flight == 1, "the screen sees what the step has done"
    assert stage.now < 4.8


def test_an_empty_world_has_no_next_thing() -> None:
    stage = opened(workers=0)
    stage.kill("client")
    stage.kill("broker")
    assert stage.step() == () and stage.step_message() == ()
    with pytest.raises(Refused, match="no broker is alive"):
        stage.stop_worker(b"x")
    with pytest.raises(Refused, match="client has left"):
        stage.report()


def test_pictures_facts_and_wall_times() -> None:
    stage = opened(began=1000.0)
    assert set(stage.feed.pictures) == {"broker", "client", "pool"}
    assert list(stage.feed.pictures["pool"]) == [f"worker-{i}" for i in range(1, 5)]
    facts, lost = stage.feed.since(0)
    assert lost == 0 and {fact.source for fact in facts} <= {"broker", "client", "pool"}
    assert all(1000.0 <= fact.at <= 1004.0 for fact in facts)
    assert BEGAN > 1.7e9


def test_the_seeds_words_for_workers() -> None:
    stage = opened(workers=3)
    stage.endbulk()
    stage.advance(5.0)
    assert len(table(stage).workers) == 1
    stage.deregister()
    stage.advance(5.0)
    assert len(table(stage).workers) == 0
    with pytest.raises(Refused, match="not registered"):
        stage.deregister()
    stage.register()
    stage.bulk()
    stage.advance(5.0)
    assert len(table(stage).workers) == 10
    stage.add_workers(2)
    stage.remove_workers(3)
    stage.stop_worker(stage.key("worker-4"))
    stage.advance(5.0)
    assert len(table(stage).workers) == 8
    assert [fact.source for fact in left(stage) if fact.subject == stage.key("worker-4")] == ["broker"]


def test_another_configuration_is_drift_until_all_have_negotiated_anew() -> None:
    def versions() -> set[str]:
        return {dict(row.terms)["config_version"] for row in table(stage).workers}

    with Sandbox(SYSTEMS["negotiated"], Options(heartbeat=10.0), workers=3) as stage:
        stage.advance(4.0)
        assert versions() == {"1"}
        stage.operate("config", key="skew", value="45")
        stage.advance(0.1)
        assert dict(table(stage).terms)["drifted workers"] == "3" and versions() == {"1 (served: 2)"}
        stage.advance(30.0)
        assert dict(table(stage).terms)["drifted workers"] == "0" and versions() == {"2"}
        finish(stage, BulkSpec("ping", 10))
        run = stage.run_view()
        assert run is not None and run.ledger.succeeded == 10
    with Sandbox(SYSTEMS["pingpong"], workers=1) as other, pytest.raises(Refused, match="serves no configuration"):
        other.operate("config", key="skew", value="45")


def left(stage: Sandbox) -> list[Fact]:
    return [fact for fact in stage.feed.since(0)[0] if "left" in fact.text]


@pytest.mark.parametrize("system", ALL)
def test_an_ordered_leaving_is_told_once_by_the_broker_and_in_a_replay_too(system: str, tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    with Sandbox(SYSTEMS[system], workers=3, journal=path) as stage:
        stage.advance(5.0)
        keys = {stage.key("worker-2"), stage.key("worker-3")}
        stage.stop_worker(stage.key("worker-2"))
        stage.remove_workers(1)
        stage.advance(10.0)
        assert len(table(stage).workers) == 1
        said = left(stage)
    assert [fact.source for fact in said] == ["broker"] * 2 and {fact.subject for fact in said} == keys
    lab = ReplayLab(read(path, SYSTEMS), SYSTEMS)
    lab.seek_time(lab.end)
    again = [fact for fact in lab.feed.since(0)[0] if "left" in fact.text]
    assert [(fact.source, fact.text) for fact in again] == [(fact.source, fact.text) for fact in said]


def test_a_stranger_that_is_stopped_is_drained_and_inspected_is_shown() -> None:
    stage = opened()
    key = stage.key("worker-2")
    stage.inspect(key)
    stage.advance(0.1)
    detail = table(stage).detail
    assert detail is not None and detail.key == key
    stage.kill("worker-2")
    stage.stop_worker(key)
    stage.advance(0.1)
    assert key not in {row.key for row in table(stage).workers if row.state != "lost"}


def test_one_run_at_a_time_and_none_to_stop() -> None:
    stage = opened()
    for refused in (stage.stop_run, stage.report):
        with pytest.raises(Refused):
            refused()
    stage.run(BulkSpec("ping", 1000, rate=100.0))
    assert stage.run_view() is None, "the client was not told yet"
    with pytest.raises(Refused, match=r"a run is going on \(0 of 1,000 done\)"):
        stage.ping()
    stage.advance(1.0)
    with pytest.raises(Refused, match="a run is going on"):
        stage.ping()
    stage.stop_run()
    stage.advance(1.0)
    assert stage.report()["sent"] < 1000
    stage.ping()
    stage.advance(1.0)
    assert stage.report()["verdict"] == "pass"


def test_a_read_only_stage_stops_no_worker() -> None:
    stage = opened(readonly=True)
    for order in (stage.endbulk, stage.deregister, lambda: stage.remove_workers(1), lambda: stage.stop_worker(b"")):
        with pytest.raises(Refused, match="readonly is set"):
            order()


def test_runs_are_kept_with_times_of_the_stage(tmp_path: Path) -> None:
    stage = opened(history=History(tmp_path / "runs"), began=1_000_000_000.0)
    finish(stage, BulkSpec("ping", 20))
    (run,) = stage.runs()
    assert (run["succeeded"], run["started_at"]) == (20, "2001-09-09T01:46:44.000000+00:00")
    stage.advance(5.0)
    assert len(stage.runs()) == 1
    assert opened().runs() == []


@pytest.mark.parametrize("system", ALL)
def test_a_recorded_stage_replays_to_the_same_pictures(system: str, tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    with Sandbox(SYSTEMS[system], workers=3, journal=path) as stage:
        stage.advance(4.0)
        stage.run(BulkSpec("ping", 200, rate=100.0, timeout=20.0))
        stage.advance(1.0)
        stage.kill("worker-2")
        stage.add("rogue-1", rogue([[b"nonsense"]], stage.endpoints[0], b"rogue-1"))
        stage.restart("worker-3")
        stage.advance(20.0)
        view, pool = table(stage), set(stage.feed.pictures["pool"])
    replay = Replay.open(path, SYSTEMS)
    replay.seek(len(replay))
    assert replay.differences == []
    pictures = replay.pictures()
    assert pictures["broker"].ledger == view.ledger and set(pictures["pool"]) == pool == {"worker-1", "worker-3"}
    assert replay.begin == 0.0 and replay.end <= 25.0


def test_a_journal_that_can_not_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no journal"):
        Sandbox(SYSTEMS["pingpong"], journal=tmp_path / "none" / "a.journal").open()


def test_a_cores_mistake_stops_the_world_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = opened()

    def broken(self: Pool) -> None:
        raise AssertionError("a task is in two places")

    monkeypatch.setattr(Pool, "check", broken)
    stage.advance(5.0)
    assert stage.health().dead == ("broker: AssertionError: a task is in two places",)
    at = stage.now
    stage.advance(5.0)
    assert stage.now == at and stage.step() == ()
    (fact,) = [fact for fact in stage.feed.since(0)[0] if fact.level == "bad"]
    assert fact.text.startswith("the world stands still: broker: ")


def test_a_pair_shows_the_broker_that_serves() -> None:
    stage = opened("negotiated", options=Options(fallback="tcp://127.0.0.1:6727"))
    assert stage.sight().serving == ("broker",) and stage.server() == "broker"
    assert dict(stage.feed.pictures["fallback"].terms)["role"] == "fallback"
    stage.world.freeze("broker", 30.0)
    stage.advance(20.0)
    assert stage.sight().serving == ("fallback",) and stage.server() == "fallback"
    assert len(stage.feed.pictures["broker"].workers) == 4
    finish(stage, BulkSpec("ping", 20))
    assert stage.report()["verdict"] == "pass"


def test_what_cores_keep_is_given_to_those_that_come_later() -> None:
    stage = opened("negotiated")
    stage.add_workers(1)
    assert stage.world.core("worker-5").link.config is not None
    assert Sandbox(SYSTEMS["negotiated"], workers=1).open().world.core("worker-1").link.config is None


def test_a_twin_has_the_name_of_another() -> None:
    stage = opened()
    assert (stage.twin("worker-2"), stage.twin("worker-2")) == ("twin-1", "twin-2")
    assert stage.workers()["twin-1"] == stage.key("worker-2")
    stage.order("nobody", Note("info", "of no effect"))
    stage.advance(1.0)
    assert stage.health().dead == ()


@pytest.mark.parametrize("system", ["roundrobin", "pingpong", "negotiated"])
def test_what_waits_of_a_client_can_be_withdrawn_where_it_is_shown(system: str) -> None:
    with Sandbox(SYSTEMS[system], workers=1) as sandbox:
        sandbox.speed = 1.0
        sandbox.advance(5.0)
        sandbox.kill("worker-1")
        sandbox.run(BulkSpec("ping", 5, in_flight=5, timeout=60.0))
        sandbox.advance(3.0)  # negotiated waits no longer than four for somebody to offer a service
        client = sandbox.key("client")
        before = sandbox.sight().broker
        assert before is not None
        assert any(row.startswith("client ") for row, _ in before.terms)
        assert before.backlog > 0
        sandbox.withdraw(client)
        sandbox.advance(0.1)
        after = sandbox.sight().broker
        assert after is not None
        assert after.backlog == 0
        assert after.ledger.balanced


def test_a_system_that_shows_no_clients_withdraws_nothing() -> None:
    with Sandbox(SYSTEMS["conversation"], workers=1) as sandbox, pytest.raises(Refused, match="withdraws no tasks"):
        sandbox.withdraw(b"client")


def spoken(stage: Sandbox) -> Counter[str]:
    """The commands that the next run's messages are explained as."""
    trace = Trace(stage.system)
    stage.attach(trace)
    stage.run(BulkSpec("ping", 20))
    stage.advance(5.0)
    assert stage.report()["verdict"] == "pass"
    stage.detach(trace)
    entries = [entry for entry in trace.entries() if entry.direction == "in" and entry.seat == "broker"]
    lanes = {dict(entry.fields).get("lane", "") for entry in entries if entry.command == "RESPONSE"}
    assert lanes == {stage.lane}
    return Counter(entry.command for entry in entries)


def test_the_seeds_lane_is_the_default_and_each_lane_shows_the_same_messages() -> None:
    """INCREMENT matched 0 of 104,587 messages: peers of a process packed by themselves."""
    with Sandbox(SYSTEMS["roundrobin"], workers=3) as stage:
        stage.advance(1.0)
        assert stage.lane == ""
        on_the_seeds = spoken(stage)
        stage.choose_lane("packed")
        stage.add_workers(1)
        stage.advance(5.0)
        assert stage.lane == "packed"
        packed = spoken(stage)
        stage.choose_lane("seed")
        stage.advance(5.0)
        again = spoken(stage)
    for counted in (on_the_seeds, packed, again):
        assert (counted["RESPONSE"], counted["INCREMENT"], counted["TRACKEXEC PING"]) == (20, 20, 20)


def test_a_lane_that_is_not_there_is_refused() -> None:
    with Sandbox(SYSTEMS["roundrobin"], workers=0) as stage, pytest.raises(Refused, match="no lane 'fast'"):
        stage.choose_lane("fast")
    with Sandbox(SYSTEMS["pingpong"], workers=0) as stage, pytest.raises(Refused, match="pingpong has one lane"):
        stage.choose_lane("packed")


def test_all_workers_are_slowed_those_too_that_come_later_until_they_are_not() -> None:
    """A backlog can be made to be seen."""
    with Sandbox(SYSTEMS["roundrobin"], workers=1, slots=1) as stage:
        stage.advance(1.0)
        stage.slow(2.0)
        stage.add_workers(1)
        stage.advance(1.0)
        stage.run(BulkSpec("ping", 6, in_flight=6, timeout=30.0))
        stage.advance(1.0)
        assert stage.sight().broker.backlog == 4  # type: ignore[union-attr]
        stage.advance(4.0)
        assert stage.sight().broker.backlog == 0  # type: ignore[union-attr]
        stage.slow(0.0)
        stage.advance(0.5)
        assert stage.report()["verdict"] == "pass"
        with pytest.raises(Refused, match="slowed by 0 to 3600 s, not -1"):
            stage.slow(-1.0)
