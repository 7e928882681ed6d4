"""The transcripts under tests/transcripts/negotiated: cores joined by a world, every message of a peer compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.negotiated import Stage, header_of

TRANSCRIPTS = Path(__file__).parents[3] / "transcripts" / "negotiated"


def scenes() -> Iterator[tuple[str, str, list[str]]]:
    """(file, title, lines) of every part that begins with ``= TITLE``."""
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("\n= ")[1:]:
            title, *lines = part.splitlines()
            yield path.stem, title, [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(("lines"), [pytest.param(lines, id=f"{file}: {title}") for file, title, lines in scenes()])
def test_dialogue(lines: list[str]) -> None:
    stage = Stage()
    heard: list[str] = []
    for line in lines:
        if line.startswith("options "):
            heard.append(line)
            stage = Stage(**header_of(line.split()[1:], 0.0))
        elif line.startswith("! "):
            heard += [line, *stage.do(line[2:])]
        elif line.startswith("? "):
            name = line.split()[1]
            heard.append(f"? {name} {stage.row(name)}")
    assert heard == lines  # in this order, and nothing else was sent


def test_every_file_is_read() -> None:
    assert {file for file, _, _ in scenes()} == {path.stem for path in TRANSCRIPTS.iterdir()}


def test_every_ruling_has_a_test_that_names_it() -> None:
    """R1, O1 … of the README, in a title of a transcript or in a test's text."""
    root = Path(__file__).parents[4]
    readme = (root / "engine/protocols/negotiated/README.md").read_text(encoding="utf-8")
    tests = [*Path(__file__).parent.glob("test_*.py"), *TRANSCRIPTS.iterdir()]
    text = "\n".join(path.read_text(encoding="utf-8") for path in tests if path.name != Path(__file__).name)
    rulings = re.findall(r"^([RO]\d+)\.", readme, re.MULTILINE)
    assert len(rulings) >= 38 and [one for one in rulings if not re.search(rf"\b{one}\b", text)] == []
