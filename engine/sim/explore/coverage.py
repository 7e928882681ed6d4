"""Which rows of the state machines were walked, and which never.

The rules of this file:

- The rows are those of the system's state maps, by the counts that the cores themselves keep (``StateMap.walked``).
- A row of one that no picture counts, for it belongs to each task and changes nothing, is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from engine.core import Core
from engine.parts.explain import StateMap
from engine.sim.explore.model import Model


class Rows(NamedTuple):
    """Of one state machine. Each row: its state and its event."""

    title: str
    walked: tuple[tuple[str, str], ...]
    never: tuple[tuple[str, str], ...]


def summed(walks: Iterable[Iterable[Rows]]) -> list[Rows]:
    """Of each machine the rows that any of some walks reached, and those that none did."""
    same: dict[str, list[Rows]] = {}
    for rows in (one for walk in walks for one in walk):
        same.setdefault(rows.title, []).append(rows)
    found = []
    for title, several in same.items():
        walked = dict.fromkeys(row for rows in several for row in rows.walked)
        never = dict.fromkeys(row for rows in several for row in rows.never if row not in walked)
        found.append(Rows(title, tuple(walked), tuple(never)))
    return found


def rows_of(one: StateMap, walked: Collection[tuple[str, str]]) -> Rows:
    """The rows of a machine, in their order."""
    edges = list(dict.fromkeys((edge.state, edge.event) for edge in one.edges))
    edges = [edge for edge in edges if edge not in one.uncounted]
    return Rows(
        one.title,
        tuple(edge for edge in edges if edge in walked),
        tuple(edge for edge in edges if edge not in walked),
    )


class Coverage:
    """What was walked by the cores of a model, from now on."""

    def __init__(self, model: Model) -> None:
        self._maps = [one for one in model.scene.system.explain.state_maps() if one.walked is not None]
        roles = {type(model.seats[who].core): place.role for who, place in enumerate(model.world.places)}
        self._of = {made: [one for one in self._maps if one.role == role] for made, role in roles.items()}
        self._walked: dict[str, set[tuple[str, str]]] = {one.title: set() for one in self._maps}
        self._counted: dict[str, set[Any]] = {one.title: set() for one in self._maps}
        model.parts.looks.append(self._look)

    def rows(self) -> list[Rows]:
        """All machines, rows in their order."""
        return [self._rows(one) for one in self._maps]

    def _look(self, core: Core, now: float) -> None:
        maps = self._of.get(type(core))
        if not maps:
            return
        picture = core.snapshot(now)
        for one in maps:
            assert one.walked is not None
            known = self._counted[one.title]
            if picture.walked in known:
                continue
            known.add(picture.walked)
            self._walked[one.title].update(key for key, times in one.walked(picture).items() if times)

    def _rows(self, one: StateMap) -> Rows:
        return rows_of(one, self._walked[one.title])
