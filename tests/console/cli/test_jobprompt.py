"""Words about jobs, carried out by a broker of this process through its control socket."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from console.cli.common import lab_of, settings_of
from console.cli.jobprompt import carry_out
from console.cli.roles import at_prompt, of_jobs
from console.cli.signals import Signals
from console.cli.streams import result
from console.commands import Command, CommandError, parse
from console.jobs.line import WORDS
from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.settings.settings import Flag

Type = Callable[[str], str]


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Type]:
    with TemporaryDirectory(prefix="rh-") as folder:
        at, control = f"ipc://{folder}/broker", Path(folder) / "control"
        with LiveLab(SYSTEMS["conversation"], bind=(at,), workers=0, client=False, control=control):
            yield lambda line: carry_out(parse(line, WORDS), control, at, tmp_path / "jobs")


def test_a_job_from_its_submission_to_its_end(typed: Type, tmp_path: Path) -> None:
    assert typed(f"submit --tasks 3 --dir {tmp_path} -- echo two words") == "job 1: so ordered\n"
    (script,) = (tmp_path / "jobs").iterdir()
    assert "exec echo two words" in script.read_text()
    listed = typed("jobs")
    assert "1    echo  waiting  3" in listed and "it needs 1 processor, no worker is there" in listed
    assert typed("hold 1") == typed("release 1") == typed("cancel 1") == "job 1: so ordered\n"
    assert typed("stop 3") == "nothing stops: no worker is there that has processors left\n"


def test_what_is_wrong_or_refused_is_said_and_leaves_no_script(typed: Type, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="hold: no such job"):
        typed("hold 7")
    job = f"--dir {tmp_path} -- echo two words"
    typed(f"submit --tasks 1000000 {job}")
    with pytest.raises(Refused, match="submit: full"):
        typed(f"submit --tasks 1 {job}")
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == ["echo.sh"]
    with pytest.raises(CommandError, match="submit: either a FILE"):
        typed("submit --tasks 3")
    with pytest.raises(CommandError, match="expected the id of a job"):
        typed("cancel x")


def test_where_no_broker_is_there_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no broker of this user is at"):
        carry_out(Command("jobs", ""), tmp_path, "tcp://127.0.0.1:1", tmp_path)


def test_at_the_prompt_of_a_broker_that_takes_jobs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of([Flag(("system",), "--system", "conversation")])
    typed = f"submit --dir {tmp_path} -- echo one\njobs\nstop x\nhold 7\nhold 1\nworkers\nquit\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with TemporaryDirectory(prefix="rh-") as folder:
        paths = replace(settings.paths, control=Path(folder) / "control")
        settings = replace(settings, paths=paths)
        with Signals() as signals, lab_of(settings, bind=(f"ipc://{folder}/broker",), client=False) as lab:
            acts = {"workers": lambda _: result("the table\n"), **of_jobs(lab, settings)}
            made = at_prompt("broker", lab, settings, acts, always=True)
            assert made is not None
            prompt = made(lambda: True)
            assert {word.name for word in prompt.words} == {*acts, "help", "quit"}
            prompt.run(signals)
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "job 1: so ordered" and "1    echo  waiting" in out and out.endswith("the table\n")
    assert out.count("job 1: so ordered") == 2
    assert err.splitlines() == [
        "roundhouse: expected a number of processors, all or now, got 'x'",
        "roundhouse: hold: no such job",
    ]


def test_others_have_no_words_about_jobs(home: Path) -> None:
    settings = settings_of([])
    lab = lab_of(settings, client=False)
    assert of_jobs(lab, settings) == {}
    made = at_prompt("broker", lab, settings, {"workers": print}, always=True)
    assert made is not None and {word.name for word in made(lambda: True).words} == {"workers", "help", "quit"}
