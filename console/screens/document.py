"""One document's details: place, attempts, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content

from console import keys, units
from console.host import Host
from console.pictures.queuebridge import QueuePicture
from console.screens.layer import Layer
from console.screens.orders import retry
from console.text import clean, fit
from console.widgets.ink import Parts, cells
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from engine.drive.pipelineview import DocumentView
from engine.protocols.diskqueue.pipeline import DocumentRow

PLACES = {
    "ready": ("●", "text", "waits"),
    "working": ("▶", "busy", "is worked on"),
    "writing": ("▷", "busy", "its output is being written"),
    "failed": ("◐", "warn", "failed once, waits to be tried again"),
    "failed_twice": ("×", "bad", "failed twice, was given up"),
    "kept": ("▫", "label", "its input, kept to be looked at"),
}
OUTCOMES = {
    "published": ("✓", "good"),
    "failed": ("◐", "warn"),
    "failed_twice": ("×", "bad"),
    "gone": ("×", "bad"),
    "stuck": ("×", "bad"),
    "returned": ("◇", "drain"),
}
WHAT = {"begin": ("▶", "busy", "began"), "fail": ("×", "bad", "failed"), "back": ("◇", "drain", "given back")}


class DocumentScreen(Layer):
    """Follows a document by its id for as long as it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.RETRY))]
    app: Host

    def __init__(self, document: str) -> None:
        super().__init__()
        self._document = document
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-roomy")]

    def compose(self) -> ComposeResult:
        """Two panels."""
        with Container(id="document"):
            yield Pager(id="about")
            yield Pager(id="history")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Have it looked up."""
        self.query_one("#about", Pager).border_title = Content(f"document {clean(self._document)}")
        self.query_one("#history", Pager).border_title = Content("history, newest first")
        self.query_one("#history").focus()
        self.app.lab.inspect(self._document)

    def on_unmount(self) -> None:
        """Stop listening."""
        self.app.lab.inspect("")

    def show(self, picture: QueuePicture) -> None:
        """Show a picture; also while the main screen is frozen."""
        found = self.app.lab.inspected
        about, history = self.query_one("#about", Pager), self.query_one("#history", Pager)
        about.set_lines(place_lines(found, about.size.width - 2))
        rows = [row for row in picture.view.documents if row.id == self._document]
        history.set_lines(history_lines(rows, history.size.width - 2))

    def action_back(self) -> None:
        """Go back to the main screen."""
        self.dismiss()

    def action_retry(self) -> None:
        """Two fresh attempts, where it was given up."""
        found = self.app.lab.inspected
        places = [place for place in found.places if place.state == "failed_twice"] if found else []
        if places:
            retry(self.app, places[0].queue, self._document)
        else:
            self.app.say("it has not failed twice", "warn")


def place_lines(found: DocumentView | None, width: int) -> list[Parts]:
    """Where it is, and its record of attempts."""
    if found is None:
        return [[("looking it up …", "label")]]
    lines: list[Parts] = [[("where it is", "accent bold")]]
    for place in found.places:
        glyph, ink, words = PLACES[place.state]
        by = f" by driver {place.number}" if place.number else ""
        lines.append([(f"{glyph} ", ink), (clean(place.queue), "text bold"), (f"  {words}{by}", "label")])
    if not found.places:
        lines.append([("in no queue: somebody took it out", "label")])
    lines += [[], [("attempts on record", "accent bold")]]
    for queue, entry in found.attempts:
        glyph, ink, word = WHAT.get(entry.what, ("·", "label", clean(entry.what)))
        lines.append(
            [
                (f"{units.time_of_day(entry.at)} ", "label"),
                (f"{glyph} ", ink),
                (f"attempt {entry.attempt} {word}", "text"),
                (f" · driver {clean(entry.number)} · {clean(queue)}", "label"),
            ]
        )
        lines += wrapped(entry.reason, width, "bad" if entry.what == "fail" else "label")
    if not found.attempts:
        lines.append([("none: it has not failed", "label")])
    return lines


def history_lines(rows: Sequence[DocumentRow], width: int) -> list[Parts]:
    """What became of it at each stage, as far as it is remembered."""
    if not rows:
        return [[("nothing that is remembered", "label")]]
    lines: list[Parts] = []
    for row in sorted(rows, reverse=True):
        glyph, ink = OUTCOMES.get(row.outcome, ("·", "label"))
        about = f"attempt {row.attempt} · driver {row.number} · {units.duration(row.ms * 1000)}"
        line: Parts = [
            (f"{units.time_of_day(row.at)} ", "label"),
            (f"{glyph} ", ink),
            (fit(clean(row.stage), 10), "text bold"),
            (clean(row.outcome).replace("_", " "), ink),
        ]
        if cells(whole := [*line, (f" · {about}", "label")]) <= width:
            lines.append(whole)
        else:
            lines += [line, *wrapped(about, width, "label")]
        lines += wrapped(row.text, width, "bad")
    return lines


def wrapped(text: str, width: int, ink: str) -> list[Parts]:
    """An error text on lines of its own."""
    text, room = clean(text), max(10, width - 11)
    return [[(" " * 11, "text"), (text[at : at + room], ink)] for at in range(0, len(text), room)]
