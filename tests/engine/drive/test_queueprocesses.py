"""Driver processes: started in the original's layout, told, counted out."""

from __future__ import annotations

import errno
import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from engine.core import Note
from engine.drive import queueprocesses
from engine.drive.locks import Lock
from engine.drive.pipelineview import Observation
from engine.drive.queueprocesses import DriverProcesses
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.diskqueue.watchdog import Ended, Found
from tests.helpers.processes import WAIT

STAGES = (Stage("a"), Stage("b"))
T = TypeVar("T")


def made(root: Path) -> DriverProcesses:
    for queue in ("start", "a", "b"):
        (root / f"queue-{queue}").mkdir(exist_ok=True)
    return DriverProcesses(str(root), STAGES, Options(), Observation(str(root), STAGES))


def until(what: Callable[[], T | None]) -> T:
    """Wait for something that is sure to come; the limit is for a defect."""
    limit = time.monotonic() + WAIT
    while (found := what()) is None:
        assert time.monotonic() < limit, "it did not come"
        time.sleep(0.005)
    return found


def ended(processes: DriverProcesses) -> Ended:
    """The next driver that ends; it is told to, so it will."""
    return until(lambda: next(processes.ends(), None))


def test_a_driver_is_started_found_told_and_counted_out(tmp_path: Path) -> None:
    processes = made(tmp_path)
    (tmp_path / "queue-start" / names.DONE).touch()
    (tmp_path / "queue-start" / "x.ready").write_text("x", encoding="utf-8")
    assert processes.spawn("a", "1") == []
    assert set(processes.running()) == {"1"}
    end = ended(processes)
    assert (end.number, end.code, end.started, end.docs) == ("1", 0, True, 1)
    assert processes.running() == {}
    assert (tmp_path / "queue-a" / "x.ready").exists()
    assert {"worker.par", "pid", "times", "out.txt", "documents"} <= set(os.listdir(tmp_path / "worker-1"))


def test_between_stages_there_is_a_limit_and_at_the_end_none(tmp_path: Path) -> None:
    processes = made(tmp_path)
    for stage, number in (("a", "1"), ("b", "2")):
        processes.spawn(stage, number)
        processes.kill(number)
        assert ended(processes).code == -signal.SIGKILL
    first, last = ((tmp_path / f"worker-{n}" / "worker.par").read_text(encoding="utf-8") for n in (1, 2))
    assert "disk_queue_max_dst_files: 500\n" in first
    assert "disk_queue_max_dst_files: 0\n" in last
    assert f"disk_queue_src: {tmp_path}/queue-a\n" in last


def test_a_number_that_was_used_is_not_used_again(tmp_path: Path) -> None:
    processes = made(tmp_path)
    (tmp_path / "worker-1").mkdir()
    (end,) = processes.spawn("a", "1")
    assert (end.code, end.started) == (1, False)
    assert processes.running() == {}


def test_a_living_driver_is_adopted(tmp_path: Path) -> None:
    first = made(tmp_path)
    first.spawn("a", "1")
    second = made(tmp_path)
    until(lambda: (tmp_path / "worker-1" / "times").exists() or None)
    assert second.adopt() == [Found("1", "a")]
    second.quit("1")
    end = ended(first)
    assert (end.code, end.started) == (128 + signal.SIGTERM, True)
    assert ended(second) == end._replace(code=None)
    assert Lock(str(tmp_path / "queue-start"), names.working_lock("1")).acquire(create=False) is False


def test_what_drivers_print_is_kept_within_bounds(tmp_path: Path) -> None:
    processes = made(tmp_path)
    processes.spawn("a", "1")
    out = tmp_path / "worker-1" / "out.txt"
    with out.open("ab") as file:
        file.write(b"x" * (queueprocesses.OUTPUT_MOST + 1))
    processes.trim()
    assert out.stat().st_size == 0
    assert (tmp_path / "worker-1" / "out.txt.old").stat().st_size == queueprocesses.OUTPUT_MOST
    processes.kill("1")
    ended(processes)


