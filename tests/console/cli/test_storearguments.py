"""The arguments about what brokers keep."""

from __future__ import annotations

import pytest

from console.cli.arguments import read_arguments
from engine.settings import Flag

PLACE = ("roundrobin", "backlog")


@pytest.mark.parametrize("command", [[], ["broker"], ["client"], ["bulkping", "5"]])
def test_a_store_is_a_setting(command: list[str]) -> None:
    assert read_arguments([*command, "--durable"]).flags[-1] == Flag(PLACE, "--durable", "sqlite:")
    asked = read_arguments([*command, "--backlog", "sqlite:/x"])
    assert asked.flags[-1] == Flag(PLACE, "--backlog", "sqlite:/x")


def test_of_another_system_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(["broker", "--system", "pingpong", "--durable"])
    assert "pingpong keeps its tasks in memory" in capsys.readouterr().err


def test_an_id_is_hexadecimal_digits(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_arguments(["result", "00ff"]).options.id == b"\0\xff"
    assert read_arguments(["result"]).options.id is None
    for wrong in ("0", "xx", "00" * 17):
        with pytest.raises(SystemExit):
            read_arguments(["result", wrong])
    assert "expected up to 32 hexadecimal digits" in capsys.readouterr().err
