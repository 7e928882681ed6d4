"""What has happened: time, glyph, words. The routine is dim, so that what matters stands out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.strip import Strip

from console import units
from console.bridge import Gap, Line, Picture
from console.text import clean
from console.widgets.ink import Panel, Parts
from console.widgets.pager import Pager
from engine.core import Level

GLYPHS: dict[Level, tuple[str, str, str]] = {
    "good": ("+", "good bold", "text"),
    "info": ("·", "label", "label"),
    "warn": ("!", "warn bold", "text"),
    "bad": ("×", "bad bold", "text"),
}
"""Glyph, its ink, the ink of the words."""

Namer = Callable[[bytes], str]


def fact_line(line: Line, name: Namer) -> Parts:
    """One fact; ``name`` gives a peer's name for people."""
    if isinstance(line, Gap):
        return [(f"{'':9}… {units.count(line.lost)} facts missed", "warn")]
    glyph, ink, words = GLYPHS[line.level]
    text = clean(line.text)
    parts: Parts = [(units.time_of_day(line.at), "faint" if line.level == "info" else "label")]
    parts += [(f" {glyph} ", ink), (text, words)]
    if line.subject and (who := name(line.subject)) not in text:
        parts.append((f" · {who}", "label"))
    return parts


class Facts(Pager, Panel):
    """All of them, newest at the bottom."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(follow=True, id=id)
        self._namer = namer
        self._facts: Sequence[Line] = ()

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        if picture.facts is self._facts:
            return
        self._facts = picture.facts
        last = self._facts[-1]
        if not isinstance(last, Gap):
            self.border_title = Content(f"facts · {units.zone(last.at)}")
        self.set_lines([fact_line(line, self._namer) for line in self._facts])


class NewestFact(Panel):
    """The newest fact that is more than routine, on one line: where there is no room for all."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._namer = namer
        self._facts: Sequence[Line] = ()

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        if picture.facts is not self._facts:
            self._facts = picture.facts
            self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        if not self._facts:
            return []
        return [self.line([(" ", "text"), *fact_line(self._facts[-1], self._namer)], width)]
