"""A dialog to pick one of a few."""

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


class Pick(Question[str | None]):
    """What was chosen, None for nothing.

    ``choices``: the answer, and its clean text. ``first``: the answer to begin with. ``problems``:
    what is wrong with choices that are missing.
    """

    note = "↑↓ choose · ⏎ take · esc back"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "cancel", "back"),
        Binding("j", "move(1)", show=False),
        Binding("k", "move(-1)", show=False),
    ]

    def __init__(
        self, question: str, choices: Sequence[tuple[str, str]], first: str = "", problems: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self._question, self.choices, self.first, self._problems = question, choices, first, problems

    def compose(self) -> ComposeResult:
        """The question and the choices."""
        with Vertical(id="dialog", classes=type(self).__name__.lower()):
            yield Static(self._question, id="question", markup=False)
            yield OptionList(*(Option(Content(words)) for _, words in self.choices))
            for problem in self._problems:
                yield Static(problem, classes="problem", markup=False)
            yield Static(self.note, classes="note", markup=False)

    def on_mount(self) -> None:
        """Begin with the likeliest."""
        options = self.query_one(OptionList)
        answers = [answer for answer, _ in self.choices]
        if self.first in answers:
            options.highlighted = answers.index(self.first)
        options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose this one."""
        self.dismiss(self.choices[event.option_index][0])

    def action_move(self, step: int) -> None:
        """Go to the next one, or to the one before."""
        options = self.query_one(OptionList)
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_cancel(self) -> None:
        """Choose none."""
        self.dismiss(None)
