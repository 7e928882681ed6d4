"""The arguments of the commands that look at what runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.arguments import read_arguments


def test_status_and_check() -> None:
    asked = read_arguments(["status", "tcp://127.0.0.1:6714", "--watch", "--json"])
    assert asked.command == "status" and asked.options.target == "tcp://127.0.0.1:6714"
    assert asked.options.watch and asked.options.json == Path("-")
    assert read_arguments(["status"]).options.json is None
    assert read_arguments(["check", "name"]).options.rules is None


@pytest.mark.parametrize(
    ("words", "status"),
    [(["status", "--x"], 2), (["check", "--x"], 3), (["check", "a", "b"], 3), (["check", "--rules", "/none"], 3)],
)
def test_a_wrong_call_of_check_is_unknown(words: list[str], status: int) -> None:
    with pytest.raises(SystemExit) as left:
        read_arguments(words)
    assert left.value.code == status


def test_the_control_socket_of_a_bulk_run_is_that_of_a_broker_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    asked = read_arguments(["bulkping", "9", "--connect", "tcp://127.0.0.1:6714", "--control", "tcp://127.0.0.1:6714"])
    assert asked.options.broker_control == "tcp://127.0.0.1:6714" and asked.flags[-1].name != "--control"
    with pytest.raises(SystemExit):
        read_arguments(["bulkping", "9", "--control", "broker"])
    assert "--control is for a broker elsewhere" in capsys.readouterr().err
