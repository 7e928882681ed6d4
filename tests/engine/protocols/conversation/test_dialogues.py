"""The transcripts under tests/transcripts/conversation: cores joined back to back, every message compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.conversation import Bench

TRANSCRIPTS = Path(__file__).parents[3] / "transcripts" / "conversation"


def scenes() -> Iterator[tuple[str, str, list[str]]]:
    """(file, title, lines) of every part that begins with ``= TITLE``."""
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("\n= ")[1:]:
            title, *lines = part.splitlines()
            yield path.stem, title, [line for line in lines if line and not line.startswith("#")]


def shown(bench: Bench, line: str) -> str:
    """What the broker, or a worker of ours, shows of its state: the answer to a ``?`` line."""
    name, asked = line.split()[1:3]
    if asked.startswith("CL_"):
        return f"? {name} {bench.cores[name].state}"
    prefix = b"\0stream-" if name[0] == "t" else b""
    link = bench.broker.links.get(prefix + name.encode())
    if link is None:
        return f"? {name} gone"
    return f"? {name} {link.state} free {link.free} of {link.max_nproc}"


@pytest.mark.parametrize(("lines"), [pytest.param(lines, id=f"{file}: {title}") for file, title, lines in scenes()])
def test_dialogue(lines: list[str]) -> None:
    bench = Bench()
    heard: list[str] = []
    for line in lines:
        if line.startswith("! "):
            heard += [line, *bench.do(line[2:])]
        elif line.startswith("? "):
            heard.append(shown(bench, line))
    assert heard == lines  # in this order, and nothing else was sent
    bench.broker.check()


def test_every_file_is_read() -> None:
    assert {file for file, _, _ in scenes()} == {path.stem for path in TRANSCRIPTS.iterdir()}
