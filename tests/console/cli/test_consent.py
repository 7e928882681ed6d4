"""Orders that destroy something are done when somebody says so."""

from __future__ import annotations

import io
import sys

import pytest

from console.cli.arguments import read_arguments
from console.cli.consent import refused

DESTROYS = ("jobs cancel 3", "stop --now", "pipeline kill --root q", "pipeline recover 7 --root q")
Capture = pytest.CaptureFixture[str]


class Terminal(io.StringIO):
    """A terminal on which this is typed."""

    def isatty(self) -> bool:
        return True


def done(line: str) -> int:
    asked = read_arguments(line.split())
    return refused(asked.command, asked.options)


@pytest.mark.parametrize("line", DESTROYS)
def test_without_a_terminal_it_is_refused_and_yes_says_so(line: str, capsys: Capture) -> None:
    assert done(line) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"roundhouse: {line.split()[0]} is not done without a terminal") and "--yes says so" in told
    assert done(f"{line} --yes") == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_on_a_terminal_it_is_asked(typed: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", screen)
    assert done("jobs cancel 3") == status
    assert screen.getvalue() == "Cancel job 3? Its tasks that wait are dropped. [y/N] "


@pytest.mark.parametrize("line", ["jobs", "jobs hold 3", "stop 4", "stop --all", "pipeline stop --root q", "ping"])
def test_what_destroys_nothing_is_not_asked(line: str) -> None:
    assert done(line) == 0
