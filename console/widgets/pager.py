"""Lines that can be scrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.keys import TABLE, bindings
from console.widgets.ink import Inked, Parts, folded


class Pager(Inked, ScrollView, can_focus=True):
    """Lines under one another; one that is wider than the panel goes on below.

    ``follow``: it stays at the end, unless somebody has scrolled away from there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TABLE)]
    DEFAULT_CSS = "Pager { overflow: hidden auto; scrollbar-size-vertical: 1; }"

    def __init__(self, *, follow: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._follow = follow
        self._told: Sequence[Parts] = ()  # as they were given
        self._lines: Sequence[Parts] = ()  # as they are shown

    def set_lines(self, lines: Sequence[Parts]) -> None:
        """Show these lines."""
        self._told = lines
        self._fold()

    def _fold(self) -> None:
        at_end = self.scroll_offset.y >= self.max_scroll_y
        lines = self._told
        if self.size.width > 2:
            width = self.size.width - 1
            lines = [part for line in self._told for part in folded(line, width)]
            if len(lines) > self.size.height:  # then the last column is the scroll bar's
                lines = [part for line in self._told for part in folded(line, width - 1)]
        if len(lines) != len(self._lines):
            self.virtual_size = Size(0, len(lines))
        self._lines = lines
        if self._follow and at_end:
            self.scroll_to(y=max(0, len(lines) - self.size.height), animate=False, force=True)
        self.redraw()

    def action_cursor(self, step: int) -> None:
        """Scroll by lines."""
        self.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        """Scroll by pages."""
        self.scroll_relative(y=step * max(1, self.size.height - 1), animate=False)

    def action_edge(self, step: int) -> None:
        """Scroll to an end."""
        self.scroll_to(y=0 if step < 0 else self.max_scroll_y, animate=False)

    def copied(self) -> str:
        """All lines as text."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self._told)

    def on_resize(self) -> None:
        """What was at the end stays there."""
        super().on_resize()
        self._fold()
        if self._follow:
            self.scroll_to(y=max(0, len(self._lines) - self.size.height), animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other lines are visible now."""
        super().watch_scroll_y(old_value, new_value)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """The visible lines."""
        top = self.scroll_offset.y
        return [self.line([(" ", "text"), *parts], width) for parts in self._lines[top : top + height]]
