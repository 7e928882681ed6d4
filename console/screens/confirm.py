"""Asks for confirmation before something is destroyed. Cancel is the default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from console import units
from console.pictures.rows import Shown
from console.screens.layer import Question
from console.text import label

NAMED = 6  # workers that a question names


class Confirm(Question[bool]):
    """True where it was confirmed. ``lines`` are clean text. ``verb``: what a yes does, for its button."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,q", "answer(False)", "cancel"),
        Binding("y", "answer(True)", "yes"),
        Binding("left,right,up,down", "app.focus_next", show=False),
    ]

    def __init__(self, question: str, lines: Sequence[str], verb: str) -> None:
        super().__init__()
        self.question = question
        self._lines = lines
        self._verb = verb

    def compose(self) -> ComposeResult:
        """The question, what follows from a yes, two buttons."""
        with Vertical(id="dialog"):
            yield Static(self.question, id="question", markup=False)
            for line in self._lines:
                yield Static(line, classes="note", markup=False)
            with Horizontal(id="buttons"):
                yield Button("Cancel (n)", id="cancel", compact=True)
                yield Button(f"{self._verb} (y)", id="yes", compact=True)

    def on_mount(self) -> None:
        """Enter means no."""
        self.query_one("#cancel").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """A button is an answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:
        """A key is an answer."""
        self.dismiss(yes)


def stop_question(row: Shown) -> Confirm:
    """The question before a worker is stopped; it names the row."""
    held = row.worker.in_flight
    fate = f"It finishes what it holds ({units.count(held)}), then leaves." if held else "It holds no task."
    return Confirm(f"Stop worker {row.label}?", [fate, label(row.worker.key)], "Stop worker")


def drain_question(row: Shown, undone: bool) -> Confirm:
    """The question before a worker is drained. ``undone``: whether its broker gives it tasks again if asked to."""
    held = row.worker.in_flight
    fate = (
        f"It finishes what it holds ({units.count(held)}) and gets nothing more." if held else "It gets nothing more."
    )
    after = f"undrain {row.label} undoes it, until it has left." if undone else "Nothing takes that back."
    return Confirm(f"Drain worker {row.label}?", [fate, after, label(row.worker.key)], "Drain")


def several_question(verb: str, rows: Sequence[Shown], fate: str, others: Sequence[str]) -> Confirm:
    """The question before one order to several workers; it names them. ``others``: why not to the rest."""
    left_out = [*others[:NAMED], *(["…"] if len(others) > NAMED else [])]
    return Confirm(f"{verb} {workers_named(rows)}?", [fate, *left_out], verb)


def workers_named(rows: Sequence[Shown]) -> str:
    """``worker w1``, or ``3 workers w1, w2, w5``; the first ones of many."""
    names = ", ".join(row.label for row in rows[:NAMED]) + (", …" if len(rows) > NAMED else "")
    return f"worker {names}" if len(rows) == 1 else f"{units.count(len(rows))} workers {names}"
