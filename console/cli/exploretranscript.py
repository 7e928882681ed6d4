"""What was found wrong as a transcript, which can be kept as a test as it is, and such a transcript played again.

The rules of this file:

- A part begins with ``= TITLE``. ``@ `` lines are its scene, in TOML. ``! `` lines are what happens, as
  ``engine.sim.explore.counterexample`` writes them, with what follows each; a last line ``? `` is what is wrong, or
  ``? HOLDS``.
- A file may have more lines before its first part, and comments (``# ``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from console.cli.explorefile import OWN, parse_scene
from console.text import clean
from engine.catalogue import QUEUES
from engine.settings.tomlfile import parse_toml
from engine.sim.explore.counterexample import moves_of, played
from engine.sim.explore.documents import Documents, happened
from engine.sim.explore.scene import Bounds, Scene

HOLDS = "nothing is wrong"
ROUNDS = ("rounds", "late")
"""Bounds that a course depends on."""


class Part(NamedTuple):
    """One transcript. ``scene``: TOML; ``lines``: from the first move to what is wrong."""

    title: str
    scene: str
    lines: tuple[str, ...]


def transcript(wrong: str, scene: Sequence[str], course: Sequence[str]) -> list[str]:
    """The lines of one part. ``scene``: lines of TOML."""
    title = clean(wrong)
    return [f"= {title}", *(f"@ {line}" for line in scene), *map(clean, course), f"? {title}"]


def parts(text: str) -> Iterator[Part]:
    """The parts of a file."""
    for part in f"\n{text}".split("\n= ")[1:]:
        title, *lines = part.splitlines()
        scene = "\n".join(line[2:] for line in lines if line.startswith("@ "))
        yield Part(title, scene, tuple(line for line in lines if line.strip() and line[:2] not in ("@ ", "# ")))


def again(part: Part) -> list[str]:
    """Its lines as they are today. Raises LookupError for a move that can not happen, Wrong for what is no scene."""
    known, _ = parse_toml(part.scene, Path(part.title))
    if known.get("system") in QUEUES:
        model, lines, wrong = Documents(known["documents"], *known["faults"]), list[str](), ""
        for move, one in zip(moves := moves_of(part.lines), happened(model, moves), strict=True):
            lines.append(f"! {move}")
            wrong = one.wrong
    else:
        course = played(parse_scene(part.scene, Path(part.title)), part.lines)
        lines, wrong = list(course.lines), course.wrong
    return [*map(clean, lines), f"? {clean(wrong) or HOLDS}"]


def toml(scene: Scene) -> list[str]:
    """A scene as it is written in a file, without its defaults."""
    usual = Scene(scene.system)
    lines = [f"system = {_value(scene.system.name)}"]
    lines += [f"{key} = {_value(getattr(scene, key))}" for key in OWN if getattr(scene, key) != getattr(usual, key)]
    bounds = {key: getattr(scene.bounds, key) for key in ROUNDS}
    lines += _table("bounds", {key: value for key, value in bounds.items() if value != getattr(Bounds(), key)})
    mine, others = scene.settings, usual.settings
    changed = {one.name: getattr(mine, one.name) for one in fields(mine)}
    return lines + _table("options", {key: value for key, value in changed.items() if value != getattr(others, key)})


def toml_documents(system: str, documents: int, fault: str) -> list[str]:
    """The same for disk queues."""
    faults = (fault,) if fault else ()
    return [f"system = {_value(system)}", f"documents = {documents}", f"faults = {_value(faults)}"]


def _table(name: str, values: Mapping[str, Any]) -> list[str]:
    return [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in values.items())] if values else []


def _value(value: Any) -> str:
    """A value in TOML; strings of settings hold no control characters."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case tuple() | list():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return repr(value)
