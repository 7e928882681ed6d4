"""A line for each order that was given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from console.cli.audit import audit, origin, who


def test_each_order_is_a_line_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 5000 192.0.2.1 22")
    path = tmp_path / "state" / "orders.log"
    audit(path, "tcp-127.0.0.1-6714", "drain w3", "done")
    audit(path, "tcp-127.0.0.1-6714", "drain w4", "refused: no")
    first, second = map(json.loads, path.read_text().splitlines())
    assert first.keys() == {"schema", "at", "who", "from", "where", "what", "result"}
    assert (first["where"], first["what"], first["result"]) == ("tcp-127.0.0.1-6714", "drain w3", "done")
    assert second["result"] == "refused: no" and first["who"] == who() and str(os.getuid()) in who()
    assert first["from"] == origin() and "ssh from 192.0.2.7" in origin()
    assert path.stat().st_mode & 0o777 == 0o600


def test_that_it_can_not_be_kept_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders.log"
    path.symlink_to(tmp_path / "elsewhere")
    audit(path, "x", "stop", "done")
    assert "the order could not be kept" in capsys.readouterr().err and not (tmp_path / "elsewhere").exists()


def test_a_user_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    assert who() == "4000000"
