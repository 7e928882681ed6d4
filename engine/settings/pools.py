"""``[[pool]]`` in the configuration: pools of workers with names, beside the one that ``[pool]`` describes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from engine.parts.limits import MAX_SLOTS
from engine.schema import Misfit, OneOf, Range, fit, nearest

NAME = re.compile(r"[a-z][a-z0-9-]{0,15}")


@dataclass(frozen=True, slots=True)
class Pool:
    """The workers that this process starts for itself."""

    workers: Annotated[int, Range(0, 10_000)] = 10
    slots: Annotated[int, Range(1, MAX_SLOTS)] = 10  # of each worker


@dataclass(frozen=True, slots=True)
class NamedPool:
    """One ``[[pool]]`` with a name. ``transport``: inproc or tcp; empty: that of everybody in the process."""

    name: str
    workers: Annotated[int, Range(1, 10_000)] = 10
    slots: Annotated[int, Range(1, MAX_SLOTS)] = 10
    transport: Annotated[str, OneOf(("", "inproc", "tcp"))] = ""


def read_pools(tables: list[Any]) -> tuple[list[NamedPool], dict[str, Any], list[str]]:
    """The pools with names; the table of the one without; what is wrong, each in words."""
    hints = get_type_hints(NamedPool, include_extras=True)
    pools: list[NamedPool] = []
    plain: list[dict[str, Any]] = []
    problems = []
    for table in tables:
        if not isinstance(table, dict) or "name" not in table:
            plain.append(table if isinstance(table, dict) else {})
            continue
        try:
            if unknown := sorted(table.keys() - hints.keys()):
                raise Misfit(f"{unknown[0]}: no such key{nearest(unknown[0], hints)}")
            pool = NamedPool(**{key: fit(item, hints[key]) for key, item in table.items()})
            if not NAME.fullmatch(pool.name):
                raise Misfit("expected a name of small letters, digits and -, 16 at most")
            if pool.name in {other.name for other in pools}:
                raise Misfit("two pools have this name")
        except Misfit as misfit:
            problems.append(f"[[pool]] {table['name']!r}: {misfit}")
        else:
            pools.append(pool)
    if len(plain) > 1:
        problems.append("[[pool]]: two pools have no name")
    return pools, plain[0] if plain else {}, problems
