"""A keyed, virtualised, sortable table.

The rules of this file:

- The cursor is a key, never an index: it stays with its row through sorting, joining and leaving, and once somebody
  has moved it the view stays with it too. Before that nothing is chosen and the view shows the top.
- Only visible rows are asked for and formatted, unless all are sorted by something that changes. Sorting starts from
  the last order, so equal rows do not swap; where what they are sorted by is as it was, nothing is sorted.
- Too narrow a table loses columns, the least needed first; one column takes what is left over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from operator import is_not
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, overload

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.keys import TABLE, bindings
from console.text import fit
from console.widgets.ink import Inked, Parts

R = TypeVar("R")


class Column(NamedTuple, Generic[R]):
    """One column of a table of R."""

    id: str
    title: str
    width: int  # cells; of a column that stretches, the least
    value: Callable[[R], Any]  # what rows are sorted by
    draw: Callable[[R, float, int], Parts]  # row, now, width → exactly that many cells
    need: int = 0  # columns of the lowest need go first
    right: bool = False
    falling: bool = False  # whether the first sort is largest first
    stretch: int = 0  # the most cells that it may take; 0: always its width
    short: str = ""  # the title where the column is too narrow for ``title``
    steady: bool = False  # whether a row of the same key always has the same value

    def titled(self, cells: int) -> str:
        """The title for a column of so many cells."""
        return self.short if self.short and len(self.title) > cells else self.title


def choose(columns: Sequence[Column[R]], width: int) -> list[tuple[Column[R], int]]:
    """The columns that fit into ``width`` cells, one blank between them, each with its width."""
    kept = list(columns)
    while len(kept) > 1 and sum(column.width + 1 for column in kept) - 1 > width:
        kept.remove(min(kept, key=lambda column: column.need))
    spare = max(0, width - sum(column.width + 1 for column in kept) + 1)
    chosen = []
    for column in kept:
        more = min(spare, max(0, column.stretch - column.width))
        spare -= more
        chosen.append((column, min(column.width + more, width)))
    return chosen


class Arranged(Sequence[R]):
    """Rows in the order of a table."""

    def __init__(self, rows: Sequence[R], order: Sequence[int]) -> None:
        self._rows, self._order = rows, order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> R: ...
    @overload
    def __getitem__(self, at: slice) -> list[R]: ...
    def __getitem__(self, at: int | slice) -> R | list[R]:
        if isinstance(at, slice):
            return [self._rows[one] for one in self._order[at]]
        return self._rows[self._order[at]]

    def __iter__(self) -> Iterator[R]:
        return map(self._rows.__getitem__, self._order)


class Table(Inked, ScrollView, Generic[R], can_focus=True):
    """Rows of R under a header."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(TABLE)]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--cursor"}
    DEFAULT_CSS = """
    Table { overflow: hidden auto; scrollbar-size-vertical: 1; }
    Table > .table--cursor { background: $row-cursor-blurred; }
    Table:focus > .table--cursor { background: $row-cursor; }
    """

    class Chosen(Message):
        """A row was double-clicked."""

    class Sorted(Message):
        """The order or the number of rows has changed."""

    def __init__(
        self, columns: Sequence[Column[R]], key: Callable[[R], Any], *, empty: str = "", id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.sort_column: Column[R] | None = None
        self.reverse = False
        self.group: Callable[[R], Any] | None = None  # rows of one group stand together, whatever they are sorted by
        self.cursor: Any = None
        self.marks: set[Any] = set()  # keys of rows
        self._sorted: tuple[Any, ...] = ()  # by column, direction and group
        self.shown: Sequence[R] = ()  # the rows in the order in which they are shown
        self._key = key
        self._empty = empty
        self._rows: Sequence[R] = ()
        self._order: list[int] = []  # the places in ``_rows`` of those that are shown
        self._values: list[list[Any]] = []  # what they are sorted by
        self._places: dict[Any, int] | None = {}  # key → place in ``shown``; None: to be made
        self._last = 0  # where the cursor was, for when its row is gone
        self._now = 0.0

    # ---- rows -------------------------------------------------------------------------------------------------------

    def set_rows(self, rows: Sequence[R], now: float = 0.0) -> None:
        """Show these rows as of monotonic time ``now``."""
        before, self._rows, self._now = self._rows, rows, now
        changed = self.changed(before, rows)
        if changed is None:
            self._arrange(self._in_last_order(rows))
        elif self._sorted != (self.sort_column, self.reverse, self.group) or (changed and self._moved()):
            self._arrange(self._order)
        else:
            self.shown = Arranged(rows, self._order)
            self.redraw()

    def changed(self, before: Sequence[R], rows: Sequence[R]) -> bool | None:
        """Whether some rows are others than before; None where those of other keys are there, or in another order."""
        if len(before) != len(rows):
            return None
        pairs = [*compress(zip(before, rows, strict=True), map(is_not, before, rows))]
        return bool(pairs) if all(self._key(old) == self._key(new) for old, new in pairs) else None

    def _moved(self) -> bool:
        """Whether a value by which rows are sorted has changed."""
        steady = self.sort_column is None or self.sort_column.steady
        return not (steady and self.group is None) and self._values_now() != self._values

    def _values_now(self) -> list[list[Any]]:
        by = [self.sort_column.value] if self.sort_column is not None else []
        by += [self.group] if self.group is not None else []
        return [[value(row) for row in self._rows] for value in by]

    def sort_by(self, column: Column[R], reverse: bool | None = None) -> None:
        """Sort by a column, at first in its own direction."""
        self.sort_column = column
        self.reverse = column.falling if reverse is None else reverse
        self._arrange(self._order)
        self.post_message(self.Sorted())

    def sort_next(self) -> None:
        """Sort by the next column that is on the screen."""
        visible = [column for column, _ in choose(self.columns, self.size.width - 1)]
        at = visible.index(self.sort_column) if self.sort_column in visible else -1
        self.sort_by(visible[(at + 1) % len(visible)])

    def chosen(self) -> R | None:
        """The row under the cursor; where nothing was chosen yet, the cursor goes to the topmost visible row."""
        if self.cursor is None and self.shown:
            self._move(min(round(self.scroll_offset.y), len(self.shown) - 1))
        place = self._place()
        return None if place is None else self.shown[place]

    def choose(self, row: R) -> None:
        """Move the cursor to a row that is shown."""
        key = self._key(row)
        self._move(next(place for place, one in enumerate(self.shown) if self._key(one) == key))

    def copied(self) -> str:
        """The row under the cursor as text, its columns separated by tabs; "" if there is no row."""
        row = self.chosen()
        if row is None:
            return ""
        drawn = (column.draw(row, self._now, max(column.width, column.stretch)) for column in self.columns)
        return "\t".join("".join(text for text, _ in parts).strip() for parts in drawn)

    def release(self) -> None:
        """Clear the selection and show the top."""
        self.cursor, self._last = None, 0
        self.scroll_to(y=0, animate=False, force=True)
        self.redraw()

    def _arrange(self, order: Sequence[int]) -> None:
        """Sort the rows, which stood in this order, and keep the cursor's row where it is on the screen."""
        place = self._place()
        line = None if place is None else place - self.scroll_offset.y
        count = len(self.shown)
        self._sorted = self.sort_column, self.reverse, self.group
        self._values = self._values_now()
        self._order = list(range(len(self._rows)) if self.sort_column is None else order)
        for values in self._values:  # those of the group last: its rows stand together
            grouped = self.sort_column is None or values is not self._values[0]
            self._order.sort(key=values.__getitem__, reverse=self.reverse and not grouped)
        self.shown = Arranged(self._rows, self._order)
        self._places = None
        if len(self.shown) != count:
            self.virtual_size = Size(0, len(self.shown) + 1)
            self.post_message(self.Sorted())
        if self.cursor is not None:
            self._follow(line)
        self.redraw()

    def _in_last_order(self, rows: Sequence[R]) -> list[int]:
        """The places of the rows as they lay last time, new ones behind: so equal rows keep their order."""
        key = self._key
        fresh = {key(row): place for place, row in enumerate(rows)}
        kept = [fresh.pop(at) for at in map(key, self.shown) if at in fresh]
        return kept + list(fresh.values())

    def _follow(self, line: int | None) -> None:
        place = self._place()
        if place is None:  # its row has gone: the one that took its place is next
            self.cursor = self._key(self.shown[min(self._last, len(self.shown) - 1)]) if self.shown else None
            return
        self._last = place
        if line is not None and 0 <= line < self.size.height - 1:
            top = max(0, min(place - line, len(self.shown) - (self.size.height - 1)))
            if top != self.scroll_offset.y:
                self.scroll_to(y=top, animate=False, force=True)

    def _place(self) -> int | None:
        if self.cursor is None:
            return None
        if self._places is None:
            self._places = {self._key(row): place for place, row in enumerate(self.shown)}
        return self._places.get(self.cursor)

    # ---- keys and mouse ---------------------------------------------------------------------------------------------

    def action_cursor(self, step: int) -> None:
        """Move by rows."""
        place = self._place()
        self._move(self.scroll_offset.y if place is None else place + step)

    def action_page(self, step: int) -> None:
        """Move by pages."""
        self._move((self._place() or 0) + step * max(1, self.size.height - 2))

    def action_edge(self, step: int) -> None:
        """Move to an end."""
        self._move(0 if step < 0 else len(self.shown) - 1)

    def _move(self, place: int) -> None:
        if not self.shown:
            return
        place = self._last = min(max(place, 0), len(self.shown) - 1)
        self.cursor = self._key(self.shown[place])
        top, height = self.scroll_offset.y, max(1, self.size.height - 1)
        if not top <= place < top + height:
            self.scroll_to(y=place if place < top else place - height + 1, animate=False, force=True)
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """The header sorts; a row is chosen, and opened by a second click."""
        event.prevent_default()
        at = event.get_content_offset(self)
        if at is None:
            return
        if at.y == 0:
            self._click_header(at.x - 1)
        elif at.y - 1 + self.scroll_offset.y < len(self.shown):
            self._move(at.y - 1 + self.scroll_offset.y)
            if event.chain == 2:
                self.post_message(self.Chosen())

    def _click_header(self, x: int) -> None:
        for column, width in choose(self.columns, self.size.width - 1):
            if 0 <= x <= width:
                self.sort_by(column, not self.reverse if column is self.sort_column else None)
                return
            x -= width + 1

    # ---- drawing ----------------------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are visible now."""
        super().watch_scroll_y(old_value, new_value)
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """The header and the visible rows; the last cells are the scroll bar's where there is one."""
        width -= self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0
        chosen = choose(self.columns, width - 1)
        strips = [self._header(chosen, width)]
        top = self.scroll_offset.y
        visible = self.shown[top : top + height - 1]
        if not visible and self._empty:
            strips += [self.line([], width), self.line([("  " + fit(self._empty, width - 2), "label")], width)]
        for row in visible:
            here = self._key(row) == self.cursor and self.cursor is not None
            mark = ("◆", "accent bold") if self._key(row) in self.marks else ("▌", "busy") if here else (" ", "text")
            parts: Parts = [mark]
            for column, cells in chosen:
                parts += self.marked(column.draw(row, self._now, cells))
                text, ink = parts[-1]
                if ink.endswith("underline"):
                    parts.append((" ", "text"))
                else:  # a part less to paint
                    parts[-1] = text + " ", ink
            strips.append(self.line(parts, width, "table--cursor" if here else ""))
        return strips

    def marked(self, parts: Parts) -> Parts:
        """A drawn cell, with what is looked for made visible."""
        return parts

    def _header(self, chosen: list[tuple[Column[R], int]], width: int) -> Strip:
        parts: Parts = [(" ", "text")]
        for column, cells in chosen:
            if column is not self.sort_column:
                parts.append((fit(column.titled(cells), cells, column.right) + " ", "label"))
            elif column.right and len(title := column.titled(cells)) < cells:
                parts.append((fit(self.arrow + title, cells, True) + " ", "accent bold"))
            elif column.right:
                parts.append((fit(title, cells, True) + self.arrow, "accent bold"))
            else:
                parts.append((fit(column.titled(cells) + self.arrow, cells) + " ", "accent bold"))
        return self.line(parts, width)

    @property
    def arrow(self) -> str:
        """The direction of the order."""
        return "▾" if self.reverse else "▴"
