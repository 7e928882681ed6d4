"""The transcripts under tests/transcripts/conversation: cores joined back to back, every message compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.conversation import Bench
from tests.helpers.dialogues import holds, scenes


@pytest.mark.parametrize(("path", "number"), scenes("conversation"))
def test_dialogue(path: Path, number: int, rewrite: bool) -> None:
    holds(path, number, Bench, rewrite)
