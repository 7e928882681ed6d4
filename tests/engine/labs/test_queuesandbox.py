"""A standing pipeline: steps, pictures, orders."""

from __future__ import annotations

import pytest

from engine.errors import Refused
from engine.labs.queuesandbox import AHEAD, BATCH, QueueSandbox
from engine.protocols.diskqueue.books import entries, whole
from engine.protocols.diskqueue.operations import Done, Operation, Take
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.sim.driver import Fate
from engine.sim.queues import FEEDER
from engine.tracing.operations import Operations, document


def counted(stage: QueueSandbox) -> int:
    return whole(entries([queue.counts for queue in stage.view().queues])).total


def test_a_step_is_one_operation_and_a_longer_one_a_document_s_next_name() -> None:
    with QueueSandbox() as stage:
        trace = Operations(stage.world.queues)
        stage.attach(trace)
        seen = [stage.step() for _ in range(8)]
        assert all(len(step) >= 1 for step in seen)
        assert all(isinstance(one.event, Done) or one.commands for step in seen for one in step)
        moved = stage.step_message()[-1]
        assert (moved.name, moved.event) == ("values.1", Done(Take("/queue-start", "d1.ready", "d1.1.working")))
        for _ in range(8):
            stage.step_message()
        assert [leg.what for leg in trace.follow(document("d1")).legs][:4] == ["take", "write", "publish", "delete"]


def test_one_seed_is_one_history() -> None:
    def play(seed: int) -> list[str]:
        with QueueSandbox(seed=seed) as stage:
            trace = Operations(stage.world.queues)
            stage.attach(trace)
            stage.advance(5.0)
            return [f"{entry.at} {entry.line}" for entry in trace.entries()]

    assert play(1) == play(1) != play(2)


def test_the_picture() -> None:
    with QueueSandbox() as stage:
        stage.advance(20.3)
        view = stage.view()
        assert [(row.name, row.wanted, row.running, row.state) for row in view.stages] == [
            ("values", 1, 1, "running"),
            ("parse", 2, 2, "running"),
            ("output", 1, 1, "running"),
        ]
        assert [queue.name for queue in view.queues] == ["start", "values", "parse", "output"]
        assert [driver.number for driver in view.drivers] == ["1", "2", "3", "4"]
        assert counted(stage) == stage.fed(view.at) == 21
        assert 0.7 < view.stages[-1].rate < 1.1 and view.stages[0].times.docs == view.stages[0].docs
        assert {row.outcome for row in view.documents} == {"published"}
        working = [driver.document for driver in view.drivers if driver.document]
        assert working and all(queue.trouble == "" for queue in view.queues)
        stage.world.disk.full = True
        assert {queue.trouble for queue in stage.view().queues} == {"the disk is full"}
        stage.world.kill_watchdog()
        assert stage.view().state == "absent" and len(stage.view().stages) == 3


def test_the_rows_that_were_walked_are_in_the_picture_also_those_of_the_dead() -> None:
    with QueueSandbox([Stage("only")]) as stage:
        stage.advance(20.3)
        walks = stage.view().walks
        documents, drivers = dict(walks.documents or ()), dict(walks.drivers or ())
        published = sum(row.outcome == "published" for row in stage.view().documents)
        assert documents["publishing", "its output is renamed"] == drivers["publishing", "its output is renamed"]
        assert documents["publishing", "its output is renamed"] == published > 10
        assert dict(walks.seen or ()) == {("absent", "too few"): 1} and walks.stages == ()
        while stage.world.seats["1"].driver.core.snapshot(0.0).phase != "working":
            stage.step()
        before = dict(stage.view().walks.drivers or ())
        stage.world.kill("1")
        assert dict(stage.view().walks.drivers or ()) == before
        stage.advance(5.0)
        walks = stage.view().walks
        assert dict(walks.documents or ())["working", "its driver dies"] == 1
        assert dict(walks.seen or ())["running", "it ended with an error"] == 1
        stage.world.kill_watchdog()
        assert stage.view().walks.seen is None and stage.view().walks.documents is not None


