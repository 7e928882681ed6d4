"""Which protocol is spoken at an endpoint, told by brokers that live."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from engine.catalogue import SYSTEMS
from engine.labs import spoken
from engine.labs.live import LiveLab
from engine.system import System


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_broker_is_known_by_its_protocol_whoever_asks_first(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoken, "PATIENCE", 60.0)
    with (
        TemporaryDirectory(prefix="rh-") as folder,
        LiveLab(system, bind=(f"ipc://{folder}/b",), workers=0, client=False) as lab,
    ):
        assert spoken.spoken_at(lab.endpoints[0], SYSTEMS.values()) is system


def test_where_nobody_answers_nothing_is_spoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoken, "PATIENCE", 0.0)
    assert spoken.spoken_at("tcp://127.0.0.1:65535", SYSTEMS.values()) is None, "no client has a port beside it"
    assert spoken.spoken_at(f"ipc://{tmp_path}/b", [SYSTEMS["pingpong"]]) is None
