"""A job by file, by options and by a command line, and what is wrong with one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any, get_args

import pytest

from console.cli.arguments import read_arguments
from console.jobs.arguments import PROCESSORS
from console.jobs.file import doubtful_logs, scripted, submit_of
from engine.parts.store import GLOBAL
from engine.protocols.conversation.frontend import MAX_SIZE, Submit
from engine.protocols.conversation.messages import Description
from engine.settings.tomlfile import MAX_FILE, Wrong


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(asked: Namespace) -> Submit:
    found = scripted(*submit_of(asked), Path.cwd() / "own" / "jobs")
    assert len(found.ident) == GLOBAL
    return found._replace(ident=b"")


def options(*words: str) -> Namespace:
    return read_arguments(["submit", *words]).options


def wrong(*words: str) -> list[str]:
    with pytest.raises(Wrong) as caught:
        made(options(*words))
    return [str(problem) for problem in caught.value.problems]


def test_one_word_is_what_a_task_runs(here: Path) -> None:
    at = str(here)
    assert made(options("--", "/bin/echo")) == Submit(Description(0, "echo", 1, at, at, "/bin/echo"), 1)
    found = made(options("--tasks", "7", "--name", "n", "--logs", "logs", "--processors", "2", "--", "./x"))
    assert found == Submit(Description(0, "n", 7, at, f"{at}/logs", "./x"), 2)
    assert list(here.rglob("*.sh")) == []


def test_several_words_become_a_script_that_adds_the_number(here: Path) -> None:
    words = ("echo", "it's", "a  b", "$HOME", "--", "-n")
    found = [made(options("--logs", "logs", "--", *words)).job.command for _ in range(2)]
    assert found == [f"{here}/own/jobs/echo.sh", f"{here}/own/jobs/echo-1.sh"]
    done = subprocess.run([found[0], "7"], capture_output=True, text=True, check=True)
    assert done.stdout == "it's a  b $HOME -- -n 7\n"


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_file_and_options_over_it(here: Path, suffix: str) -> None:
    keys: dict[str, Any] = {"command": "/bin/true", "name": "n", "tasks": 3, "logs": "logs", "processors": 2}
    path = here / f"job.{suffix}"
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    path.write_text(json.dumps(keys) if suffix == "json" else "\n".join(lines))
    job = Description(0, "n", 3, str(here), f"{here}/logs", "/bin/true")
    assert made(options(str(path))) == Submit(job, 2)
    assert made(options(str(path), "--tasks", "9")).job == job._replace(num_tasks=9)
    keys["command"] = ["echo", "x"]
    (here / "list.json").write_text(json.dumps(keys))
    assert made(options("list.json")).job.command == f"{here}/own/jobs/n.sh"


def test_everything_wrong_in_a_file_is_named_with_its_line(here: Path) -> None:
    (here / "job.toml").write_text('comand = "x"\n\ntasks = 0\nname = 3\ncommand = [1]\n')
    assert wrong("job.toml") == [
        "job.toml:1: comand: no such key; did you mean command?",
        "job.toml:3: tasks: expected a whole number from 1 to 1,000,000, got 0",
        "job.toml:4: name: expected plain text, got 3",
        "job.toml:5: command: expected plain text, got 1",
    ]
    (here / "job.json").write_text('{"tasks": true}')
    assert wrong("job.json") == ["job.json: tasks: expected a whole number from 1 to 1,000,000, got True"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "command is missing"),
        (b"command = []", "command is missing"),
        (b'command = ""', "command is missing"),
        (b"command", "Expected '=' after a key"),
        (b"name = \n", "Invalid value"),
        (b"\xff", "not UTF-8 text"),
        (b"#" * (MAX_FILE + 1), "larger than"),
        (b'command = ":sleep"', "unknown built-in command"),
        (b'command = "x"\nname = "a/b"', "unusable name"),
        (b'command = "x"\ndir = "gone"', "there is no folder"),
    ],
)
def test_what_is_no_job(here: Path, content: bytes, why: str) -> None:
    (here / "job.toml").write_bytes(content)
    (problem,) = wrong("job.toml")
    assert problem.startswith("job.toml:")
    assert why in problem


def test_no_file_no_table_and_no_place_for_a_script(here: Path) -> None:
    (here / "gone.toml").touch()
    gone = read_arguments(["submit", "gone.toml"]).options
    (here / "gone.toml").unlink()
    with pytest.raises(Wrong, match=r"gone\.toml: can not be read: No such file or directory"):
        made(gone)
    (here / "job.json").write_text("[" * 100_000)
    assert wrong("job.json") == ["job.json:1: nested too deeply"]
    (here / "job.json").write_text("9" * 10_000)
    assert wrong("job.json") == ["job.json:1: a number of thousands of digits"]
    (here / "job.json").write_text("[1,\n2")
    assert wrong("job.json") == ["job.json:2: not JSON: Expecting ',' delimiter: line 2 column 2 (char 5)"]
    (here / "job.json").write_text("[]")
    assert wrong("job.json") == ["job.json: expected a table of command, name, tasks, dir, logs, processors"]
    assert wrong("--logs", "logs", "--name", "é" * 128, "--", "a", "b") == [
        f"{here}/own/jobs: the script can not be written: File name too long"
    ]


def test_options_say_the_same_bounds_as_the_wire() -> None:
    (bound,) = get_args(PROCESSORS)[1:]
    assert bound.high == MAX_SIZE


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_a_script_is_for_this_user_only_and_not_beside_the_logs(here: Path, umask: int) -> None:
    """Who could write in the folder of the logs could have something else run."""
    before = os.umask(umask)
    try:
        script = Path(made(options("--logs", "logs", "--", "echo", "x")).job.command)
    finally:
        os.umask(before)
    assert list((here / "logs").iterdir()) == []
    assert [stat.S_IMODE(path.stat().st_mode) for path in (script, script.parent)] == [0o700, 0o700]


def test_a_folder_of_scripts_that_others_can_write_is_refused(here: Path) -> None:
    (here / "own" / "jobs").mkdir(parents=True)
    (here / "own" / "jobs").chmod(0o777)
    assert wrong("--", "echo", "x") == [
        f"{here}/own/jobs: the script can not be written: can be written by others (mode 0777)"
    ]
    (here / "own" / "jobs").rmdir()
    (here / "own" / "jobs").symlink_to(here / "logs")
    assert wrong("--", "echo", "x")[0].startswith(f"{here}/own/jobs: the script can not be written: ")
    assert list((here / "logs").iterdir()) == []


@pytest.mark.parametrize(("mode", "told"), [(0o777, True), (0o775, True), (0o1777, False), (0o755, False)])
def test_a_folder_of_logs_that_others_can_change_is_said(here: Path, mode: int, told: bool) -> None:
    (here / "logs").chmod(mode)
    why = doubtful_logs(made(options("--logs", "logs", "--", "/bin/true")).job)
    assert why == (
        f"{here}/logs can be written by others than uid {os.geteuid()} (mode {mode:04o}): they can change the logs of "
        "this job"
        if told
        else ""
    )
