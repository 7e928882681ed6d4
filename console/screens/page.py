"""A screen of lines under a title: the help, the worker list, one kept run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys
from console.pictures.bridge import Picture
from console.screens.layer import Layer
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager


class Page(Layer):
    """Lines that can be scrolled. ``live``: makes them anew from each picture."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.BACK)]

    def __init__(self, title: str, lines: Sequence[Parts], live: Callable[[Picture], Sequence[Parts]] | None = None):
        super().__init__()
        self._heading = title
        self._lines = lines
        self._live = live
        self._pager = Pager(id="page")  # made before it is shown: keys may leave a screen that is not there yet

    def compose(self) -> ComposeResult:
        """One panel and the key bar."""
        yield self._pager
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Show what there is."""
        pager = self._pager
        pager.border_title = Content(self._heading)
        pager.set_lines(self._lines)
        pager.focus()

    def show(self, picture: Picture) -> None:
        """Show a picture, where the lines depend on it."""
        if self._live is not None:
            self._pager.set_lines(self._live(picture))

    def action_back(self) -> None:
        """To the screen before."""
        self.dismiss()
