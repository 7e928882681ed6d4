"""``roundhouse pair``; with brokers that run: tests/engine/labs/test_operated.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.__main__ import main


def test_a_pair_is_negotiated_and_its_broker_must_be_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--system", "roundrobin", "pair"]) == 2
    assert "pairs are those of negotiated, not of roundrobin" in capsys.readouterr().err
    assert main(["pair", "back", "--connect", "tcp://127.0.0.1:1"]) == 2
    assert "no broker of this user is at tcp://127.0.0.1:1" in capsys.readouterr().err
