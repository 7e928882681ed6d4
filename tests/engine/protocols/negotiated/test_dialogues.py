"""The transcripts under tests/transcripts/negotiated: cores joined by a world, every message of a peer compared."""

from __future__ import annotations

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
