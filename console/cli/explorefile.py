"""Reads a scene for the model checker from a file, and checks it before anything is walked.

The rules of this file:

- A scene is one TOML file: ``system``, who is there, what is asked and what may go wrong, each a field of
  ``engine.sim.explore.scene.Scene``; a table ``[bounds]``, and a table ``[options]`` of the system's own settings.
- What is wrong is named with its line, all of it in one go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from engine.catalogue import SYSTEMS
from engine.schema import Misfit, OneOf, fit, nearest
from engine.settings.tomlfile import Problem, Wrong, parse_toml, read_text
from engine.sim.explore.scene import Bounds, Scene
from engine.system import System

OWN = ("workers", "clients", "tasks", "slots", "kind", "pair", "faults", "most", "outage", "reduce")
TABLES = ("bounds", "options")


def read_scene(path: Path) -> Scene:
    """Read a scene. Raises ``engine.settings.tomlfile.Wrong`` with everything that is wrong with it."""
    return parse_scene(read_text(path), path)


def parse_scene(text: str, path: Path) -> Scene:
    """The scene in a text. ``path``: what it is called where it is wrong. Raises ``engine.settings.tomlfile.Wrong``."""
    return _Reading(text, path).scene()


class _Reading:
    def __init__(self, text: str, path: Path) -> None:
        self._path = path
        self._problems: list[Problem] = []
        self._content, self._lines = parse_toml(text, path)

    def scene(self) -> Scene:
        hints = get_type_hints(Scene, include_extras=True)
        keys = {"system": Annotated[str, OneOf(tuple(SYSTEMS))], **{key: hints[key] for key in OWN}}
        head = {key: value for key, value in self._content.items() if key not in TABLES}
        found = self._table(head, keys, ())
        if "system" not in head:
            self._wrong((), "system is missing")
        system = SYSTEMS.get(found.pop("system", ""))
        bounds = Bounds(**self._read("bounds", Bounds))
        options = self._options(system) if system is not None and "options" in self._content else None
        if found.get("pair") and system is not None and system.paired is None:
            self._wrong(("pair",), f"pair: {system.name} knows no pairs")
        if self._problems or system is None:
            raise Wrong(self._problems)
        return Scene(system=system, name=self._path.stem, options=options, bounds=bounds, **found)

    def _options(self, system: System) -> Any:
        usual = dict(system.explored.options)
        try:
            return system.options(**{**usual, **self._read("options", system.options)})
        except ValueError as error:
            self._wrong(("options",), f"[options]: {error}")
            return None

    def _read(self, name: str, made: type[Any]) -> dict[str, Any]:
        hints = get_type_hints(made, include_extras=True)
        given = self._content.get(name, {})
        if not isinstance(given, dict):
            self._wrong((name,), f"[{name}] is a table")
            return {}
        return self._table(given, {one.name: hints[one.name] for one in fields(made)}, (name,))

    def _table(self, given: Mapping[str, Any], known: Mapping[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
        front = "".join(f"[{name}] " for name in place)
        found = {}
        for key, value in given.items():
            if key not in known:
                self._wrong((*place, key), f"{front}{key}: no such key{nearest(key, known)}")
                continue
            try:
                found[key] = fit(value, known[key])
            except Misfit as misfit:
                self._wrong((*place, key), f"{front}{key}: {misfit}")
        return found

    def _wrong(self, place: tuple[str, ...], text: str) -> None:
        line = self._lines.get(place)
        self._problems.append(Problem(f"{self._path}:{line}" if line else str(self._path), text))
