"""A stage at the console: what time does to it, what happened last, and orders that are carried out at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.desks.rehearsing import LATE, Pace
from console.desks.stagedesk import WORKERS, StageDesk
from console.history import History
from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.parts.bulk import BulkSpec


def desk_of(folder: Path, system: str = "roundrobin") -> StageDesk:
    return StageDesk(SYSTEMS[system], SYSTEMS[system].options(), History(folder / "history"))


def test_what_happened_in_the_last_step_and_nothing_before(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    assert desk.last() == []
    assert desk.step(True)
    first = desk.last()
    assert first and any(entry.direction == "in" for entry in first)
    assert desk.step(True)
    assert min(entry.number for entry in desk.last()) == max(entry.number for entry in first) + 1
    assert desk.steps == 2


def test_no_look_makes_up_for_more_than_a_moment(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    desk.speed = 4
    desk.look(100.0)
    desk.look(100.25)
    assert desk.stage.now == pytest.approx(0.25)
    desk.look(200.0)
    assert desk.stage.now == pytest.approx(0.25 + LATE)


@pytest.mark.parametrize("system", SYSTEMS)
def test_everybody_joins_a_stage_that_settles(tmp_path: Path, system: str) -> None:
    desk = desk_of(tmp_path, system)
    desk.settle()
    picture = desk.look(0.0)
    assert len(picture.rows) == WORKERS and {row.worker.state for row in picture.rows} == {"ready"}


def test_only_where_there_are_pairs_the_stage_is_one(tmp_path: Path) -> None:
    pair = desk_of(tmp_path, "negotiated")
    assert "fallback" in pair.stage.world.names
    pair.settle()
    pair.stage.pull_plug()
    assert "broker" not in pair.stage.world.names
    with pytest.raises(Refused, match="no primary"):
        pair.stage.pull_plug()
    pair.stage.hand_back()
    assert "broker" in pair.stage.world.names
    alone = desk_of(tmp_path)
    for order in (alone.stage.pull_plug, alone.stage.hand_back):
        with pytest.raises(Refused, match="there is no"):
            order()


def test_orders_are_carried_out_at_once_and_refusals_come_back(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    assert desk.order(lambda stage: stage.add_workers(1)).result() is None
    assert len(desk.stage.workers()) == WORKERS + 1

    def refuse(_: object) -> None:
        raise Refused("not now")

    with pytest.raises(Refused, match="not now"):
        desk.order(refuse).result()


def test_a_fault_is_planned_without_being_done(tmp_path: Path) -> None:
    desk = desk_of(tmp_path)
    desk.settle()
    fault = desk.plan("kill w1")
    assert len(desk.stage.workers()) == WORKERS and desk.watches == []
    desk.inject(fault)
    assert len(desk.stage.workers()) == WORKERS - 1 and desk.watches[0].plan is fault
    with pytest.raises(Refused, match="no fault"):
        desk.plan("tickle w1")


def test_a_seat_is_found_by_its_routing_id(tmp_path: Path) -> None:
    stage = desk_of(tmp_path).stage
    assert stage.seat_of(stage.key("worker-2")) == "worker-2"
    assert stage.seat_of(b"nobody") is None


def test_the_pace_of_looks() -> None:
    pace = Pace()
    assert pace.hertz == 4.0
    assert [pace.passed(at) for at in (10.0, 10.5, 11.0)] == [0.0, 0.5, 0.5]
    assert pace.hertz == 2.0


def test_a_run_that_would_find_no_worker_yet_is_refused_and_every_name_in_the_table_is_a_target(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, "pingpong")
    answer = desk.order(lambda lab: lab.run(BulkSpec("ping", 100)))
    with pytest.raises(Refused, match="no worker has joined yet"):
        answer.result()
    assert desk.stage.run_view() is None
    desk.settle()
    desk.order(lambda lab: lab.run(BulkSpec("ping", 100))).result()
    assert [row.label for row in desk.look(0.0).rows] == ["w3", "w2", "w1"]
    assert {desk.plan(f"kill {row.label}").does for row in desk.look(0.0).rows} == {
        f"w{n} is dead, without a word" for n in (1, 2, 3)
    }
