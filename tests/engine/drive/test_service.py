"""Words to a service manager, and the process file."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from engine.drive.service import Notify, process_file
from engine.errors import Refused


def test_a_service_manager_hears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("notify")
        manager.settimeout(60)
        notify = Notify({"NOTIFY_SOCKET": "notify"})
        assert notify.wanted and notify.say("READY=1", "STATUS=serving")
        assert manager.recv(100) == b"READY=1\nSTATUS=serving"


def test_an_abstract_socket_is_named_with_an_at(tmp_path: Path) -> None:
    name = f"roundhouse-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.settimeout(60)
        assert Notify({"NOTIFY_SOCKET": f"@{name}"}).say("WATCHDOG=1")
        assert manager.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize(
    ("environ", "patience"),
    [
        ({"NOTIFY_SOCKET": "x", "WATCHDOG_USEC": "3000000"}, 3.0),
        ({"NOTIFY_SOCKET": "x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"NOTIFY_SOCKET": "x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, float("inf")),
        ({"NOTIFY_SOCKET": "x", "WATCHDOG_USEC": "soon"}, float("inf")),
        ({"NOTIFY_SOCKET": "x", "WATCHDOG_USEC": "0"}, float("inf")),
        ({"WATCHDOG_USEC": "3000000"}, float("inf")),
    ],
    ids=["said", "said to us", "said to another", "no number", "none", "nobody to tell"],
)
def test_how_long_a_service_manager_waits_for_a_sign_of_life(environ: dict[str, str], patience: float) -> None:
    assert Notify(environ).patience == patience


def test_without_one_nothing_is_said_and_a_gone_one_holds_up_nobody(tmp_path: Path) -> None:
    assert not Notify({}).wanted and not Notify({}).say("READY=1")
    assert not Notify({"NOTIFY_SOCKET": str(tmp_path / "none")}).say("READY=1")


def test_the_process_is_in_its_file_as_long_as_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with process_file(path):
        assert path.read_text() == f"{os.getpid()}\n"
    assert not path.exists()


def test_one_of_a_process_that_runs_is_refused_and_one_of_a_dead_one_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    path.write_text(f"{os.getppid()}\n")
    with pytest.raises(Refused, match=f"process {os.getppid()} runs already"), process_file(path):
        pass
    assert path.exists()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for text in (f"{gone.pid}\n", "nonsense", "9" * 30, ""):
        path.write_text(text)
        with process_file(path):
            assert path.read_text() == f"{os.getpid()}\n"


def test_a_file_that_can_not_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="can not be written: No such file"), process_file(tmp_path / "no" / "pid"):
        pass


def test_the_file_of_another_is_left(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    with process_file(path):
        path.write_text("1\n")
    assert path.read_text() == "1\n"
