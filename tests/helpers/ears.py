"""An ear of a pipeline that remembers."""

from __future__ import annotations

from typing import Any


class Heard:
    """An ear that keeps what it hears; it dies of an event that is ``deadly``."""

    def __init__(self, deadly: object = None) -> None:
        self.all: list[tuple[Any, ...]] = []
        self._deadly = deadly

    def seated(
        self, node: str, name: str, role: str, args: list[Any], world: dict[str, Any], at: float | None = None
    ) -> None:
        self.all.append(("seated", name, role))

    def left(self, node: str, name: str) -> None:
        self.all.append(("left", name))

    def tap(self, node: str, name: str, now: float, event: Any, commands: list[Any]) -> None:
        if event == self._deadly:
            raise RuntimeError("too much")
        self.all.append((name, now, event, commands))

    def has(self, *wanted: Any) -> bool:
        return wanted in self.all
