"""A line that stays on the screen while an engine thread is dead."""

from __future__ import annotations

from typing import Protocol

from textual.strip import Strip

from console.text import clean, fit
from console.widgets.ink import Inked


class Mortal(Protocol):
    """A picture of what can die."""

    @property
    def dead(self) -> tuple[str, ...]: ...


class Banner(Inked):
    """Hidden while all is well."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.display = False
        self._dead: tuple[str, ...] = ()

    def show(self, picture: Mortal) -> None:
        """Show a picture."""
        if picture.dead != self._dead:
            self._dead = picture.dead
            self.display = bool(self._dead)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        text = " × ENGINE THREAD DIED · " + " · ".join(map(clean, self._dead))
        return [self.line([(fit(text, width), "bad bold reverse")], width)]
