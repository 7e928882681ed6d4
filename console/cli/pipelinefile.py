"""A pipeline as a TOML file describes it: one ``[[stage]]`` with ``name``, ``workers`` and ``work`` for each step, in
their order, and what it wants to be different from the settings in the table of its system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import MAX_WORKERS, Stage, check_stages
from engine.schema import Misfit, Range, fit, nearest
from engine.settings.tomlfile import Problem, Wrong, parse_toml, read_text

TABLE = SYSTEM.name
STAGE: dict[str, Any] = {"name": str, "workers": Annotated[int, Range(1, MAX_WORKERS)], "work": str}
OPTIONS: dict[str, Any] = get_type_hints(Options, include_extras=True)


def read_pipeline(path: Path, options: Options) -> tuple[tuple[Stage, ...], Options]:
    """The stages of a file, and ``options`` with what it says instead. Raises ``Wrong`` with everything wrong."""
    content, lines = parse_toml(read_text(path), path)
    problems: list[Problem] = []

    def wrong(place: tuple[str, ...], reason: str) -> None:
        line = lines.get(place)
        problems.append(Problem(f"{path}:{line}" if line else str(path), reason))

    for key in content.keys() - {"stage", TABLE}:
        wrong((key,), f"{key}: no such key{nearest(key, ('stage', TABLE))}")
    given = content.get(TABLE, {})
    if isinstance(given, dict):
        options = replace(options, **_fitting(given, OPTIONS, lambda key, why: wrong((TABLE, key), why)))
    else:
        wrong((TABLE,), f"[{TABLE}] is not a table")
    stages: list[Stage] = []
    listed = content.get("stage")
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        wrong(("stage",), "[[stage]]: at least one is needed")
        listed = []
    for number, entry in enumerate(listed, 1):
        found = _fitting(entry, STAGE, lambda key, why, number=number: wrong((), f"stage {number}: {why}"))
        if "name" in found:
            stages.append(Stage(**found))
        elif "name" not in entry:
            wrong((), f"stage {number}: name is missing")
    if not problems:
        try:
            return check_stages(stages), options
        except ValueError as error:
            wrong((), str(error))
    raise Wrong(problems)


def _fitting(table: Mapping[str, Any], types: Mapping[str, Any], wrong: Any) -> dict[str, Any]:
    """What of a table is as it should be; ``wrong(key, reason)`` is called for what is not."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in types:
            wrong(key, f"{key}: no such key{nearest(key, types)}")
            continue
        try:
            found[key] = fit(value, types[key])
        except Misfit as misfit:
            wrong(key, f"{key}: {misfit}")
    return found
