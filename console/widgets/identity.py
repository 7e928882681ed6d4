"""The first line: what this is, how it is, where it listens; how fast, how many failures, how long."""

from __future__ import annotations

from collections.abc import Sequence

from textual.strip import Strip

from console import units
from console.bridge import Picture, badge
from console.text import clean
from console.widgets.ink import Inked, Parts, first_that_fits, spread


class Identity(Inked):
    """The identity bar."""

    ALLOW_SELECT = False

    def __init__(self, system: str, endpoints: Sequence[str], readonly: bool, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._system = clean(system)
        self._endpoints = endpoints
        self._readonly = readonly
        self._picture: Picture | None = None
        self._paused = False

    def show(self, picture: Picture, paused: bool, endpoints: Sequence[str]) -> None:
        """Show a picture, or that it is frozen."""
        self._picture, self._paused, self._endpoints = picture, paused, endpoints
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        picture = self._picture
        if picture is None:
            return []
        word, ink = badge(picture, self._paused)
        name: Parts = [(" ◆ ", "accent"), ("roundhouse ", "text bold")]
        state: Parts = [(f" {'◦' if word == 'STARTING' else '●'} {word} ", f"{ink} bold reverse")]
        if self._readonly:
            state.append((" read-only", "warn"))
        system: Parts = [("  " + self._system, "label")]
        where: Parts = [("  " + " ".join(map(clean, self._endpoints)), "text")]
        right: Parts = [(units.short(picture.rates.sent), "text bold"), (" req/s", "label")]
        fails: Parts = [
            (f"  {units.short(picture.failed)}", "bad bold" if picture.failed else "label"),
            (" fail", "label"),
        ]
        up: Parts = [("  up ", "label"), (units.clock(picture.up), "text"), (" ", "text")]
        full = [*right, *fails, *up]
        choices = [
            spread([*name, *state, *system, *where], full, width),
            spread([*name, *state, *where], full, width),
            spread([*name, *state, *system], full, width),
            spread([*name, *state], full, width),
            spread([*name[:1], *state], [*right, *fails, (" ", "text")], width),
            spread([*name[:1], *state], [*right, (" ", "text")], width),
        ]
        return [self.line(first_that_fits(choices, width), width)]
