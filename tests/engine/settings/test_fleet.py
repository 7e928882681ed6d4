"""``[[fleet]]``: what is read, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.settings.fleet import MOST, FleetEntry, read_fleet

HERE = {"name": "a", "endpoint": "ipc:///run/x"}


def test_entries() -> None:
    far = {"name": "depot", "endpoint": "tcp://hub:6719", "curve": "ops", "server_key": "depot.pub"}
    wanted = [FleetEntry("a", "ipc:///run/x"), FleetEntry("depot", "tcp://hub:6719", "ops", "depot.pub")]
    assert read_fleet([HERE, far]) == (wanted, [])


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"name": "a"}, "double brackets"),
        (["x"], "expected a table"),
        ([{"name": "a"}], "endpoint is missing"),
        ([{**HERE, "name": "A b"}], "expected a name of small letters"),
        ([{**HERE, "endpoint": "udp://x"}], "endpoint: expected an endpoint like"),
        ([{**HERE, "serverkey": "x"}], "serverkey: no such key; did you mean server_key?"),
        ([HERE, HERE], "two entries have this name"),
        ([{**HERE, "name": f"n{number}"} for number in range(MOST + 1)], f"{MOST} at most"),
    ],
)
def test_what_is_wrong_is_named(tables: Any, words: str) -> None:
    _, (problem,) = read_fleet(tables)
    assert words in problem
