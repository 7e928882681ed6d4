"""What has happened: time, glyph, words. The routine is dim, so that what matters stands out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

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


def fact_line(line: Line, namer: Namer, times: int = 1) -> Parts:
    """One fact; ``times``: how often in a row it was said."""
    if isinstance(line, Gap):
        return [(f"{'':9}… {units.count(line.lost)} facts missed", "warn")]
    glyph, ink, words = GLYPHS[line.level]
    text = clean(line.text)
    parts: Parts = [(units.time_of_day(line.at), "faint" if line.level == "info" else "label")]
    parts += [(f" {glyph} ", ink), (text, words)]
    if line.subject and (who := namer(line.subject)) not in text:
        parts.append((f" · {who}", "label"))
    if times > 1:
        parts.append((f" × {units.count(times)}", "label"))
    return parts


def fact_lines(lines: Sequence[Line], namer: Namer) -> list[Parts]:
    """All facts, those that say the same right after one another as one line: the newest of them."""
    said: list[Parts] = []
    for _, group in groupby(lines, _sameness):
        *_, last = same = list(group)
        said.append(fact_line(last, namer, len(same)))
    return said


def _sameness(line: Line) -> object:
    return line if isinstance(line, Gap) else (line.level, line.text, line.subject)


class Facts(Pager, Panel):
    """All of them, newest at the bottom."""

    def __init__(self, namer: Namer, *, id: str | None = None) -> None:
        super().__init__(follow=True, id=id)
        self._namer = namer
        self._facts: Sequence[Line] = ()
        self._named = 0  # workers whose names were known: a fact comes sooner than the picture of whom it is about

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        if picture.facts is self._facts and len(picture.rows) == self._named:
            return
        self._facts, self._named = picture.facts, len(picture.rows)
        last = self._facts[-1] if self._facts else Gap(0)
        if not isinstance(last, Gap):
            self.border_title = Content(f"facts · {units.zone(last.at)}")
        self.set_lines(fact_lines(self._facts, self._namer))


class NewestFact(Panel):
    """The newest fact on one line: where there is no room for all."""

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
        return [self.line([(" ", "text"), *fact_lines(self._facts, self._namer)[-1]], width)]
