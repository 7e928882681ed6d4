"""What is shown, as the command line says it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from console.cli.arguments import read_arguments
from console.cli.streams import Alarms, Progress, coloured, show_as
from engine.core import Level, Note
from engine.feed import Feed

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    yield
    show_as()


@pytest.mark.parametrize("line", ["--color never -q ping", "ping --color never -q", "--color never ping --quiet"])
def test_colour_and_quiet_stand_before_a_command_or_after_it(line: str) -> None:
    options = read_arguments(line.split()).options
    assert (options.color, options.quiet) == ("never", True)


def test_the_consoles_endpoint_is_no_commands(capsys: Capture) -> None:
    assert read_arguments(["--bind", "tcp://127.0.0.1:7714"]).options.own == "tcp://127.0.0.1:7714"
    assert read_arguments(["broker", "--bind", "tcp://127.0.0.1:7714"]).options.bind == "tcp://127.0.0.1:7714"
    for wrong in ("--bind tcp://127.0.0.1:7714 broker", "--color red", "--bind nowhere"):
        with pytest.raises(SystemExit):
            read_arguments(wrong.split())
    assert "broker: --bind before it is the console's" in capsys.readouterr().err


def test_colours_are_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    show_as("always")
    assert coloured()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for name, value in (("NO_COLOR", ""), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    show_as("auto")
    assert coloured()
    show_as("never")
    assert not coloured()


@pytest.mark.parametrize(("quiet", "told"), [(False, ["a warning", "an error"]), (True, ["an error"])])
def test_quiet_tells_errors_alone(
    quiet: bool, told: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    show_as(quiet=quiet)
    feed, words = Feed(), {"warn": "a warning", "bad": "an error"}
    levels: tuple[Level, ...] = ("warn", "bad")
    for level in levels:
        feed.fact(Note(level, words[level]), "broker", 1.0)
    Alarms(feed).tell()
    assert [line.partition("broker: ")[2] for line in capsys.readouterr().err.splitlines()] == told
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Progress("pipeline").line("half")
    assert ("half" in capsys.readouterr().err) is not quiet
