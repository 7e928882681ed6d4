"""A queue lab with real drivers: the demonstration, a pipeline that exists, orders, and an end that leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from engine.drive.feeding import feed
from engine.drive.pipeline import Pipeline
from engine.drive.tempdir import sweep
from engine.errors import Refused
from engine.journal.format import SEAT
from engine.labs.queues import BATCH, LiveQueueLab
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import DriverRow, Stage
from engine.tracing.operations import Operations
from tests.helpers.processes import own_environment, until
from tests.helpers.queue_recordings import opened

QUICK = Options(poll=0.05)


@pytest.fixture
def lab() -> Iterator[LiveQueueLab]:
    with LiveQueueLab(QUICK) as opened:
        until(lambda: sum(driver.pid > 0 for driver in opened.view().drivers) == 6)
        yield opened


def begun(root: Path) -> None:
    """Make it a pipeline of one stage that nobody watches over."""
    pipeline = Pipeline(str(root), [Stage("a")], QUICK)
    assert len(pipeline.start()) == 1
    assert pipeline.kill()


def drivers_of(lab: LiveQueueLab, stage: str) -> list[DriverRow]:
    return [driver for driver in lab.view().drivers if driver.stage == stage]


def state(lab: LiveQueueLab, stage: str) -> str:
    return next(row.state for row in lab.view().stages if row.name == stage)


def said(lab: LiveQueueLab) -> str:
    return "\n".join(fact.text for fact in lab.feed.since(0)[0])


def test_the_demonstration_flows_fails_once_and_twice_and_leaves_nothing() -> None:
    lab = LiveQueueLab(QUICK).open()
    lab.feed_some()  # beside what comes by itself
    until(lambda: lab.view().queues[-1].counts.ready >= BATCH - 1 and lab.view().queues[1].counts.failed_twice >= 1)
    outcomes = {row.outcome for row in lab.view().documents}
    assert outcomes >= {"published", "failed", "failed_twice"}
    assert lab.fed(lab.view().at) >= BATCH and lab.fed(0.0) == 0
    pids = [driver.pid for driver in lab.view().drivers]
    assert len(pids) == 6 and Path(lab.root).is_dir()
    lab.close()
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert not Path(lab.root).exists()
    assert lab.health().dead == ()


def test_orders_change_the_pipeline(lab: LiveQueueLab) -> None:
    lab.set_workers("parse", 4)
    until(lambda: len(drivers_of(lab, "parse")) == 4)
    lab.pause_stage("values")
    until(lambda: state(lab, "values") == "paused" and not drivers_of(lab, "values"))
    lab.resume_stage("values")
    until(lambda: state(lab, "values") == "running" and bool(drivers_of(lab, "values")))
    victim = drivers_of(lab, "output")[0].number
    lab.kill_driver(victim)
    until(lambda: victim not in [driver.number for driver in drivers_of(lab, "output")])
    until(lambda: len(drivers_of(lab, "output")) == 2)
    assert "killed by signal 9" in said(lab)
    with pytest.raises(Refused, match="has ended already"):
        lab.kill_driver(victim)
    with pytest.raises(Refused, match="no stage nonsense"):
        lab.pause_stage("nonsense")
    with pytest.raises(Refused, match="1 to 1000"):
        lab.set_workers("parse", 0)


def test_a_document_that_was_given_up_is_looked_up_and_tried_again(lab: LiveQueueLab) -> None:
    lab.feed_some()
    until(lambda: lab.view().queues[1].counts.failed_twice >= 1)
    given_up = next(one.id for one in lab.view().queues[1].documents if one.state == "failed_twice")
    lab.inspect(given_up)
    until(lambda: lab.inspected is not None)
    assert lab.inspected is not None
    assert (lab.inspected.id, "says" in lab.inspected.attempts[-1][1].reason) == (given_up, True)
    lab.retry("values", given_up)
    until(lambda: lab.view().queues[1].counts.failed_twice >= 1)  # and it is given up again
    with pytest.raises(Refused, match="can not be tried again"):
        lab.retry("values", "nobody")
    lab.inspect("")
    assert lab.inspected is None


def test_files_are_fed_and_events_name_those_that_are_not(lab: LiveQueueLab, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("a document\n", encoding="utf-8")
    before = lab.fed(time.time())
    lab.feed_files([str(tmp_path / "mine.txt"), str(tmp_path / "none.txt")])
    until(lambda: "1 of 2 files fed" in said(lab))
    assert f"{tmp_path}/none.txt is not fed: No such file or directory" in said(lab)
    assert lab.fed(time.time()) > before
    until(lambda: "mine.txt" in [row.id for row in lab.view().documents])


def test_a_pipeline_that_exists_is_taken_up_and_kept(tmp_path: Path) -> None:
    root, source = tmp_path / "p", tmp_path / "a.txt"
    source.write_text("text\n", encoding="utf-8")
    with pytest.raises(Refused, match="there is no pipeline"):
        LiveQueueLab(root=str(root)).open()
    begun(root)
    assert feed(str(root), [str(source)])[0].reason == ""
    with LiveQueueLab(root=str(root)) as lab:
        assert lab.fed(0.0) == 1
        until(lambda: lab.view().queues[-1].counts.ready == 1)
        with LiveQueueLab(root=str(root)) as beside:
            assert beside.watches and not lab.watches
            until(lambda: bool(beside.view().drivers))
        assert lab.view().drivers and lab.view().state == "running", "it ended nothing"
    assert os.listdir(root / "queue-a") == ["a.txt.ready"]


def test_beside_drivers_that_others_started_it_watches_and_ends_nothing(tmp_path: Path) -> None:
    pipeline = Pipeline(str(tmp_path), [Stage("a")], QUICK)
    numbers = pipeline.start()
    with LiveQueueLab(root=str(tmp_path)) as lab:
        until(lambda: bool(lab.view().drivers))
        only_watches = pytest.raises(Refused, match="others have started these drivers, and this console only watches")
        with only_watches:
            lab.pause_stage("a")
        with only_watches:
            lab.set_workers("a", 2)
        with only_watches:
            lab.kill_driver(numbers[0])
    assert [driver.number for driver in Pipeline.open(str(tmp_path)).show().drivers] == numbers
    assert pipeline.kill()


def test_everything_is_recorded_and_traced_beside(tmp_path: Path) -> None:
    path, trace = tmp_path / "a.journal", Operations(("start", "values", "parse", "output"))
    with LiveQueueLab(QUICK, journal=path) as lab:
        lab.attach(trace)
        until(lambda: lab.view().queues[-1].counts.ready >= 3)
        victim = next(driver.number for driver in lab.view().drivers if driver.stage == "parse")
        lab.kill_driver(victim)
        until(lambda: any(entry.command == "SPAWN" for entry in trace.entries()))
        until(lambda: any(entry.seat == "feeder" and entry.command == "FEED" for entry in trace.entries()))
        spent, lost = lab.listening()
        assert spent > 0 and lost == 0
        lab.detach(trace)
        lab.detach(trace)
    assert lab.health().dead == ()
    recording = opened(path)
    assert (recording.replay.differences, recording.broken) == ([], "")
    assert {"recovery", "feeder", "watchdog"} <= {record[4] for record in recording.replay.records if record[0] == SEAT}
    recording.seek(recording.last)
    assert recording.view().queues[-1].counts.ready >= 3 and recording.fed(0.0) >= 3
    with pytest.raises(Refused, match="it exists"):
        LiveQueueLab(QUICK, journal=path).open()


def test_where_no_socket_can_be_made_a_trace_is_refused(lab: LiveQueueLab) -> None:
    Path(lab.root, ".watchers").write_text("in the way", encoding="utf-8")
    with pytest.raises(Refused, match="drivers can not be listened to"):
        lab.attach(Operations(("start",)))


def test_a_pipeline_that_has_ended_takes_no_orders(tmp_path: Path) -> None:
    root = str(tmp_path)
    begun(tmp_path)
    feed(root, [], done=True)
    with LiveQueueLab(root=root) as lab:
        until(lambda: lab.view().state == "ended")
        with pytest.raises(Refused, match="has ended"):
            lab.feed_some()
        with pytest.raises(Refused, match="has ended"):
            lab.resume_stage("a")


def test_a_read_only_lab_refuses_what_changes_something() -> None:
    with LiveQueueLab(QUICK, readonly=True) as lab:
        until(lambda: len(lab.view().drivers) == 6)
        with pytest.raises(Refused, match="readonly is set"):
            lab.kill_driver("1")
        with pytest.raises(Refused, match="readonly is set"):
            lab.pause_stage("parse")
        with pytest.raises(Refused, match="readonly is set"):
            lab.set_workers("parse", 1)
        with pytest.raises(Refused, match="readonly is set"):
            lab.feed_some()
        with pytest.raises(Refused, match="readonly is set"):
            lab.set_workers("parse", 3)


def test_a_read_only_lab_starts_nothing_in_a_pipeline_that_exists(tmp_path: Path) -> None:
    """It started the commands of whatever stood in ``pipeline.json``."""
    begun(tmp_path)
    (tmp_path / "queue-start" / "x.ready").touch()
    before = sorted(os.listdir(tmp_path))
    with LiveQueueLab(QUICK, str(tmp_path), readonly=True) as lab:
        until(lambda: lab.view().queues[0].counts.ready == 1)
        assert (lab.view().state, lab.view().drivers) == ("absent", ())
        orders: list[Callable[[], None]] = [
            lambda: lab.set_workers("a", 3),
            lambda: lab.resume_stage("a"),
            lambda: lab.pause_stage("a"),
            lambda: lab.retry("start", "x"),
            lab.feed_some,
        ]
        for order in orders:
            with pytest.raises(Refused, match="readonly is set"):
                order()
    assert lab.health().dead == ()
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "queue-start" / "x.ready").exists()


def test_a_read_only_lab_looks_at_what_another_watchdog_runs(tmp_path: Path) -> None:
    begun(tmp_path)
    with LiveQueueLab(QUICK, str(tmp_path)) as runs, LiveQueueLab(QUICK, str(tmp_path), readonly=True) as looks:
        until(lambda: len(looks.view().drivers) == 1 and looks.view().state == "running")
        number = looks.view().drivers[0].number
        with pytest.raises(Refused, match="readonly is set"):
            looks.kill_driver(number)
        looks.close()
        until(lambda: [driver.number for driver in runs.view().drivers] == [number], "the view of who runs it")


def test_a_root_that_others_can_write_is_refused_but_can_be_looked_at(tmp_path: Path) -> None:
    begun(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(Refused, match=r"can be written by others than uid \d+ \(mode 0777\)"):
        LiveQueueLab(QUICK, str(tmp_path)).open()
    with (
        LiveQueueLab(QUICK, str(tmp_path), readonly=True) as lab,
        pytest.raises(Refused, match="can be written by others"),
    ):
        lab.attach(Operations(("start",)))
    assert not (tmp_path / ".watchers").exists()
    with LiveQueueLab(QUICK, str(tmp_path), trust=True) as lab:
        until(lambda: len(lab.view().drivers) == 1)


def test_a_thread_that_dies_is_told_and_its_drivers_go_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(self: Pipeline) -> list[object]:
        raise ZeroDivisionError("in the watchdog")

    with LiveQueueLab(QUICK) as lab:
        until(lambda: sum(driver.pid > 0 for driver in lab.view().drivers) == 6)
        pids = [driver.pid for driver in lab.view().drivers]
        monkeypatch.setattr(Pipeline, "_asked_from_outside", boom)
        until(lambda: lab.health().dead)
        assert lab.health().dead == ("watchdog: ZeroDivisionError: in the watchdog",)
        assert "watchdog has died" in said(lab)
    assert not any(psutil.pid_exists(pid) for pid in pids)


PROGRAM = """
import sys
from engine.labs.queues import LiveQueueLab
lab = LiveQueueLab().open()
while sum(driver.pid > 0 for driver in lab.view().drivers) < 6:
    pass
print(lab.root, *(driver.pid for driver in lab.view().drivers), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere drivers can outlive a process that was killed")
def test_a_demonstration_that_is_killed_leaves_no_driver_and_its_folder_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = str(Path(__file__).parents[3])
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=own_environment(tmp_path, PYTHONPATH=home, TMPDIR=str(tmp_path)),
    )
    assert process.stdout is not None
    root, *pids = process.stdout.readline().split()
    process.kill()
    process.communicate()
    assert len(pids) == 6
    until(lambda: not any(psutil.pid_exists(int(pid)) for pid in pids), "the end of the drivers")
    assert os.listdir(tmp_path) == [os.path.basename(root)]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sweep("roundhouse-")  # as the next demonstration does before it makes a folder
    assert os.listdir(tmp_path) == []
