"""The protocol screen: what broker, client and workers report, in the protocol's own terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys
from console.commands import Command, Word
from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.rows import Shown
from console.screens.layer import Layer
from console.terms import lines_of, titled
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from console.widgets.table import Column
from console.widgets.workers import COLUMNS


class ProtocolScreen(Layer):
    """Lines that are made anew from each picture; systems with more to show derive from it."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.RUNS))]
    app: Host

    def __init__(self) -> None:
        super().__init__()
        self.page = Pager(id="page")

    def compose(self) -> ComposeResult:
        """One panel and the key bar."""
        yield self.page
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Focus the panel."""
        system = self.app.lab.system
        pager = self.page
        pager.border_title = Content(f"{system.title} · seed {system.seed}")
        self.set_focus(pager)

    def show(self, picture: Picture) -> None:
        """Show a picture; also while the main screen is paused."""
        pager = self.page
        pager.set_lines(self.lines(picture, max(1, pager.size.width - 2)))

    def lines(self, picture: Picture, width: int) -> list[Parts]:
        """What is shown, for so many cells."""
        return term_lines(picture)

    def action_back(self) -> None:
        """Go back to the main screen."""
        self.dismiss()


def term_lines(picture: Picture) -> list[Parts]:
    """The terms and counters of the broker, the terms of the client, and those of the first worker of ours."""
    broker, client = picture.broker, picture.client
    lines: list[Parts] = []
    if broker is not None:
        counters = tuple((name, f"{n:,}") for name, n in broker.counters)
        lines += titled("broker", lines_of((*broker.terms, *counters)))
    if client is not None:
        linked = ("linked", "yes" if client.linked else "no")
        lines += titled("client", lines_of((linked, *client.terms, ("late replies", f"{client.late:,}"))))
    for row in picture.rows:
        if (own := picture.own(row.worker.key)) is not None:
            lines += titled(f"worker {row.label}, as it sees itself", lines_of((("state", own.state), *own.terms)))
            break
    return lines[:-1]


class View(NamedTuple):
    """What a system shows of its own: the columns of the worker table, the screen of its protocol, words to type.

    ``perform`` carries out a typed command; False where it is none of those that this system adds or changes.
    """

    columns: tuple[Column[Shown], ...] = COLUMNS
    screen: Callable[[], ProtocolScreen] = ProtocolScreen
    words: tuple[Word, ...] = ()
    perform: Callable[[Host, Command], bool] = lambda app, command: False

    def among(self, words: Sequence[Word]) -> tuple[Word, ...]:
        """The words of all systems, and those of this one in their place or behind them."""
        own = {word.name: word for word in self.words}
        kept = [own.pop(word.name, word) for word in words]
        return (*kept, *own.values())
