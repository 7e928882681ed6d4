"""The commands of disk queues in processes of their own: a pipeline under fire, full disks, two file systems."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.drive.pipeline import Pipeline
from engine.protocols.diskqueue import names
from tests.helpers.processes import Processes, until

MEMORY = Path("/dev/shm")
DOCUMENTS = 1000 if os.environ.get("ROUNDHOUSE_SLOW") else 200


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder on the fastest file system that there is."""
    made = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def processes(folder: Path) -> Iterator[Processes]:
    with Processes(folder) as started:
        yield started


def test_hundreds_of_documents_while_drivers_are_killed_at_random(processes: Processes, folder: Path) -> None:
    (folder / "in").mkdir()
    ids = [f"doc-{number}.txt" for number in range(DOCUMENTS)]
    for id in ids:
        (folder / "in" / id).write_text(f"text of {id}\n", encoding="utf-8")
    root = folder / "p"
    files = [f"in/{id}" for id in ids]
    assert processes.run("feed", "--root", str(root), "--done", *files).out == f"{DOCUMENTS:,} documents fed\n"
    stages = ("--stage", "values=1", "--stage", "parse=3", "--stage", "output=2")
    process = processes.start(
        "pipeline", "run", *stages, "--root", str(root), "--json", "report.json", "--journal", "j"
    )
    killed, choose = 0, random.Random(3)
    until(lambda: (root / "pipeline.json").exists(), "the pipeline")
    pipeline = Pipeline.open(str(root))
    while process.alive:
        view = pipeline.show()
        running = [driver for driver in view.drivers if driver.times.docs]
        if running and sum(stage.docs for stage in view.stages) >= killed * 100:
            with suppress(ProcessLookupError):
                os.kill(choose.choice(running).pid, signal.SIGKILL)
                killed += 1
    assert process.ended() == 0, process.err
    assert killed > 3
    assert (root / "queue-output" / names.DONE).exists()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    given_up = [id for stage in report["stages"] for id in stage["failed_twice"]]
    published = [name.removesuffix(".ready") for name in os.listdir(root / "queue-output") if name.endswith(".ready")]
    assert sorted([*published, *given_up]) == sorted(ids)
    assert report["documents"]["total"] == DOCUMENTS
    assert report["documents"]["published"] == len(published)
    assert f"{DOCUMENTS:,} documents: {len(published):,} published" in process.out
    assert "killed by signal 9" in process.err
    for id in published:
        assert (root / "queue-output" / names.ready(id)).read_text(encoding="utf-8") == f"text of {id}\n"
    checked = processes.run("replay", "--check", "j")  # every driver from its first event to its last, killed or not
    assert checked.out.startswith("diskqueue: ") and checked.out.endswith("as recorded\n")


def test_start_leaves_a_watchdog_that_is_shown_stopped_and_killed(processes: Processes, folder: Path) -> None:
    root = folder / "p"
    started = processes.run("pipeline", "start", "--root", str(root), "--stage", "a=2").out
    assert re.fullmatch(r"a watchdog runs: process [0-9]+\n", started)
    pid = started.split()[-1]
    try:
        for number in ("1", "2"):
            until((root / f"worker-{number}" / "times").exists, "the timer file")
        shown = processes.run("pipeline", "show", "--root", str(root), "--json", "-")
        report = json.loads(shown.out)
        assert (report["state"], [driver["number"] for driver in report["drivers"]]) == ("running", ["1", "2"])
        assert (
            processes.run("pipeline", "start", "--root", str(root)).out == f"a watchdog runs already: process {pid}\n"
        )
        status = processes.run("pipeline", "status", "--root", str(root))
        assert status.ended() == 0 and status.out.startswith(f"a watchdog runs: process {pid}\n")
        os.kill(report["drivers"][0]["pid"], signal.SIGKILL)
        until((root / "worker-3" / "times").exists, "another driver in its place")
        stopped = processes.run("pipeline", "stop", "--root", str(root))
        assert (stopped.ended(), stopped.out, stopped.err) == (0, "2 drivers finished and left\n", "")
        status = processes.run("pipeline", "status", "--root", str(root))
        assert status.ended() == 1 and status.out.startswith("no watchdog runs; the last one ended: told to stop\n")
        assert processes.run("pipeline", "start", "--root", str(root)).out.startswith("a watchdog runs: process ")
    finally:
        killed = processes.run("pipeline", "kill", "--yes", "--root", str(root))
    assert (killed.ended(), killed.err) == (0, "")
    assert re.fullmatch(r"no driver runs\n|[12] drivers? killed, and what they held settled\n", killed.out)
    assert json.loads(processes.run("pipeline", "show", "--root", str(root), "--json", "-").out)["drivers"] == []


def test_a_signal_lets_the_drivers_finish_and_is_the_status(processes: Processes, folder: Path) -> None:
    (folder / "a").touch()
    root = folder / "p"
    processes.run("feed", "--root", str(root), "a")
    process = processes.start("pipeline", "run", "--stage", "only=2:sleep 0.3", "--root", str(root))
    until(lambda: any(name.endswith(".working") for name in os.listdir(root / "queue-start")), "a document in work")
    process.signal(signal.SIGTERM)
    assert process.ended() == 128 + signal.SIGTERM
    assert "1 document: 1 published\n" in process.out
    assert [name for name in os.listdir(root / "queue-start") if not name.startswith(".")] == []


def test_a_driver_whose_destination_lies_on_another_file_system_is_refused(
    processes: Processes, folder: Path, tmp_path: Path
) -> None:
    if tmp_path.stat().st_dev == folder.stat().st_dev:
        pytest.skip("there is only one file system")
    (folder / "src").mkdir()
    process = processes.run("drive", "--src", str(folder / "src"), "--dst", str(tmp_path / "dst"), "--number", "1")
    assert process.ended() == 2
    assert "are on two file systems" in process.err
    assert (process.out, os.listdir(tmp_path / "dst")) == ("", [])


def test_a_queue_that_lies_elsewhere_stops_the_pipeline_with_the_reason(
    processes: Processes, folder: Path, tmp_path: Path
) -> None:
    if tmp_path.stat().st_dev == folder.stat().st_dev:
        pytest.skip("there is only one file system")
    root = folder / "p"
    root.mkdir()
    (root / "queue-only").symlink_to(tmp_path, target_is_directory=True)
    process = processes.run("pipeline", "run", "--stage", "only", "--root", str(root))
    assert process.ended() == 1
    assert "two file systems" in process.err
    assert re.search(r"only is stopped: .*two file systems", process.out)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_full_disk_feeds_nothing_in_half(processes: Processes, folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (folder / "large").write_bytes(b"x" * 200_000)
        process = processes.run("feed", "--root", str(disk / "p"), "--done", "large")
        assert (process.ended(), process.out) == (1, "0 documents fed\n")
        assert "large: No space left on device" in process.err
        assert os.listdir(disk / "p" / "queue-start") == []
    finally:
        subprocess.run(["umount", disk], check=True)
