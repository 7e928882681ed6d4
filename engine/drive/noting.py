"""Collects the notes of a core about one order, for the operator who gave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from engine.core import Command, Event, Note


class Tapped(Protocol):
    """A node, on its own thread; see ``engine.drive.node.Node``."""

    taps: tuple[Any, ...]

    def names(self) -> list[str]: ...


def noted(node: Tapped, name: str, act: Callable[[], None]) -> list[Note] | None:
    """What the core of this name notes while ``act`` hands it an order; None where it is gone."""
    if name not in node.names():
        return None
    notes: list[Note] = []

    def tap(_node: str, _name: str, _now: float, _event: Event, commands: list[Command]) -> None:
        notes.extend(command for command in commands if isinstance(command, Note))

    before = node.taps
    node.taps = (*before, tap)
    try:
        act()
    finally:
        node.taps = before
    return notes
