"""What the first screens of all sessions share: panels between lines, a layout, a picture that may be frozen."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from console.commands import Command
from console.host import Host
from console.sessions.session import Session
from console.text import clean
from console.widgets.banner import Banner
from console.widgets.keybar import KeyBar

LAYOUTS = ("wide", "compact", "tiny")
BROAD, HIGH = 180, 46  # cells and lines from which on charts and events grow


def layout_for(width: int, height: int) -> str:
    """Choose a layout: small terminals show fewer panels and columns."""
    if width >= 110 and height >= 30:
        return "wide"
    return "compact" if width >= 70 and height >= 20 else "tiny"


class Overview(Screen[None]):
    """``head``: its first line; ``above``, ``panels``, ``below``: what else is on it.

    The layout (console.tcss) decides which of them are shown, and where.
    """

    app: Host
    head: Widget
    above: Sequence[Any] = ()
    panels: Sequence[Any] = ()
    below: Sequence[Any] = ()

    def __init__(self, session: Session[Any]) -> None:
        super().__init__()
        self.session: Any = session
        self.paused = False
        self.keybar = KeyBar(id="keys")
        self._banner = Banner(id="banner")
        self._picture: Any = None

    def compose(self) -> ComposeResult:
        """The panels, the lines around them, the key bar."""
        yield self.head
        yield self._banner
        yield from self.above
        with Container(id="panels"):
            yield from self.panels
        yield from self.below
        yield self.keybar

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout that fits."""
        chosen = layout_for(event.size.width, event.size.height)
        for name in LAYOUTS:
            self.set_class(name == chosen, name)
        self.set_class(event.size.width >= BROAD, "broad")
        self.set_class(event.size.height >= HIGH, "high")

    def on_key(self, event: events.Key) -> None:
        """Hide the notice: a key shows that it was read."""
        self.keybar.hush()

    def show(self, picture: Any) -> None:
        """Show a picture; while it is frozen only the identity bar, which says so."""
        if not self.paused or self._picture is None:
            self._picture = picture
            self._banner.show(picture)
            self.fill(picture)
        self.identify(self._picture)

    def identify(self, picture: Any) -> None:
        """Show who this is, and whether the picture is frozen."""

    def fill(self, picture: Any) -> None:
        """Show a picture in all panels that the layout shows."""
        for panel in (*self.above, *self.panels, *self.below):
            if panel.display:
                panel.show(picture)

    def name_of(self, subject: bytes) -> str:
        """The subject of an event. Events about drivers and documents contain their names already."""
        return clean(subject.decode("utf-8", "backslashreplace"))

    # ---- the view ---------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def table(self) -> Any:
        """The table with the keyboard."""

    def action_pause(self) -> None:
        """Freeze the picture, or go on; what is shown goes on anyway."""
        self.paused = not self.paused
        self.app.tick()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.table.sort_next()

    def action_sort_reverse(self) -> None:
        """Reverse the sort order."""
        if self.table.sort_column is not None:
            self.table.sort_by(self.table.sort_column, not self.table.reverse)

    def on_table_chosen(self) -> None:
        """A double click on a row."""
        self.action_details()

    def action_details(self) -> None:
        """Open the details of the selected row."""

    # ---- what is typed ----------------------------------------------------------------------------------------------

    def perform(self, command: Command) -> None:
        """One command of the ``:`` line."""
        match command:
            case Command("kill", str(name)):
                self.kill(name)
            case _:
                self.app.perform(command)

    def kill(self, name: str) -> None:
        """Ask, then end the worker or the driver of this name."""


class StageOverview(Overview):
    """Of a pipeline. ``chosen``: place of the stage that tables and orders are about."""

    chosen = 0

    def show_stage(self, picture: Any) -> None:
        """Show the chosen stage."""

    def action_stage(self, step: int) -> None:
        """Select the stage so many places on."""
        if self._picture is not None:
            self.chosen = min(max(0, self.chosen + step), len(self._picture.view.stages) - 1)
            self.show_stage(self._picture)
