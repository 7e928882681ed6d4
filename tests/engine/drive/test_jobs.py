"""Real processes: right logs, right ends, and none that outlives whoever started it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from engine.core import Process
from engine.drive import jobs as module
from engine.drive.cpus import ALL, share_one
from engine.drive.jobs import Jobs

ROOT = Path(__file__).parents[3]
PATIENCE = 20.0  # seconds after which a test fails instead of hanging

Ends = Queue[tuple[object, bool, str]]


class Bench:
    """Jobs, and a folder for their scripts and logs."""

    def __init__(self, folder: Path, limit: int = module.LIMIT) -> None:
        self.folder = folder
        self.ends: Ends = Queue()
        self.named = ""
        self.jobs = Jobs(lambda key, ok, result: self.ends.put((key, ok, result.decode())), limit)

    def script(self, text: str) -> str:
        path = self.folder / "script"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(stat.S_IRWXU)
        return str(path)

    def body(self, command: str, argument: str = "7", name: str = "job_7") -> Process:
        return Process(command, argument, str(self.folder), str(self.folder), name)

    def end(self) -> tuple[object, bool, str]:
        """The next end; the name of its log is kept apart."""
        key, ok, told = self.ends.get(timeout=PATIENCE)
        status, _, self.named = told.partition("\0")
        return key, ok, status

    def log(self, name: str = "job_7") -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.jobs.close()
    assert made.ends.empty()  # and nothing else was told


def test_a_command_gets_its_number_its_folder_no_input_and_a_log(bench: Bench) -> None:
    bench.jobs.start("k", bench.body(bench.script('echo "task $1 of $#"; pwd; cat; echo oops >&2')))
    assert bench.end() == ("k", True, "done")
    assert bench.log() == f"task 7 of 1\n{os.path.realpath(bench.folder)}\noops\n"


def test_a_log_that_exists_is_left_alone(bench: Bench) -> None:
    (bench.folder / "job_7.log").write_text("mine", encoding="utf-8")
    for at, text in enumerate(("first", "second"), 1):
        bench.jobs.start(text, bench.body(bench.script(f"echo {text}")))
        assert bench.end() == (text, True, "done")
        assert bench.named == f"job_7-{at}.log", "its end says which it was"
    assert [bench.log(name) for name in ("job_7", "job_7-1", "job_7-2")] == ["mine", "first\n", "second\n"]


@pytest.mark.parametrize(
    ("text", "status"),
    [("exit 3", "error encountered: exit status 3"), ("kill -KILL $$", "error encountered: signal: killed")],
)
def test_how_it_ended(bench: Bench, text: str, status: str) -> None:
    bench.jobs.start(1, bench.body(bench.script(text)))
    assert bench.end() == (1, False, status)


def test_what_can_not_be_started(bench: Bench) -> None:
    right = bench.body("true")
    wrongs = [
        (Process("/nowhere/at/all", "1", right.cwd, right.log_dir, "a"), "/nowhere/at/all"),
        (Process("true", "1", "/nowhere", right.log_dir, "b"), "/nowhere"),
        (Process("true", "1", right.cwd, "/nowhere", "c"), "/nowhere/c.log"),
        (Process("true", "\0", right.cwd, right.log_dir, "d"), "null byte"),
    ]
    for body, why in wrongs:
        bench.jobs.start(why, body)
        key, ok, status = bench.end()
        assert (key, ok) == (why, False) and status.startswith("error encountered: ") and why in status
    bench.jobs.start("k", right)
    assert bench.end() == ("k", True, "done")


def test_cancel_kills_the_whole_group(bench: Bench) -> None:
    """The reading end of a pipe ends when the last process that could write to it has."""
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    bench.jobs.start("k", bench.body(bench.script(f"exec 3>{fifo}; sleep 1000 & sleep 1000")))
    with open(fifo, "rb") as alive:
        bench.jobs.cancel("k")
        assert alive.read() == b""
    assert bench.end() == ("k", False, "error encountered: signal: killed")
    bench.jobs.cancel("k")
    bench.jobs.cancel("nobody")


def test_what_a_command_leaves_behind_in_its_group_is_killed(bench: Bench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    bench.jobs.start("k", bench.body(bench.script(f"exec 3>{fifo}; sleep 1000 &")))
    with open(fifo, "rb") as alive:
        assert alive.read() == b""
    assert bench.end() == ("k", True, "done")


def test_close_kills_everything_and_tells_nothing(bench: Bench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    bench.jobs.start("k", bench.body(bench.script(f"exec 3>{fifo}; sleep 1000 & sleep 1000")))
    with open(fifo, "rb") as alive:
        bench.jobs.close()
        assert alive.read() == b""
    with pytest.raises(RuntimeError, match="no process is started any more"):
        bench.jobs.start("l", bench.body("true"))


def test_many_at_once_and_no_more_than_the_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, limit=3)
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    script = bench.script(f"read line <{fifo}")
    for i in range(4):
        bench.jobs.start(i, bench.body(script, str(i), f"job_{i}"))
    assert bench.end() == (3, False, "error encountered: more than 3 processes")
    with open(fifo, "wb"):
        pass  # whoever waits for a line meets the end of the file
    bench.jobs.close()


def test_a_guard_that_dies_fails_what_it_ran_and_the_next_start_has_a_new_one(bench: Bench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    bench.jobs.start("k", bench.body(bench.script(f"exec 3>{fifo}; exec sleep 1000")))
    with open(fifo, "rb") as alive:
        guard = bench.jobs._guard
        assert guard is not None
        guard.kill()
        if sys.platform == "linux":
            assert alive.read() == b""  # its children die with it
    assert bench.end() == ("k", False, "error encountered: the process guard has died: ")
    bench.jobs.start("l", bench.body("true"))
    assert bench.end() == ("l", True, "done")


def test_no_guard_at_all(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    bench.jobs.start("k", bench.body("true"))
    key, ok, status = bench.end()
    assert (key, ok) == ("k", False) and "no process guard" in status


WORKER = """
import sys
from engine.drive.jobs import Jobs
from engine.core import Process

folder, script = sys.argv[1:]
jobs = Jobs(lambda key, ok, result: None)
jobs.start(1, Process(script, "1", folder, folder, "job_1"))
sys.stdin.read()
"""


def test_nothing_outlives_a_worker_that_is_killed(bench: Bench) -> None:
    """Not even a grandchild, and not even after SIGKILL, which no program can answer."""
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    script = bench.script(f"exec 3>{fifo}; sleep 1000 & sleep 1000")
    command = [sys.executable, "-c", WORKER, str(bench.folder), script]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) as worker, open(fifo, "rb") as alive:
        worker.send_signal(signal.SIGKILL)
        assert alive.read() == b""


@pytest.mark.skipif(len(ALL) < 2, reason="one processor, or a system that does not tell")
def test_a_body_has_all_processors_though_its_node_keeps_to_one(tmp_path: Path) -> None:
    script = tmp_path / "cpus"
    script.write_text(f"#!{sys.executable}\nimport os\nprint(sorted(os.sched_getaffinity(0)))\n")
    script.chmod(0o755)
    ended: Queue[bool] = Queue()
    jobs = Jobs(lambda key, ok, result: ended.put(ok))

    def node() -> None:
        share_one()
        jobs.start(1, Process(str(script), "1", str(tmp_path), str(tmp_path), "cpus_1"))

    thread = threading.Thread(target=node)
    thread.start()
    thread.join()
    try:
        assert ended.get(timeout=60)
    finally:
        jobs.close()
    assert (tmp_path / "cpus_1.log").read_text() == f"{sorted(ALL)}\n"
