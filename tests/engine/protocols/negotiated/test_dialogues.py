"""The transcripts under tests/transcripts/negotiated: cores joined by a world, every message of a peer compared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.dialogues import TRANSCRIPTS, holds, scenes
from tests.helpers.negotiated import Stage


@pytest.mark.parametrize(("path", "number"), scenes("negotiated"))
def test_dialogue(path: Path, number: int, rewrite: bool) -> None:
    holds(path, number, Stage, rewrite)


def test_every_ruling_has_a_test_that_names_it() -> None:
    """R1, O1 … of the README, in a title of a transcript or in a test's text."""
    root = Path(__file__).parents[4]
    readme = (root / "engine/protocols/negotiated/README.md").read_text(encoding="utf-8")
    tests = [*Path(__file__).parent.glob("test_*.py"), *(TRANSCRIPTS / "negotiated").iterdir()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in tests if path.name != Path(__file__).name)
    rulings = re.findall(r"^([RO]\d+)\.", readme, re.MULTILINE)
    assert len(rulings) >= 38 and [one for one in rulings if not re.search(rf"\b{one}\b", text)] == []
