"""The guard by itself: a program that obeys lines and cleans up when they end."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.drive import supervisor as module
from engine.drive.supervisor import Guard


def start(number: int, folder: Path, *command: str) -> bytes:
    order = {"start": number, "command": command[0], "argument": command[1], "cwd": str(folder)}
    return json.dumps(order | {"log_dir": str(folder), "log_name": f"job_{number}"}).encode() + b"\n"


def program() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", module.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_lines_in_lines_out(tmp_path: Path) -> None:
    with program() as guard:
        assert guard.stdin is not None and guard.stdout is not None
        lines = start(1, tmp_path, "echo", "hello") + start(2, tmp_path, "false", "2")
        for piece in (lines[:10], lines[10:]):
            guard.stdin.write(piece)
            guard.stdin.flush()
        told = sorted(json.loads(guard.stdout.readline())["ended"] for _ in range(2))
        guard.stdin.close()
        assert told == [1, 2] and guard.wait() == 0 and guard.stdout.read() == b""
    assert (tmp_path / "job_1.log").read_text() == "hello\n"


@pytest.mark.parametrize("how", ["its input ends", "it is terminated"])
def test_it_leaves_nothing_behind(tmp_path: Path, how: str) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = tmp_path / "script"
    script.write_text(f"exec 3>{fifo}; sleep 1000 & sleep 1000", encoding="utf-8")
    with program() as guard:
        assert guard.stdin is not None
        guard.stdin.write(start(1, tmp_path, "sh", str(script)))
        guard.stdin.flush()
        with open(fifo, "rb") as alive:
            if how == "its input ends":
                guard.stdin.close()
            else:
                guard.send_signal(signal.SIGTERM)
            assert alive.read() == b""
        guard.wait()


def test_a_log_is_for_this_user_only_and_nothing_that_stands_there_is_opened(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    (tmp_path / "job_1.log").symlink_to("mine")
    (tmp_path / "job_1-1.log").symlink_to("nowhere")
    os.mkfifo(tmp_path / "job_1-2.log")
    before = os.umask(0)
    try:
        log, name = module._open_log(str(tmp_path), "job_1")
    finally:
        os.umask(before)
    os.close(log)
    assert name == "job_1-3.log"
    assert stat.S_IMODE((tmp_path / "job_1-3.log").stat().st_mode) == 0o600
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_logs_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOGS", 2)
    for name in ("job_1.log", "job_1-1.log"):
        (tmp_path / name).touch()
    said: list[dict[str, Any]] = []
    guard = Guard(said.append)
    guard.obey(start(1, tmp_path, "true", "1"))
    assert said == [{"ended": 1, "ok": False, "status": "error encountered: job_1.log and 1 more exist"}]
    monkeypatch.setattr(module, "LOGS", 3)
    guard.obey(start(2, tmp_path, "no-such-program", "1"))
    assert said[1:] == [
        {"ended": 2, "ok": False, "status": "error encountered: no-such-program: No such file or directory"}
    ]
    guard.obey(b'{"cancel": 1}')
    guard.reap()
    guard.kill_all()
    assert len(said) == 2
