"""The arguments of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.arguments import Asked, read_arguments
from console.cli.streams import STDOUT
from engine.settings.settings import Flag


def asked(line: str) -> Asked:
    return read_arguments(line.split())


@pytest.mark.parametrize("command", ["bulkping", "bulkdata"])
def test_bulk_runs(command: str) -> None:
    run = asked(f"{command} 100 --connect tcp://h:1 --in-flight 5 --rate 2.5 --timeout 1 --json -")
    assert (run.command, run.options.connect, run.options.rate, run.options.json) == (command, "tcp://h:1", 2.5, STDOUT)
    assert run.flags == [
        Flag(("run", "count"), "N", "100"),
        Flag(("run", "in_flight" if command == "bulkping" else "data_in_flight"), "--in-flight", "5"),
        Flag(("run", "timeout"), "--timeout", "1"),
    ]
    assert (asked(f"{command} 1").options.rate, asked(f"{command} 1").options.json) == (None, None)


def test_a_baseline_of_a_bulk_run() -> None:
    run = asked("bulkdata 100 --baseline last --bound 2.5").options
    assert (run.baseline, run.bound) == ("last", 2.5)
    assert (asked("bulkping 1").options.baseline, asked("bulkping 1").options.bound) == (None, None)


def test_one_message(tmp_path: Path) -> None:
    for command in ("ping", "pingt", "data"):
        one = asked(f"{command} --connect tcp://h:1 --timeout 1 --json {tmp_path}/run.json")
        assert (one.command, one.options.json) == (command, tmp_path / "run.json")
    assert (
        asked("data --bytes 2").flags
        == asked("bulkdata 1 --bytes 2").flags[1:]
        == [Flag(("run", "bytes"), "--bytes", "2")]
    )
