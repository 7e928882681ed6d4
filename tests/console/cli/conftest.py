"""A home of its own for every test of the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folders, empty, and no variable that sets anything."""
    for name in [name for name in os.environ if name.startswith("ROUNDHOUSE_")]:
        monkeypatch.delenv(name)
    for kind in ("config", "state", "runtime"):
        variable = "XDG_RUNTIME_DIR" if kind == "runtime" else f"XDG_{kind.upper()}_HOME"
        monkeypatch.setenv(variable, str(tmp_path / kind))
        monkeypatch.setattr(f"platformdirs.user_{kind}_path", lambda name, kind=kind, **_: tmp_path / kind / name)
    return tmp_path
