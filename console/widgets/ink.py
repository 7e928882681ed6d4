"""Drawing by lines: every panel of the console is an ``Inked`` widget.

The rules of this file:

- A panel draws itself as a list of lines; a line is a list of parts; a part is a text and the name of an ink.
- Text in a part is final: clean, and never parsed. Inks are component classes of the app, so every colour is the
  theme's, and Textual works their styles out once for all widgets.
- ``redraw`` compares with what is on the screen and repaints only the lines that differ.
"""

from __future__ import annotations

import re
import textwrap
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    pass

Part = tuple[str, str]
"""A text and its ink: the name of a colour, and after a blank Rich style words (``"good bold reverse"``)."""

Parts = list[Part]

INKS = {
    "text": "$foreground",
    "label": "$label",
    "faint": "$faint",
    "accent": "$accent",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
    "busy": "$primary",
    "drain": "$secondary",
    "flow": "$flow",
    "back": "$flow-back",
    "frame": "$frame",
    "chart-low": "$chart-low",
    "chart-mid": "$chart-mid",
    "chart-upper": "$chart-upper",
    "chart-high": "$chart-high",
    "chart-ok": "$chart-ok",
    "chart-warn": "$chart-warn",
    "chart-bad": "$chart-bad",
    "chart-grid": "$chart-grid",
}
"""Inks and their colours. The app has a component class ``ink--NAME`` for each."""

EIGHTHS = " ▁▂▃▄▅▆▇█"
_ROOM = 16  # cells that are enough for words beside an indent
_INDENT = 6  # of what does not fit, where they are not
LEFT_EIGHTHS = " ▏▎▍▌▋▊▉█"


def cells(parts: Iterable[Part]) -> int:
    """Terminal cells that a line takes."""
    return sum(len(text) if text.isascii() else cell_len(text) for text, _ in parts)


def spread(left: Parts, right: Parts, width: int) -> Parts:
    """One line with two ends and at least a blank between; longer than ``width`` where there is no room for both."""
    return [*left, (" " * max(1, width - cells(left) - cells(right)), "text"), *right]


def joined(parts: Iterable[Part]) -> Parts:
    """The same line with neighbours of one ink as one part."""
    line: Parts = []
    for text, ink in parts:
        if line and line[-1][1] == ink:
            line[-1] = (line[-1][0] + text, ink)
        else:
            line.append((text, ink))
    return line


def first_that_fits(choices: Iterable[Parts], width: int) -> Parts:
    """The first line that is not wider than ``width``; the last one where none is."""
    line: Parts = []
    for line in choices:
        if cells(line) <= width:
            break
    return line


def wrapped(first: Parts, text: str, ink: str, width: int) -> list[Parts]:
    """``first`` and clean text behind it, in as many lines as it takes; they are indented as far as the text begins."""
    indent = cells(first)
    words = textwrap.wrap(text, max(8, width - indent)) or [""]
    return [[*(first if place == 0 else [(" " * indent, "text")]), (line, ink)] for place, line in enumerate(words)]


_WORDS = re.compile(r"\s+|(?:[a-z][\w.]* )?[\d.,]+ (?:ns|µs|ms|s)(?!\w)\S*|\S+")


