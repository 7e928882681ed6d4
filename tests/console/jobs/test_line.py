"""A job in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.commands import Command, CommandError
from console.jobs.line import job_of, request_of
from engine.protocols.conversation.frontend import CancelJob, Hold, Release, StopWorkers
from engine.protocols.conversation.header import STOP_ALL, STOP_NOW
from tests.helpers.conversation import array


def test_options_then_a_command_of_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    submit, words = job_of("--tasks 5 --processors 2 --name x -- echo 'two words' --tasks")
    assert words == ("echo", "two words", "--tasks")
    assert (submit.job.name, submit.job.num_tasks, submit.slots, submit.job.working_dir) == ("x", 5, 2, str(tmp_path))
    assert submit.job.command == "echo" and submit.job.status == array("x").status


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(f'command = "true"\ntasks = 3\ndir = "{tmp_path}"\n')
    submit, words = job_of(f"--tasks 4 {path}")
    assert (submit.job.num_tasks, words) == (4, ("true",))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "either a FILE"),
        ("-- ", "either a FILE"),
        ("echo hello", "there is no file 'echo'"),
        ("--tasks x -- echo", "--tasks: expected a whole number"),
        ("--fast -- echo", "--fast: no such argument"),
        ("-- 'echo", "No closing quotation"),
        ("--dir /nowhere/at/all -- echo", "there is no folder"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_ends(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        job_of(line)


def test_what_is_asked_of_the_broker() -> None:
    assert request_of(Command("hold", "7")) == Hold(7)
    assert request_of(Command("release", "7")) == Release(7)
    assert request_of(Command("cancel", "7")) == CancelJob(7)
    assert [request_of(Command("stop", text)) for text in ("3", "all", "now")] == [
        StopWorkers(3),
        StopWorkers(STOP_ALL),
        StopWorkers(STOP_NOW),
    ]
    for name, text in (("hold", ""), ("cancel", "x"), ("stop", "0"), ("stop", str(STOP_NOW)), ("hold", "9" * 30)):
        with pytest.raises(CommandError, match="expected"):
            request_of(Command(name, text))
