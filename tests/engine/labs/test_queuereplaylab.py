"""A recording of disk queues: the same at a position whichever way one comes there, and compared with what was done."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import CATALOGUE
from engine.core import Note, Woken
from engine.errors import Refused
from engine.journal.codec import Unreadable
from engine.journal.format import DIGEST, EVENT, HEARD, LEFT, SEAT, About
from engine.journal.read import Reading, read
from engine.journal.write import Journal
from engine.labs.queuereplaylab import QueueReplayLab
from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.operations import Done, Log
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.queueviolations import STRANGE, TAKEN, accusation
from engine.sim.queues import Queues
from engine.tracing.operations import Operations
from tests.helpers.queue_recordings import EPOCH, SECONDS, opened, write

QUEUES = ("start", "parse", "output")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("recordings") / "a.journal")


@pytest.fixture
def lab(path: Path) -> QueueReplayLab:
    return opened(path)


def seen(lab: QueueReplayLab) -> tuple[Any, ...]:
    return lab.view(), lab.fed(0.0), lab.feed.since(0)[0], lab.samples(5.0)


def made(*records: list[Any], system: str = "diskqueue") -> QueueReplayLab:
    return QueueReplayLab(Reading(About(system, {}, EPOCH, 0.0, "test"), list(records), ""), CATALOGUE)


def a_driver(number: int, src: str = "/r/queue-start", dst: str = "/r/queue-parse", role: str = "driver") -> list[Any]:
    name = f"{dst.rpartition('-')[2]}.{number}"
    return [SEAT, 0.0, number, name, name, role, [[src, dst, str(number)], EPOCH], {}]


def test_cores_run_again_and_do_what_was_recorded(lab: QueueReplayLab) -> None:
    assert (lab.replay.differences, lab.broken, lab.last) == ([], "", len(lab.replay))
    assert (lab.position, lab.started, lab.readonly, lab.demonstration) == (0, 0.0, True, False)
    assert lab.health().dead == () and SECONDS - 1 < lab.end <= SECONDS


def test_in_the_end_the_queues_hold_what_was_on_the_disk(tmp_path: Path) -> None:
    worlds: list[Queues] = []
    lab = opened(write(tmp_path / "a.journal", meanwhile=worlds.append))
    lab.seek(lab.last)
    (world,) = worlds
    for place in lab._scene.queues:
        assert set(lab._scene.files[place.folder]) == set(world.listing(place.name))
    view = lab.view()
    assert (view.queues[0].counts.failed_twice, view.queues[-1].counts.ready, lab.fed(0.0)) == (2, 6, 8)


def test_a_position_looks_the_same_whichever_way_one_comes_there(lab: QueueReplayLab) -> None:
    forwards = {}
    for position in range(0, lab.last + 1, 7):
        lab.seek(position)
        forwards[position] = seen(lab)
    assert len({repr(one) for one in forwards.values()}) > 20
    for position in sorted(forwards, reverse=True):
        lab.seek(position)
        assert seen(lab) == forwards[position], position
    lab.seek(lab.last)
    lab.seek(70)
    assert seen(lab) == forwards[70]


def test_frames_are_gone_on_from(lab: QueueReplayLab, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.labs.queuereplaylab.NEAREST", 50)
    framed = opened(path)
    assert len(framed._frames) > 5
    for position in (300, 40, 299, 41, 0, framed.last):
        framed.seek(position)
        lab.seek(position)
        assert framed.view() == lab.view()


def test_documents_are_stepped_through_both_ways(lab: QueueReplayLab) -> None:
    stops: list[int] = []
    while lab.step_message():
        stops.append(lab.position)
    assert len(stops) > 30 and lab.position == lab.last
    back: list[int] = []
    while lab.step_message(False):
        back.append(lab.position)
    assert back == stops[::-1] and lab.position == 0


def test_seeking_a_time_shows_what_was_done_by_then(lab: QueueReplayLab) -> None:
    lab.seek_time(2.5)
    assert lab.now == 2.5 and lab.replay.records[lab.position - 1][1] <= 2.5 < lab.replay.records[lab.position][1]
    assert lab.view().at == lab.replay.about.started + 2.5
    lab.seek_time(-1.0)
    assert lab.now == lab.started
    lab.seek_time(1e9)
    assert (lab.position, lab.now) == (lab.last, lab.end)


def test_a_trace_holds_the_window_before_the_position_and_what_is_played(lab: QueueReplayLab) -> None:
    trace = Operations(QUEUES)
    lab.seek(200)
    lab.attach(trace)
    whole = [(entry.command, entry.seat) for entry in trace.entries()]
    assert ("TAKE", "parse.1") in whole and trace.entries()[-1].record is not None
    lab.seek(100)
    lab.seek(200)
    assert [(entry.command, entry.seat) for entry in trace.entries()] == whole
    lab.detach(trace)
    lab.seek(300)
    assert [(entry.command, entry.seat) for entry in trace.entries()] == whole
    assert lab.last < lab.window


def test_drivers_and_documents_are_drilled_into(lab: QueueReplayLab) -> None:
    lab.seek(lab.last)
    lab.inspect("d2")
    found = lab.inspected
    assert found is not None and [(place.queue, place.state) for place in found.places] == [
        ("start", "failed_twice"),
        ("start", "kept"),
    ]
    assert [(line.what, line.attempt) for _, line in found.attempts] == [("fail", 1), ("begin", 2), ("fail", 2)]
    lab.seek(0)
    assert lab.inspected is not None and lab.inspected.places == () and lab.inspected.attempts == ()
    lab.seek(lab.last)
    assert "failed_twice" in lab.output("2") + lab.output("1") + lab.output("4")
    assert lab.listening() == (0.0, 0)
    lab.inspect("")
    assert lab.inspected is None


def test_it_takes_no_orders(lab: QueueReplayLab) -> None:
    for order in ("pause_stage", "resume_stage", "kill_driver"):
        with pytest.raises(Refused, match="takes no orders"):
            getattr(lab, order)("parse")
    for told in (lab.feed_some, partial(lab.set_workers, "parse", 2), partial(lab.retry, "parse", "d1")):
        with pytest.raises(Refused, match="takes no orders"):
            told()


def test_who_was_not_heard_from_the_beginning_is_shown_and_not_run(tmp_path: Path, lab: QueueReplayLab) -> None:
    late = opened(write(tmp_path / "late.journal", late=("parse.1", "watchdog")))
    assert late.replay.differences == [] and late.broken == ""
    assert any(record[0] == HEARD for record in late.replay.records)
    late.seek(late.last)
    lab.seek(lab.last)
    assert [queue.counts for queue in late.view().queues] == [queue.counts for queue in lab.view().queues]


def test_a_difference_is_found_and_the_rest_is_played(path: Path) -> None:
    reading = read(path, CATALOGUE)
    at = max(place for place, record in enumerate(reading.records) if record[0] == DIGEST)
    reading.records[at][3] ^= 1
    lab = QueueReplayLab(reading, CATALOGUE)
    assert len(lab.replay.differences) == 1 and lab.last == len(lab.replay)


def test_what_a_core_can_not_take_ends_the_replay_there() -> None:
    lab = made(a_driver(1), [EVENT, 1.0, 1, Woken()], [EVENT, 2.0, 1, Done(Log("/r/log", "x"))])
    assert lab.last == 2 and lab.broken.startswith("AssertionError")
    lab.seek(5)
    assert lab.position == 2 and "can not be played any further" in lab.health().dead[0]


def test_records_of_several_processes_are_put_in_the_order_of_their_times() -> None:
    lab = made(a_driver(1, role=""), [HEARD, 5.0, 1, Woken(), []], a_driver(2, role=""), [HEARD, 3.0, 2, Woken(), []])
    assert [record[1] for record in lab.replay.records] == [0.0, 0.0, 3.0, 5.0]


def test_rules_that_were_broken_are_known_from_logs_and_from_what_drivers_say() -> None:
    odd = Note("warn", f"{STRANGE}: no driver number", b"x.y.working")
    line = Log("/r/worker-1/documents", accusation(EPOCH + 2.0, "a", TAKEN))
    row = Log("/r/worker-1/documents", f"{EPOCH + 3.0:.3f}\tpublished\t1\t5\ta\t")
    lab = made(
        a_driver(1, role=""),
        [HEARD, 1.0, 1, Woken(), [odd]],
        [HEARD, 2.0, 1, Done(line), []],
        [HEARD, 3.0, 1, Done(row), []],
    )
    lab.seek(2)
    assert [(one.peer, one.reason) for one in lab.view().incidents] == [(b"start", odd.text)]
    lab.seek(4)
    assert [(one.peer, one.at) for one in lab.view().incidents] == [(b"start", EPOCH + 1.0), (b"parse.1", EPOCH + 2.0)]
    assert [row.id for row in lab.view().documents] == ["a"]


def test_without_a_watchdog_stages_are_told_by_the_drivers_queues() -> None:
    lab = made(a_driver(2, "/r/queue-parse", "/r/queue-output"), a_driver(1), a_driver(3), [LEFT, 1.0, 1])
    assert (lab.root, [place.name for place in lab._scene.queues]) == ("/r", ["start", "parse", "output"])
    lab.seek(lab.last)
    assert [row.number for row in lab.view().drivers] == ["2", "3"]
    ring = made(a_driver(1, "/r/queue-a", "/r/queue-b"), a_driver(2, "/r/queue-b", "/r/queue-a"))
    assert [place.name for place in ring._scene.queues] == ["a", "b"]


BAD: list[list[list[Any]]] = [
    [],
    [[EVENT, 1.0, 1, "nonsense"]],
    [a_driver(1), [EVENT, 1.0, 1, Done(5)]],  # type: ignore[arg-type]
    [a_driver(1), [HEARD, 1.0, 1, Woken(), "x"]],
    [a_driver(1), [HEARD, 1.0, 1, Woken(), [5]]],
    [[SEAT, 0.0, 1, "parse.1", "parse.1", "driver", [], {}]],
    [[SEAT, 0.0, 1, "watchdog", "watchdog", "watchdog", [], {}]],
]


@pytest.mark.parametrize("records", BAD, ids=range(len(BAD)))
def test_what_is_no_recording_of_disk_queues_is_refused(records: list[list[Any]]) -> None:
    with pytest.raises(Unreadable):
        made(*records)


def test_a_journal_cut_at_any_byte_opens_as_far_as_its_last_whole_block(tmp_path: Path) -> None:
    path = tmp_path / "whole.journal"
    journal = Journal(path, SYSTEM, Options(), lambda note: None, clock=lambda: 0.0)
    for number in range(1, 4):
        _, _, _, node, name, role, args, world = a_driver(number)
        journal.seated(node, name, role, args, world)
        journal._blocks()
    journal.close()
    data = path.read_bytes()
    opens = 0
    for size in range(len(data)):
        (tmp_path / "cut.journal").write_bytes(data[:size])
        try:
            lab = opened(tmp_path / "cut.journal")
        except Unreadable:
            continue
        opens += 1
        assert 0 < lab.last < 7
    assert opens > 10
