"""Which process is a driver's: only that which was started as one, by this user, in a folder of this user."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.drive.driverprocess import RECORD, disowned, driver_process, own_folder, send, write_down
from tests.helpers.processes import until
from tests.helpers.strangers import STRANGER, needs_stranger, open_folder, stranger

WORDS = [sys.executable, "-c", "import time; time.sleep(600)", "worker.par"]


@pytest.fixture
def living() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(WORDS) as process:
        until(psutil.Process(process.pid).cmdline, "the command line, which a process that only begins has not yet")
        yield process
        process.kill()


def begun(root: Path, pid: int, words: list[str] = WORDS, number: str = "1") -> Path:
    """A worker folder as a watchdog makes it."""
    folder = root / f"worker-{number}"
    folder.mkdir(0o700)
    with own_folder(str(folder), os.geteuid()) as handle:
        write_down(handle, pid, words)
    return folder


def test_a_driver_is_known_again_and_counted_out(tmp_path: Path, living: subprocess.Popen[bytes]) -> None:
    folder = begun(tmp_path, living.pid)
    assert (folder / "pid").read_text(encoding="ascii") == f"{living.pid}\n", "as the original writes it"
    assert driver_process(str(tmp_path), "1") == living.pid
    assert (disowned(str(tmp_path), "1"), disowned(str(tmp_path), "2")) == ("", "")
    assert send(str(tmp_path), "1", signal.SIGKILL) == ""
    assert living.wait() == -signal.SIGKILL
    assert driver_process(str(tmp_path), "1") == 0
    assert send(str(tmp_path), "1", signal.SIGKILL) == "", "and nobody else was sent anything"


def test_one_that_only_begins_or_ends_has_no_command_line_and_is_the_same(
    tmp_path: Path, living: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path, living.pid)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda process: [])
    assert driver_process(str(tmp_path), "1") == living.pid


def test_a_process_that_only_names_the_parameter_file_is_not_killed(
    tmp_path: Path, living: subprocess.Popen[bytes]
) -> None:
    """An editor with ``worker.par`` open was killed with SIGKILL."""
    begun(tmp_path, living.pid, [sys.executable, "-P", "-m", "engine.drive.queuedriver", "worker.par"])
    assert driver_process(str(tmp_path), "1") == 0
    assert send(str(tmp_path), "1", signal.SIGKILL) == ""
    assert living.poll() is None


@pytest.mark.parametrize(
    "change",
    [
        {"start": 1.0},
        {"words": [*WORDS, "more"]},
        {"words": WORDS[:-1]},
        {"words": " ".join(WORDS)},
        {"pid": True},
        {"pid": 10**30},
        {"pid": -1},
        {"start": None},
    ],
    ids=str,
)
def test_a_record_that_does_not_agree_in_everything_is_of_another(
    tmp_path: Path, living: subprocess.Popen[bytes], change: dict[str, object]
) -> None:
    record = begun(tmp_path, living.pid) / RECORD
    record.write_text(json.dumps(json.loads(record.read_text(encoding="ascii")) | change), encoding="ascii")
    assert driver_process(str(tmp_path), "1") == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 50_000, "x" * 100_000, "1"])
def test_a_record_that_can_not_be_read_is_none(tmp_path: Path, living: subprocess.Popen[bytes], content: str) -> None:
    (begun(tmp_path, living.pid) / RECORD).write_text(content, encoding="ascii")
    assert driver_process(str(tmp_path), "1") == 0


def test_a_pid_alone_does_not_make_a_driver(tmp_path: Path, living: subprocess.Popen[bytes]) -> None:
    assert driver_process(str(tmp_path), "1") == 0
    folder = begun(tmp_path, living.pid)
    (folder / RECORD).unlink()
    assert driver_process(str(tmp_path), "1") == 0


def test_a_folder_by_way_of_a_link_or_open_to_others_is_not_believed(
    tmp_path: Path, living: subprocess.Popen[bytes]
) -> None:
    folder = begun(tmp_path, living.pid)
    (tmp_path / "worker-2").symlink_to(folder)
    assert driver_process(str(tmp_path), "2") == 0
    folder.chmod(0o770)
    assert driver_process(str(tmp_path), "1") == 0
    assert disowned(str(tmp_path), "1") == f"{folder} can be written by others (mode 0770)"
    assert send(str(tmp_path), "1", signal.SIGKILL) == f"{folder} can be written by others (mode 0770)"
    assert living.poll() is None


def test_a_link_or_a_fifo_as_the_record_is_told_and_not_followed(
    tmp_path: Path, living: subprocess.Popen[bytes]
) -> None:
    record = begun(tmp_path, living.pid) / RECORD
    record.rename(tmp_path / "elsewhere")
    record.symlink_to(tmp_path / "elsewhere")
    assert driver_process(str(tmp_path), "1") == 0
    assert disowned(str(tmp_path), "1") == f"{record.parent}: {RECORD} is a link, not a regular file"
    record.unlink()
    os.mkfifo(record)
    assert driver_process(str(tmp_path), "1") == 0
    assert send(str(tmp_path), "1", signal.SIGKILL).endswith("is a FIFO, not a regular file")


def test_a_start_is_no_matter_of_the_clock(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, living: subprocess.Popen[bytes]
) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux counts ticks since boot")
    begun(tmp_path, living.pid)
    monkeypatch.setattr(psutil, "boot_time", lambda: 0.0)
    assert driver_process(str(tmp_path), "1") == living.pid


SLEEP = "import sys, time; print('here', flush=True); time.sleep(600)"


@needs_stranger
def test_another_users_process_is_neither_adopted_nor_killed() -> None:
    """The superuser's watchdog could end anybody's."""
    with open_folder() as root, stranger(SLEEP) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "here\n"
        words = psutil.Process(other.pid).cmdline()
        begun(root, other.pid, words)
        assert driver_process(str(root), "1") == 0
        assert send(str(root), "1", signal.SIGKILL) == ""
        assert other.poll() is None


@needs_stranger
def test_another_users_folder_is_not_believed_but_can_be_looked_at() -> None:
    with open_folder() as root, stranger(SLEEP) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "here\n"
        folder = begun(root, other.pid, psutil.Process(other.pid).cmdline())
        for path in (folder, folder / RECORD):
            os.chown(path, STRANGER, STRANGER)
        assert driver_process(str(root), "1") == 0
        assert disowned(str(root), "1") == f"{folder} belongs to uid {STRANGER}"
        assert send(str(root), "1", signal.SIGKILL) == f"{folder} belongs to uid {STRANGER}"
        assert driver_process(str(root), "1", STRANGER) == other.pid
