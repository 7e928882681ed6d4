"""One driver's details: process, times, document, last output."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content

from console import keys, units
from console.host import Host
from console.pictures.queuebridge import QueuePicture
from console.screens.document import OUTCOMES
from console.screens.layer import Layer
from console.screens.orders import ask_to_kill
from console.text import clean, fit
from console.widgets.drivers import shares, state_of
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from console.widgets.stages import bar
from engine.protocols.diskqueue.pipeline import DocumentRow, DriverRow

NAME = 13  # cells of the names on the left
NEWEST = 200  # of its documents


class DriverScreen(Layer):
    """Follows its driver by its number for as long as it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.KILL))]
    app: Host

    def __init__(self, row: DriverRow) -> None:
        super().__init__()
        self._row = row
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-roomy")]

    def compose(self) -> ComposeResult:
        """Two panels."""
        with Container(id="driver"):
            yield Pager(id="about")
            yield Pager(follow=True, id="output")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Name them."""
        self.query_one("#about", Pager).border_title = Content(f"driver {self._row.number} · {clean(self._row.stage)}")
        self.query_one("#output", Pager).border_title = Content("what it printed last")
        self.query_one("#output").focus()

    def show(self, picture: QueuePicture) -> None:
        """Show a picture; also while the main screen is frozen."""
        number = self._row.number
        here = next((row for row in picture.view.drivers if row.number == number), None)
        self._row = here or self._row
        about = self.query_one("#about", Pager)
        own = [row for row in picture.view.documents if row.number == number]
        about.set_lines(driver_lines(self._row, picture.view.at, here is None, own, about.size.width - 2))
        lines = self.app.lab.output(number).splitlines()
        shown: list[Parts] = [[(clean(line), "text")] for line in lines]
        self.query_one("#output", Pager).set_lines(shown or [[("nothing", "label")]])

    def action_back(self) -> None:
        """Go back to the main screen."""
        self.dismiss()

    def action_kill_driver(self) -> None:
        """Ask, then kill this one."""
        ask_to_kill(self.app, self._row)


def _field(name: str, value: str, ink: str = "text") -> Parts:
    return [(fit(name, NAME), "label"), (value, ink)]


def driver_lines(row: DriverRow, now: float, gone: bool, own: list[DocumentRow], width: int) -> list[Parts]:
    """All that is known of it, for a panel of so many cells."""
    glyph, ink, word = ("×", "bad", "ended") if gone else state_of(row)
    lines = [
        _field("state", f"{glyph} {word}", f"{ink} bold"),
        _field("document", clean(row.document) or "none", "text bold" if row.document else "label"),
        [],
        _field("pid", str(row.pid) if row.pid else "–"),
        _field("memory", units.size(row.memory) if row.memory else "–"),
        _field("cpu", f"{row.cpu:.0f} %"),
        _field("up", units.age(now - row.since) if row.since else "–"),
        [],
        _field("attempts", units.count(row.times.docs), "text bold"),
        [*bar(row.times, max(0, width))],
    ]
    values = (row.times.work, row.times.wait, row.times.block, row.times.overhead)
    for (name, share), seconds in zip(shares(row.times), values, strict=True):
        text = f"{units.duration(seconds * 1e6):>8}{share:>6.0f} %"
        lines.append(_field(name, text, "text" if seconds else "faint"))
    lines += [[], [("its newest documents", "label")]]
    for done in reversed(own[-NEWEST:]):
        glyph, ink = OUTCOMES.get(done.outcome, ("·", "label"))
        took = fit(units.duration(done.ms * 1000), 6, right=True)
        lines.append([(f"{glyph} ", ink), (fit(clean(done.id), max(0, width - 8)), "text"), (took, "label")])
    return lines
