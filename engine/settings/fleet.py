"""``[[fleet]]`` in the configuration: processes elsewhere that the console's fleet watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_type_hints

from engine.schema import Endpoint, Misfit, fit, nearest
from engine.settings.pools import NAME

MOST = 100  # entries: each has a socket


@dataclass(frozen=True, slots=True)
class FleetEntry:
    """One process. ``endpoint``: its control socket, over tcp or ipc. Empty keys: those of ``[security]``."""

    name: str
    endpoint: Endpoint
    curve: str = ""  # the name of our own pair
    server_key: str = ""  # of the process: a file, a name or 64 digits


def read_fleet(tables: object) -> tuple[list[FleetEntry], list[str]]:
    """The entries, and what is wrong, each in words."""
    if not isinstance(tables, list):
        return [], ["[fleet]: expected tables in double brackets, [[fleet]]"]
    hints = get_type_hints(FleetEntry, include_extras=True)
    entries: list[FleetEntry] = []
    problems = []
    for table in tables:
        name = table.get("name", "") if isinstance(table, dict) else ""
        try:
            entries.append(_entry(table, hints, {entry.name for entry in entries}))
        except Misfit as misfit:
            problems.append(f"[[fleet]] {name!r}: {misfit}")
    if len(entries) > MOST:
        problems.append(f"[[fleet]]: {len(entries)} entries, {MOST} at most")
    return entries, problems


def _entry(table: object, hints: dict[str, Any], taken: set[str]) -> FleetEntry:
    given = fit(table, dict)
    if unknown := sorted(given.keys() - hints.keys()):
        raise Misfit(f"{unknown[0]}: no such key{nearest(unknown[0], hints)}")
    if missing := [key for key in ("name", "endpoint") if key not in given]:
        raise Misfit(f"{missing[0]} is missing")
    values = {}
    for key, item in given.items():
        try:
            values[key] = fit(item, hints[key])
        except Misfit as misfit:
            raise Misfit(f"{key}: {misfit}") from None
    entry = FleetEntry(**values)
    if not NAME.fullmatch(entry.name):
        raise Misfit("expected a name of small letters, digits and -, 16 at most")
    if entry.name in taken:
        raise Misfit("two entries have this name")
    return entry