def folded(parts: Parts, width: int) -> list[Parts]:
    """A line in as many as it takes: broken between words, and within one that is longer than a line.

    A number stays with its unit of time and the word before it.

    The others are indented to where the part begins that reached the edge, or a little where that leaves no room.
    """
    if cells(parts) <= width:
        return [parts]
    indent = 0
    for text, ink in parts:
        reached = indent + cells([(text, ink)])
        if reached > width:
            break
        indent = reached
    if width - indent < _ROOM:
        indent = min(_INDENT, width // 2)
    lines: list[Parts] = [[]]
    at = 0
    for text, ink in parts:
        for word in _WORDS.findall(text):
            rest = word
            if rest.isspace() and at + len(rest) > width:
                at = width  # blanks at the end of a line are none
                continue
            if at + cells([(rest, ink)]) > width and at > indent:
                lines.append([(" " * indent, "text")])
                at = indent
            while at + cells([(rest, ink)]) > width:
                head = set_cell_size(rest, width - at).rstrip() or rest[0]
                lines[-1].append((head, ink))
                rest = rest[len(head) :]
                if rest:
                    lines.append([(" " * indent, "text")])
                at = indent if rest else width
            lines[-1].append((rest, ink))
            at += cells([(rest, ink)])
    return [joined(line) for line in lines]


def cut(parts: Parts, width: int) -> Parts:
    """A line that ends with an ellipsis where it is wider than ``width``."""
    if cells(parts) <= width:
        return parts
    line: Parts = []
    for text, ink in parts:
        room = width - 1 - cells(line)
        if cells([(text, ink)]) > room:
            return [*line, (set_cell_size(text, max(0, room)) + "…", ink)]
        line.append((text, ink))
    return line


def values(pairs: Iterable[tuple[str, str, str]], gap: int = 2) -> Parts:
    """Grey labels and inked values: ``[("ok", "39,005", "good bold"), …]``."""
    line: Parts = []
    for name, value, ink in pairs:
        line += [(" " * (gap if line else 0) + name + " ", "label"), (value, ink)]
    return line


class Inked(Widget):
    """A widget that draws itself by lines."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._strips: list[Strip] | None = None
        self._inks: dict[tuple[str, str], Style] = {}
        self._painting = False

    @abstractmethod
    def draw(self, width: int, height: int) -> Sequence[Strip]:
        """The lines of the whole content area, top first; fewer than ``height`` leave the rest blank."""

    def redraw(self) -> None:
        """Draw again and repaint what changed."""
        before = self._strips
        if before is None or len(before) != self.size.height or not self.is_mounted:  # resized, and not told yet
            self._strips = None
            self.refresh()
            return
        self._strips = self._drawn()
        width = self.size.width
        changed = [Region(0, y, width, 1) for y, strip in enumerate(self._strips) if strip != before[y]]
        if changed:
            self.refresh(*changed)

    def line(self, parts: Iterable[Part], width: int, ground: str = "") -> Strip:
        """One line of exactly ``width`` cells; ``ground``: the component class that lies under it."""
        there = [part for part in parts if part[0]]
        segments = [Segment(text, self.ink(ink, ground)) for text, ink in there]
        taken = cells(there)
        if taken < width:
            segments.append(Segment(" " * (width - taken), self.ink("text", ground)))
        strip = Strip(segments, max(taken, width))  # Textual would measure each part again
        return strip if taken <= width else strip.adjust_cell_length(width)

    def ink(self, name: str, ground: str = "") -> Style:
        """The Rich style of an ink on this widget's ground, or on that of a component class."""
        style = self._inks.get((name, ground))
        if style is None:
            colour, _, extra = name.partition(" ")
            style = self.rich_style + Style(color=self._colour(colour).rich_color)
            if ground:
                style += Style(bgcolor=self.get_component_rich_style(ground).bgcolor)
            if extra:
                style += Style.parse(extra)
            self._inks[name, ground] = style
        return style

    def _colour(self, name: str) -> Color:
        """The colour of an ink on this widget's ground."""
        ground = self.background_colors[1]
        styles = self.app.get_component_styles(f"ink--{name}")
        return ground + (ground.get_contrast_text(styles.color.a) if styles.auto_color else styles.color)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Lines that are painted. Only who looks for the text under the mouse asks ``render_line`` itself."""
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """One line; where it is not for painting, each part of it says where it is."""
        if self._strips is None or len(self._strips) != self.size.height:
            self._strips = self._drawn()
        if y >= len(self._strips):
            return Strip.blank(self.size.width, self.rich_style)
        return self._selected(self._strips[y], y + self.scroll_offset.y)

    def notify_style_update(self) -> None:
        """The theme has changed."""
        super().notify_style_update()
        self._inks.clear()
        self._strips = None

    def on_resize(self) -> None:
        """The lines have another width now."""
        self._strips = None

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """What the mouse has selected, as text."""
        text = "\n".join(strip.text.rstrip() for strip in self._strips or ())
        top = self.scroll_offset.y
        return selection.extract("\n" * top + text), "\n"

    def _drawn(self) -> list[Strip]:
        width, height = self.size
        strips = list(self.draw(width, height))[:height] if width and height else []
        return strips + [Strip.blank(width, self.rich_style)] * (height - len(strips))

    def _selected(self, strip: Strip, y: int) -> Strip:
        """Show the mouse selection, and say where each part is so that it can be made, unless that is for painting."""
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is not None:
            start, end = span[0], strip.cell_length if span[1] == -1 else min(span[1], strip.cell_length)
            style = self.screen.get_component_rich_style("screen--selection")
            middle = Strip([Segment(text, (old or Style()) + style) for text, old, _ in strip.crop(start, end)])
            strip = Strip.join([strip.crop(0, start), middle, strip.crop(end)])
        return strip if self._painting else strip.apply_offsets(0, y)


class Panel(Inked):
    """An inked widget that shows pictures; ``_picture``: the newest, None before the first."""

    _picture: Any = None

    def show(self, picture: Any) -> None:
        """Show a picture."""
        self._picture = picture
        self.redraw()
