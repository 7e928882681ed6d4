"""Several control sockets, asked again and again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.drive.control.dial import Far, Place
from engine.drive.control.found import about
from engine.drive.control.server import listening
from engine.drive.control.several import Heard, Several
from engine.drive.control.wire import Message
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from tests.helpers.processes import until


def hearing(several: Several, wanted: Callable[[Heard], bool]) -> Callable[[], bool]:
    def heard() -> bool:
        several.ask()
        found = list(several.hear(0.05))
        return any(map(wanted, found))

    return heard


def test_each_is_heard_under_its_name_and_one_that_has_no_address_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.drive.control.several.PATIENCE", 0.2)
    for name, role in {"depot": "broker", "v1": "viewer"}.items():
        keys.authorize(tmp_path, keys.make(tmp_path, name, role)._replace(secret=""))
    places: dict[str, Place] = {
        "here": tmp_path / "c" / "x",
        "nowhere": Far("tcp://not an address", Curve(tmp_path, "v1", "depot")),
    }
    said = Message(2, "status", {"Status": b"{}"})
    words = {"status": lambda fields: ("status", {"Status": b"{}"})}
    with Several(places) as several:
        until(hearing(several, lambda heard: heard.name == "nowhere" and "tcp://not an address" in heard.trouble))
        for _ in range(2):
            with listening(print, tmp_path / "c" / "x", about("pingpong", "broker", ()), words):
                until(hearing(several, lambda heard: heard.found is not None and heard[::2] == ("here", said)))
