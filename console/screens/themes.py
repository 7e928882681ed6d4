"""The theme picker: moving shows, enter keeps, escape goes back to what it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from console.screens.layer import Question


class Themes(Question[None]):
    """``problems``: theme files that could not be read, to be told."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", "back"),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
        Binding("t", "next", "next"),
    ]

    def __init__(self, names: Sequence[str], problems: Sequence[str]) -> None:
        super().__init__()
        self._names = names
        self._problems = problems
        self._before = ""

    def compose(self) -> ComposeResult:
        """The names, and what is wrong with files."""
        with Vertical(id="dialog"):
            yield Static("theme", id="question", markup=False)
            yield OptionList(*(Option(Content(name)) for name in self._names))
            for problem in self._problems:
                yield Static(problem, classes="problem", markup=False)
            yield Static("↑↓ show · ⏎ keep · esc back", classes="note", markup=False)

    def on_mount(self) -> None:
        """Begin with the present one."""
        self._before = self.app.theme
        options = self.query_one(OptionList)
        if self._before in self._names:
            options.highlighted = self._names.index(self._before)
        options.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show it."""
        self.app.theme = self._names[event.option_index]

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Keep it."""
        self.dismiss()

    def action_next(self) -> None:
        """The key that opened this moves on."""
        options = self.query_one(OptionList)
        options.highlighted = ((options.highlighted or 0) + 1) % len(self._names)

    def action_move(self, step: int) -> None:
        """Go to the next one, or to the one before."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_cancel(self) -> None:
        """As it was."""
        self.app.theme = self._before
        self.dismiss()
