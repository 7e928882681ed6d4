"""The theme picker: moving shows, enter keeps, escape goes back to what it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from console.screens.pick import Pick


class Themes(Pick):
    """``problems``: theme files that could not be read, to be told."""

    note = "↑↓ show · ⏎ keep · esc back"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("t", "next", "next")]

    def __init__(self, names: Sequence[str], problems: Sequence[str]) -> None:
        super().__init__("theme", [(name, name) for name in names], problems=problems)
        self._before = ""

    def compose(self) -> ComposeResult:
        """See ``Pick``; it begins with the present theme."""
        self._before = self.first = self.app.theme
        yield from super().compose()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show it."""
        self.app.theme = self.choices[event.option_index][0]

    def action_next(self) -> None:
        """The key that opened this moves on."""
        options = self.query_one(OptionList)
        options.highlighted = ((options.highlighted or 0) + 1) % len(self.choices)

    def action_cancel(self) -> None:
        """Restore the theme of before."""
        self.app.theme = self._before
        super().action_cancel()
