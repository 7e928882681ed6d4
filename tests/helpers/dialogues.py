"""Transcripts: what is said between cores, as lines that people read, compared with what cores say now.

A file holds scenes, each begun by ``= TITLE``. In a scene ``+ LINE`` gives something beforehand, ``! LINE`` does
something, ``? LINE`` asks something, and the line itself holds the answer. All other lines are what was said because of
the line before, in order, and nothing else. ``#`` begins a comment. ``pytest --rewrite`` writes what is said now into
the files; read the difference before it is kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import pytest
from _pytest.mark import ParameterSet

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"


class Scene(Protocol):
    """What a system's transcripts are played on."""

    def give(self, line: str) -> None:
        """Follow a ``+`` line."""

    def do(self, line: str) -> list[str]:
        """Follow a ``!`` line; what is said then."""

    def shown(self, line: str) -> str:
        """The ``?`` line with its answer as it is now, whatever the answer in ``line``."""


def parts(text: str) -> list[list[str]]:
    """The head of a file, then its scenes, whose first line is the title."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("= "):
            found.append([])
        found[-1].append(line)
    return found


def played(lines: Iterable[str], scene: Scene) -> list[str]:
    """A scene's lines as they are when it is played now; comments and empty lines stay."""
    now: list[str] = []
    for line in lines:
        match line[:2]:
            case "+ ":
                scene.give(line[2:])
                now.append(line)
            case "! ":
                now += [line, *scene.do(line[2:])]
            case "? ":
                now.append("? " + scene.shown(line[2:]))
            case "= " | "# " | "#" | "":
                now.append(line)
    return now


def scenes(system: str) -> list[ParameterSet]:
    """Of every file of a system: parameters for ``holds``."""
    return [
        pytest.param(path, number, id=f"{path.stem}: {lines[0][2:]}")
        for path in sorted((TRANSCRIPTS / system).iterdir())
        for number, lines in enumerate(parts(path.read_text(encoding="utf-8"))[1:], 1)
    ]


def holds(path: Path, number: int, made: Callable[[], Scene], rewrite: bool) -> Scene:
    """Play one scene of a file and compare; the scene as it is then. ``rewrite``: write the file anew instead."""
    before = parts(path.read_text(encoding="utf-8"))
    scene = made()
    now = played(before[number], scene)
    if rewrite:
        new = [before[0], *(played(lines, made()) for lines in before[1:])]
        other = path.with_suffix(f".{os.getpid()}")
        other.write_text("".join(f"{line}\n" for part in new for line in part), encoding="utf-8")
        other.replace(path)
    else:
        assert now == before[number]
    return scene
