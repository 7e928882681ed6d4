"""The arguments about what brokers keep."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.arguments import read_arguments
from console.cli.common import settings_of
from console.cli.storearguments import STORE
from engine import catalogue
from engine.settings.settings import Flag
from engine.settings.tomlfile import Wrong


@pytest.mark.parametrize("command", [[], ["broker"], ["client"], ["bulkping", "5"]])
def test_a_store_is_a_setting(command: list[str]) -> None:
    assert read_arguments([*command, "--durable"]).flags[-1] == Flag(STORE, "--durable", "sqlite:")
    asked = read_arguments([*command, "--backlog", "sqlite:/x"])
    assert asked.flags[-1] == Flag(STORE, "--backlog", "sqlite:/x")


def test_of_a_system_without_one_it_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalogue, "STORED", {"roundrobin": "backlog"})
    with pytest.raises(SystemExit):
        read_arguments(["broker", "--system", "negotiated", "--durable"])
    assert "negotiated keeps its tasks in memory" in capsys.readouterr().err


def test_it_is_a_setting_of_the_system_that_is_chosen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, chosen = Flag(STORE, "--backlog", "sqlite:x"), Flag(("system",), "--system", "pingpong")
    options = settings_of([store, chosen]).options
    assert (options["roundrobin"].backlog, options["pingpong"].backlog) == ("", "sqlite:x")
    assert settings_of([store]).options["roundrobin"].backlog == "sqlite:x"
    with pytest.raises(Wrong, match="brokers of this system can not share one"):
        settings_of([chosen, Flag(STORE, "--backlog", "nats://x")])
    monkeypatch.setenv("ROUNDHOUSE_SYSTEM", "diskqueue")
    with pytest.raises(Wrong, match="--backlog: diskqueue keeps its tasks in memory"):
        settings_of([store])


def test_an_id_is_hexadecimal_digits(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_arguments(["result", "00ff"]).options.id == b"\0\xff"
    assert read_arguments(["result"]).options.id is None
    for wrong in ("0", "xx", "00" * 17):
        with pytest.raises(SystemExit):
            read_arguments(["result", wrong])
    assert "expected up to 32 hexadecimal digits" in capsys.readouterr().err
