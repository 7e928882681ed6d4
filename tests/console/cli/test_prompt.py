from __future__ import annotations

import io
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli.prompt import Prompt, listed, words_of
from console.cli.signals import Signals
from console.commands import WORDS, Command
from console.history import History
from engine.errors import Refused

REFUSED: list[str] = []
CLIENT = words_of(("ping", "bulkping"), WORDS)


def prompt(
    tmp_path: Path, typed: str, done: list[Command], monkeypatch: pytest.MonkeyPatch, goes_on: bool = True
) -> Prompt:
    def perform(command: Command) -> None:
        done.append(command)
        if command.name == "bulkping":
            raise Refused("a run is going on")

    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return Prompt("client", CLIENT, History(tmp_path / "history"), perform, lambda: goes_on, REFUSED)


def test_lines_of_the_input_are_carried_out_until_quit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[Command] = []
    REFUSED.clear()
    with Signals() as signals:
        prompt(tmp_path, "ping\n\nbulkping 3\nworkers\nhelp\nquit\nping\n", done, monkeypatch).run(signals)
    assert [command.name for command in done] == ["ping", "bulkping"]
    assert [line.strip() for line in REFUSED] == ["bulkping 3", "workers"]
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "roundhouse: a run is going on",
        "roundhouse: unknown command 'workers' · help lists all commands",
    ]
    assert [line.split()[0] for line in out.splitlines()] == ["ping", "bulkping", "help", "quit"]
    assert (tmp_path / "history").read_text().splitlines()[:2] == ["ping", "bulkping 3"]


def test_the_end_of_the_input_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Command] = []
    with Signals() as signals:
        prompt(tmp_path, "ping\nping\n", done, monkeypatch).run(signals)
    assert len(done) == 2


def test_after_a_signal_nothing_more_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Command] = []
    with Signals() as signals:
        signals.caught = 15
        prompt(tmp_path, "ping\n", done, monkeypatch).run(signals)
    assert done == []


@pytest.mark.parametrize(("clears", "carried_out"), [(True, 2), (False, 0)])
def test_ctrl_c_on_a_terminal_clears_the_line_or_stops_what_runs_and_ends_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clears: bool, carried_out: int
) -> None:
    typed: Iterator[str | type[BaseException]] = iter([KeyboardInterrupt, "ping", "ping", EOFError])
    done: list[Command] = []

    def line(_: str) -> str:
        what = next(typed)
        if what is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        if not isinstance(what, str):
            raise what
        return what

    def perform(command: Command) -> None:
        done.append(command)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", line)
    with Signals() as signals:
        Prompt("client", CLIENT, History(tmp_path / "history"), perform, lambda: True, clears=clears).run(signals)
    assert len(done) == carried_out and (signals.caught is None) is clears


def test_long_words_stand_apart_from_their_help_and_nothing_is_said_of_a_question() -> None:
    lines = listed(words_of(("bulk", "kill"), WORDS)).splitlines()
    assert lines[0].startswith("  bulk [N] [--slots N] [--name POOL] [--transport tcp]  start workers")
    assert lines[1].endswith("vanishes without a word")
