"""A sandbox at the console: real time becomes its own, orders are carried out at once, faults are watched."""

from __future__ import annotations

import pytest

from console.kinds import kind_of, session_of
from console.kinds.brokers import WORKERS
from console.kinds.queues import ROOM
from console.sessions.pace import LATE
from console.sessions.sandbox import SandboxSession
from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.faults.watch import Plan
from engine.parts.bulk import BulkSpec
from engine.protocols.diskqueue.options import Options
from tests.helpers.fake_queues import FakeQueues
from tests.helpers.protocols import sandbox_session


def sandbox_of(system: str = "roundrobin") -> SandboxSession:
    return sandbox_session(system)


def queues() -> SandboxSession:
    lab = FakeQueues()
    lab.options = Options(keep_input=False)
    session = session_of("", kind_of(lab.system).sandbox(lab))
    assert isinstance(session, SandboxSession)
    return session


def test_what_happened_in_the_last_step_and_nothing_before() -> None:
    sandbox = sandbox_of()
    assert sandbox.last() == []
    assert sandbox.step(True)
    first = sandbox.last()
    assert first and any(entry.direction == "in" for entry in first)
    assert sandbox.step(True)
    assert min(entry.number for entry in sandbox.last()) == max(entry.number for entry in first) + 1
    assert sandbox.steps == 2


def test_no_look_makes_up_for_more_than_a_moment() -> None:
    sandbox = sandbox_of()
    sandbox.speed = 4
    sandbox.look(100.0)
    sandbox.look(100.25)
    assert sandbox.lab.now == pytest.approx(0.25)
    sandbox.look(200.0)
    assert sandbox.lab.now == pytest.approx(0.25 + LATE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_everybody_joins_a_stage_that_settles(system: str) -> None:
    sandbox = sandbox_of(system)
    sandbox.lab.settle()
    picture = sandbox.look(0.0)
    assert len(picture.rows) == WORKERS and {row.worker.state for row in picture.rows} == {"ready"}


def test_only_where_there_are_pairs_the_stage_is_one() -> None:
    pair = sandbox_of("negotiated")
    assert "fallback" in pair.lab.world.names
    pair.lab.settle()
    pair.lab.pull_plug()
    assert "broker" not in pair.lab.world.names
    with pytest.raises(Refused, match="no primary"):
        pair.lab.pull_plug()
    pair.lab.hand_back()
    assert "broker" in pair.lab.world.names
    alone = sandbox_of()
    for order in (alone.lab.pull_plug, alone.lab.hand_back):
        with pytest.raises(Refused, match="there is no"):
            order()


def test_orders_are_carried_out_at_once_and_refusals_come_back() -> None:
    sandbox = sandbox_of()
    assert sandbox.order(lambda stage: stage.add_workers(1)).result() is None
    assert len(sandbox.lab.workers()) == WORKERS + 1

    def refuse(_: object) -> None:
        raise Refused("not now")

    with pytest.raises(Refused, match="not now"):
        sandbox.order(refuse).result()


def test_a_fault_is_planned_without_being_done() -> None:
    sandbox = sandbox_of()
    sandbox.lab.settle()
    fault = sandbox.plan("kill w1")
    assert len(sandbox.lab.workers()) == WORKERS and sandbox.watches == []
    sandbox.inject(fault)
    assert len(sandbox.lab.workers()) == WORKERS - 1 and sandbox.watches[0].plan is fault
    with pytest.raises(Refused, match="no fault"):
        sandbox.plan("tickle w1")


def test_a_seat_is_found_by_its_routing_id() -> None:
    stage = sandbox_of().lab
    assert stage.seat_of(stage.key("worker-2")) == "worker-2"
    assert stage.seat_of(b"nobody") is None


def test_a_run_that_would_find_no_worker_yet_is_refused_and_every_name_in_the_table_is_a_target() -> None:
    sandbox = sandbox_of("pingpong")
    answer = sandbox.order(lambda lab: lab.run(BulkSpec("ping", 100)))
    with pytest.raises(Refused, match="no worker has joined yet"):
        answer.result()
    assert sandbox.lab.run_view() is None
    sandbox.lab.settle()
    sandbox.order(lambda lab: lab.run(BulkSpec("ping", 100))).result()
    assert [row.label for row in sandbox.look(0.0).rows] == ["w3", "w2", "w1"]
    assert {sandbox.plan(f"kill {row.label}").does for row in sandbox.look(0.0).rows} == {
        f"w{n} is dead, without a word" for n in (1, 2, 3)
    }


def test_what_is_injected_is_watched() -> None:
    sandbox, done = queues(), list[int]()
    sandbox.inject(Plan("x", "x", (), lambda: done.append(1)))
    assert done == [1]
    assert sandbox.watches[0].held


def test_time_passes_only_at_a_speed() -> None:
    sandbox = queues()
    for now in (1.0, 1.5):
        sandbox.pass_time(now)
    assert sandbox.lab.now == 0.0
    sandbox.speed = 3
    sandbox.pass_time(2.0)
    assert sandbox.lab.now == pytest.approx(0.05)


def test_a_step_pauses_the_clock_and_is_shown() -> None:
    sandbox = queues()
    sandbox.speed = 4
    assert sandbox.step(False)
    assert (sandbox.speed, sandbox.steps) == (0, 1)
    total = sandbox.trace.total
    assert sandbox.step(True)
    assert min(entry.number for entry in sandbox.last()) == total + 1


def test_an_error_of_an_order_is_told_to_who_asked() -> None:
    sandbox = queues()
    assert sandbox.order(lambda lab: lab.feed_some(2)).result() is None
    assert sandbox.lab.fed(0.0) == 3
    with pytest.raises(ZeroDivisionError):
        sandbox.order(lambda lab: 1 / 0).result()


def test_it_is_the_pipeline_with_little_room() -> None:
    sandbox = queues()
    assert (sandbox.lab.options.keep_input, sandbox.lab.options.max_files) == (False, ROOM)
    sandbox.lab.settle()
    picture = sandbox.look(0.0)
    assert sandbox.lab.now == 3.0 and [row.running for row in picture.view.stages] == [1, 2, 1]
    assert picture.fed == picture.books.total == 4 and picture.up == 3.0


def test_its_faults_and_their_targets() -> None:
    sandbox = queues()
    sandbox.lab.settle()
    known = {fault.name: sandbox.targets(fault) for fault in sandbox.faults()}
    assert known["kill"] == ("values.1", "parse.2", "parse.3", "output.4") and len(known) == 12
    assert sandbox.plan("kill parse.2").does.startswith("driver 2 is dead")
    with pytest.raises(Refused, match="no fault"):
        sandbox.plan("bore")
