"""Lines that can be scrolled."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.widgets.ink import Inked, Parts


class Pager(Inked, ScrollView, can_focus=True):
    """Lines under one another. ``follow``: it stays at the end, unless somebody has scrolled away from there."""

    DEFAULT_CSS = "Pager { overflow: hidden auto; scrollbar-size-vertical: 1; }"

    def __init__(self, *, follow: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._follow = follow
        self._lines: Sequence[Parts] = ()

    def set_lines(self, lines: Sequence[Parts]) -> None:
        """Show these lines."""
        at_end = self.scroll_offset.y >= self.max_scroll_y
        if len(lines) != len(self._lines):
            self.virtual_size = Size(0, len(lines))
        self._lines = lines
        if self._follow and at_end:
            self.scroll_to(y=max(0, len(lines) - self.size.height), animate=False, force=True)
        self.redraw()

    def on_resize(self) -> None:
        """What was at the end stays there."""
        super().on_resize()
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
