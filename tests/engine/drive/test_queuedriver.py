"""One driver in this very process; what needs processes of their own is in tests/loopback."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from engine.drive.queuedriver import load_config, main, run_driver
from engine.errors import Refused
from engine.protocols.diskqueue.config import DriverConfig, parameter_file, read_times


@pytest.fixture
def queues(tmp_path: Path) -> DriverConfig:
    (tmp_path / "src").mkdir()
    return DriverConfig(
        str(tmp_path / "src"),
        str(tmp_path / "dst"),
        "1",
        max_files=0,
        timer_file=str(tmp_path / "times"),
        log_file=str(tmp_path / "documents"),
    )


def test_it_drives_until_done(queues: DriverConfig, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a.ready", "a"), ("b.ready", "fail twice\n"), ("done", "")):
        (tmp_path / "src" / name).write_text(text, encoding="utf-8")
    path = tmp_path / "worker.par"
    path.write_text(parameter_file(queues), encoding="utf-8")
    assert main([str(path), "--work", "fail marked", "--log", queues.log_file]) == 0
    assert sorted(os.listdir(tmp_path / "dst")) == ["a.ready", "done"]
    assert sorted(os.listdir(tmp_path / "src")) == [".b.attempts", "b.failed_twice", "b.failed_twice.input", "done"]
    times = read_times((tmp_path / "times").read_text(encoding="ascii"))
    assert times is not None
    assert times.docs == 3
    outcomes = [line.split("\t")[1] for line in Path(queues.log_file).read_text(encoding="utf-8").splitlines()]
    assert outcomes == ["published", "failed", "failed_twice"]
    printed, errors = capfd.readouterr()
    assert [line.split(" ", 1)[1] for line in printed.splitlines()] == [
        "warn b: failed: the document says 'fail twice'",
        "bad b: failed_twice: the document says 'fail twice'",
    ]
    assert errors == ""


def test_a_signal_while_it_works_ends_it_after_the_document(queues: DriverConfig, tmp_path: Path) -> None:
    """Ruling 7; the function that processes the document sends the signal, so there is no race."""
    for name in ("a.ready", "b.ready"):
        (tmp_path / "src" / name).touch()
    former = signal.getsignal(signal.SIGTERM)
    assert run_driver(replace(queues, work="tests.helpers.diskqueue_work:tell")) == 128 + signal.SIGTERM
    assert os.listdir(tmp_path / "dst") == ["a.ready"]
    assert os.listdir(tmp_path / "src") == ["b.ready"]
    assert signal.getsignal(signal.SIGTERM) is former


def test_wrong_configuration_is_status_2_with_the_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.par")]) == 2
    assert "none.par" in capfd.readouterr().err
    config = DriverConfig(str(tmp_path / "none"), str(tmp_path / "dst"), "1")
    assert run_driver(config) == 2
    assert "is not a folder" in capfd.readouterr().err


def test_a_parameter_file_of_the_originals_kind_is_read_with_its_includes(tmp_path: Path) -> None:
    (tmp_path / "master").write_text("disk_queue_max_dst_files: 3\n", encoding="utf-8")
    (tmp_path / "worker.par").write_text(
        "disk_queue_src: ./src\ndisk_queue_dst: ./dst\ndisk_queue_worker_ext: .4\nINCLUDE master\n", encoding="utf-8"
    )
    config = load_config(str(tmp_path / "worker.par"), "upper", keep_input=False)
    assert (config.src, config.number, config.max_files) == (str(tmp_path / "src"), "4", 3)
    assert (config.work, config.keep_input) == ("upper", False)
    (tmp_path / "worker.par").write_text("disk_queue_src: /a\n", encoding="utf-8")
    with pytest.raises(Refused, match="disk_queue_dst"):
        load_config(str(tmp_path / "worker.par"))
