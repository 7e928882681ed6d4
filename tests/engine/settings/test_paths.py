"""Where a user's files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.settings.paths import Paths


def test_the_users_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "c")
    monkeypatch.setattr("platformdirs.user_state_path", lambda *_, **__: tmp_path / "s")
    monkeypatch.setattr("platformdirs.user_log_path", lambda *_, **__: tmp_path / "l")
    monkeypatch.setattr("platformdirs.user_runtime_path", lambda *_, **__: tmp_path / "r")
    assert Paths.of_user() == Paths(
        config=tmp_path / "c/roundhouse.toml",
        themes=tmp_path / "c/themes",
        state=tmp_path / "s",
        runs=tmp_path / "s/runs",
        jobs=tmp_path / "s/jobs",
        kept=tmp_path / "s/kept",
        history=tmp_path / "s/history",
        log=tmp_path / "l/roundhouse.log",
        control=tmp_path / "r",
        alerts=tmp_path / "c/alerts.toml",
        minutes=tmp_path / "s/minutes",
        keys=tmp_path / "c/keys",
    )
    assert list(tmp_path.iterdir()) == []
