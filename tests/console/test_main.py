"""The way from a command line to its exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from argparse import Namespace
from pathlib import Path

import pytest

from console import __main__ as program
from console.cli.arguments import Asked
from console.cli.streams import OutputLost
from engine.errors import Refused
from engine.settings.tomlfile import Problem, Wrong
from tests.helpers.processes import own_environment

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]
LOADED = """
import sys
import threading
from argparse import Namespace
from console.__main__ import main
statuses = [main(line.split()) for line in ("--version", "--help", "paths", "runs", "bulkpin", "bulkping x", "")]
print(statuses, sorted({name.split(".")[0] for name in sys.modules} & {"textual", "zmq"}))
"""


def ending(error: BaseException) -> object:
    def start(asked: Asked) -> int:
        raise error

    return start


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (Wrong([Problem("f:1", "a"), Problem("--x", "b")]), 2, "roundhouse: f:1: a\nroundhouse: --x: b\n"),
        (Refused("port taken"), 2, "roundhouse: port taken\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_how_a_command_can_end(
    error: BaseException, status: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(program, "start", ending(error))
    assert program.main(["bulkping", "1"]) == status
    assert capsys.readouterr() == ("", told)


def test_wrong_usage_and_help(capsys: Capture) -> None:
    assert program.main(["bulkpin"]) == 2
    assert "got 'bulkpin'; did you mean bulkping?" in capsys.readouterr().err
    assert program.main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: roundhouse")


def test_each_command_reaches_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def stand_in(name: str, status: int) -> object:
        def command(*_: object) -> int:
            called.append(name)
            return status

        return command

    names = ("screen.console", "roles.broker", "roles.worker", "runs.run", "kept.runs", "kept.paths", "drill.drill")
    for status, name in enumerate(names):
        monkeypatch.setattr(f"console.cli.{name}", stand_in(name, status))
    lines = ("", "broker", "worker", "bulkdata 1", "runs", "paths", f"drill {__file__}", "ping")
    assert [program.main(line.split()) for line in lines] == [0, 1, 2, 3, 4, 5, 6, 3]
    assert called == [*names, "runs.run"]


@pytest.mark.parametrize(("command", "collected"), [("broker", True), ("console", True), ("drive", False)])
def test_the_collector_has_a_thread_in_servers_alone(
    command: str, collected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``drive`` starts is made by fork, which is only safe in a process of one thread."""
    threads: list[str] = []

    def look(asked: Asked) -> int:
        threads.extend(thread.name for thread in threading.enumerate())
        return 0

    monkeypatch.setattr(program, "start", look)
    assert program.carry_out(Asked(command, Namespace(), [])) == 0
    assert ("roundhouse-collector" in threads) == collected


def environment(folder: Path) -> dict[str, str]:
    return own_environment(folder, PYTHONPATH=str(ROOT))


def test_textual_is_only_loaded_for_a_screen(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 2, 2, 2] ['zmq']"
    assert "N: expected a whole number" in done.stderr
    assert "needs a terminal" in done.stderr


def test_a_reader_that_has_gone_is_not_an_error_of_ours(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "console", "paths"],
            env=environment(tmp_path),
            stdout=writer,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_under_the_results_is_told(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "console", "--version"],
            env=environment(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"roundhouse: the result can not be printed: No space left on device\n"


def test_a_lost_result_in_words() -> None:
    assert str(OutputLost(OSError(28, "No space left on device"))).endswith("No space left on device")
    assert OutputLost(BrokenPipeError()).pipe