def test_what_fails_is_told_and_can_be_tried_again() -> None:
    with QueueSandbox([Stage("only")]) as stage:
        fate: dict[str, Fate] = {"d1": "failed"}
        stage.world.fate = lambda of, id, attempt: fate.get(id, "done")
        stage.advance(8.0)
        rows = [(row.outcome, row.attempt) for row in stage.view().documents if row.id == "d1"]
        assert rows == [("failed", 1), ("failed_twice", 2)] and stage.attempts[("only", "d1")] == 2
        fate.clear()
        stage.retry("start", "d1")
        with pytest.raises(Refused, match="not kept"):
            stage.retry("start", "d1")
        stage.advance(8.0)
        assert [row.outcome for row in stage.view().documents if row.id == "d1"][-1] == "published"


def test_orders() -> None:
    with QueueSandbox(feeding=False) as stage:
        stage.advance(1.0)
        stage.set_workers("parse", 3)
        stage.pause_stage("values")
        stage.kill_driver("4")
        stage.advance(3.0)
        rows = {row.name: (row.running, row.state) for row in stage.view().stages}
        assert rows == {"values": (0, "paused"), "parse": (3, "running"), "output": (1, "running")}
        stage.resume_stage("values")
        stage.feed_some()
        stage.advance(20.0)
        assert stage.sight().published() == BATCH == stage.fed(0.0) and stage.next_id() == f"d{BATCH + 1}"
        with pytest.raises(Refused, match="no stage nowhere"):
            stage.pause_stage("nowhere")
        with pytest.raises(Refused, match="1 to 1000"):
            stage.set_workers("parse", 0)
        with pytest.raises(Refused, match="ended already"):
            stage.kill_driver("4")
        stage.world.disk.full = True
        with pytest.raises(Refused, match="takes nothing"):
            stage.feed_some()
        stage.world.disk.put("/queue-start", "done")
        with pytest.raises(Refused, match="nothing more"):
            stage.feed_some()
        stage.world.kill_watchdog()
        with pytest.raises(Refused, match="no watchdog"):
            stage.pause_stage("values")
        assert stage.output("1") == "" and stage.inspected is None


def test_the_feeder_stops_ahead_of_a_stage_that_stands() -> None:
    with QueueSandbox(options=Options(poll=0.1)) as stage:
        stage.pause_stage("values")
        stage.advance(30.0)
        assert stage.fed(0.0) == AHEAD and counted(stage) == AHEAD


def test_a_broken_core_stops_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    with QueueSandbox() as stage:
        stage.advance(2.0)

        def broken(operation: Operation, number: str) -> Done:
            raise KeyError("oh")

        monkeypatch.setattr(stage.world.disk, "perform", broken)
        stage.advance(2.0)
        (dead,) = stage.health().dead
        assert "KeyError: 'oh'" in dead and stage.step() == ()
        assert FEEDER not in [row.name for row in stage.view().stages]


def test_documents_are_fed_at_a_rate_and_followed_to_their_end() -> None:
    with QueueSandbox(feeding=False) as stage:
        assert stage.feed_batch(3, None) == ["d1"]
        slow = stage.feed_batch(4, 0.5)
        stage.advance(7.0)
        assert slow == ["d2", "d5", "d6", "d7"] and stage.fed(0.0) == 7
        stage.world.disk.full = True
        late = stage.feed_batch(1, None)
        stage.advance(3.0)
        assert late == []
        stage.world.disk.full = False
        stage.world.fate = lambda of, id, attempt: "failed" if id == "d8" else "done"
        stage.advance(20.0)
        assert late == ["d8"] and stage.ended([*slow, *late]) == (4, 1)
        stage.say_done()
        stage.advance(20.0)
        assert stage.view().drivers == () and stage.view().state == "absent"
