"""The transcripts under tests/transcripts/pingpong: every core joined with its peers, every message compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.dialogues import holds, scenes
from tests.helpers.pingpong import Bench


@pytest.mark.parametrize(("path", "number"), scenes("pingpong"))
def test_dialogue(path: Path, number: int, rewrite: bool) -> None:
    holds(path, number, Bench, rewrite)