def test_folders_of_the_long_dead_go_but_never_the_newest(tmp_path: Path) -> None:
    for number in range(1, 7):
        (tmp_path / f"worker-{number}").mkdir()
    options = Options(worker_folders=2)
    DriverProcesses(str(tmp_path), STAGES, options, Observation(str(tmp_path), STAGES)).prune()
    assert sorted(os.listdir(tmp_path)) == ["worker-5", "worker-6"]


def test_a_full_disk_is_no_mistake_of_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, mode: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    processes = made(tmp_path)
    monkeypatch.setattr(os, "mkdir", full)
    (end,) = processes.spawn("a", "1")
    assert (end.code, end.started, end.docs) == (1, True, 0)


def test_no_driver_takes_code_from_the_folder_that_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file ``argparse.py`` there ran in every driver."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("argparse", "select", "psutil", "msgpack", "sitecustomize"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    monkeypatch.chdir(here)
    for path in ("", ":", f"{tmp_path}/none:"):
        monkeypatch.setenv("PYTHONPATH", path)
        assert "" not in queueprocesses.search_path().split(os.pathsep)
    processes = made(tmp_path)
    (tmp_path / "queue-start" / names.DONE).touch()
    processes.spawn("a", "1")
    assert ended(processes).code == 0
    assert not (tmp_path / "ran").exists()


def test_what_a_driver_leaves_is_for_this_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        processes = made(tmp_path)
        processes.spawn("a", "1")
        processes.kill("1")
        ended(processes)
    finally:
        os.umask(before)
    folder = tmp_path / "worker-1"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in ("worker.par", "pid", "out.txt")}
    assert modes == dict.fromkeys(modes, 0o600)


def test_a_link_as_what_a_driver_printed_is_neither_read_nor_cut(tmp_path: Path) -> None:
    """Adopting another user's driver cut a file through its ``out.txt``."""
    processes = made(tmp_path)
    processes.spawn("a", "1")
    mine, folder = tmp_path / "mine", tmp_path / "worker-1"
    mine.write_bytes(b"x" * (queueprocesses.OUTPUT_MOST + 1))
    (folder / "out.txt").unlink()
    (folder / "out.txt").symlink_to(mine)
    processes.trim()
    processes.kill("1")
    ended(processes)
    assert mine.stat().st_size == queueprocesses.OUTPUT_MOST + 1
    assert not (folder / "out.txt.old").exists()


def test_a_folder_that_others_can_write_says_nothing_of_a_driver(tmp_path: Path) -> None:
    notes: list[Note] = []
    first = made(tmp_path)
    first.spawn("a", "1")
    (tmp_path / "worker-1").chmod(0o777)
    second = DriverProcesses(str(tmp_path), STAGES, Options(), Observation(str(tmp_path), STAGES), say=notes.append)
    assert second.adopt() == []
    text = f"driver 1 is left alone: {tmp_path}/worker-1 can be written by others (mode 0777)"
    assert notes == [Note("warn", text, b"1")]
    second.kill("1")
    assert set(first.running()) == {"1"}
    first.kill("1")
    assert ended(first).code == -signal.SIGKILL


def test_a_signal_that_is_not_permitted_is_told_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """EPERM ended the watchdog."""
    notes: list[Note] = []
    first = made(tmp_path)
    first.spawn("a", "1")
    request.addfinalizer(lambda: first.kill("1"))
    second = DriverProcesses(str(tmp_path), STAGES, Options(), Observation(str(tmp_path), STAGES), say=notes.append)
    assert second.adopt() == [Found("1", "a")]
    pid = first.running()["1"][1]

    def denied(number: int, what: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", denied)
        second.kill("1")
        second.quit("1")
    said = f"driver 1 is left alone: process {pid} takes no %s from us: the operation is not permitted"
    assert [note.text for note in notes] == [said % "SIGKILL", said % "SIGTERM"]
    assert set(second.running()) == {"1"}
    first.kill("1")
    ended(first)
