"""The arguments of ``roundhouse keys``."""

from __future__ import annotations

import pytest

from console.cli.arguments import read_arguments
from console.cli.keyarguments import ROLES
from engine.drive.security import keys


def test_the_roles_are_those_of_keys() -> None:
    assert ROLES == keys.ROLES


def test_a_new_key_is_a_clients_unless_it_is_said() -> None:
    assert read_arguments(["keys", "new", "x"]).options.role == "client"
    assert read_arguments(["keys", "authorize", "x.pub"]).options.role is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["keys"], "ORDER"),
        (["keys", "new"], "NAME"),
        (["keys", "new", "x", "--role", "king"], "one of client"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(words)
    assert why in capsys.readouterr().err


def test_the_key_and_that_of_the_broker_are_settings() -> None:
    flags = read_arguments(["worker", "--curve", "w1", "--server-key", "depot"]).flags
    assert [(flag.place, flag.text) for flag in flags] == [
        (("security", "curve"), "w1"),
        (("security", "server_key"), "depot"),
    ]
