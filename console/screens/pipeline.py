"""The main screen of disk queues: all panels, and all orders.

← and → select a stage. The tables show its drivers and documents, and orders apply to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from console import keys
from console.commands import Command
from console.host import Host
from console.pictures.queuebridge import Document, QueuePicture
from console.screens.confirm import Confirm
from console.screens.document import DocumentScreen
from console.screens.driver import DriverScreen
from console.screens.main import LAYOUTS, layout_for
from console.screens.orders import ask_to_kill, retry
from console.sessions.queues import QueueSession
from console.text import clean
from console.widgets.banner import Banner
from console.widgets.documents import Documents
from console.widgets.drivers import Drivers
from console.widgets.events import Events, NewestEvent
from console.widgets.keybar import KeyBar
from console.widgets.queuelines import QueueIdentity, QueueLedger
from console.widgets.queuestrip import QueueStrip
from console.widgets.stages import Stages
from console.widgets.table import Table
from engine.protocols.diskqueue.pipeline import DriverRow, StageRow


class Pipelines(Screen[None]):
    """The main screen of a pipeline."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.QUEUES)]
    app: Host

    def __init__(self, session: QueueSession) -> None:
        super().__init__()
        self.session = session
        lab = session.lab
        self.paused = False
        self.chosen = 0  # the stage's place
        self.keybar = KeyBar(id="keys")
        self.documents = Documents(id="documents")
        self.drivers = Drivers(id="drivers")
        self._identity = QueueIdentity(lab.system.name, lab.root, lab.demonstration, lab.readonly, id="identity")
        self._banner = Banner(id="banner")
        self._strip = QueueStrip(id="strip")
        self._events = Events(self.name_of, id="events")
        self._newest = NewestEvent(self.name_of, id="newest")
        self._stages = Stages(id="stages")
        self._ledger = QueueLedger(id="ledger")
        self._picture: QueuePicture | None = None

    def compose(self) -> ComposeResult:
        """The panels. The layout (console.tcss) decides which are shown, and where."""
        yield self._identity
        yield self._banner
        yield self._strip
        with Container(id="panels"):
            yield self.documents
            yield self.drivers
            yield self._events
            yield self._stages
        yield self._newest
        yield self._ledger
        yield self.keybar

    def on_mount(self) -> None:
        """Focus the documents."""
        self.documents.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Take the layout that fits; what is hidden has no keyboard."""
        chosen = layout_for(event.size.width, event.size.height)
        for name in LAYOUTS:
            self.set_class(name == chosen, name)
        if chosen == "tiny":
            self.documents.focus()

    def show(self, picture: QueuePicture) -> None:
        """Show a picture; while it is frozen only the identity bar, which says so."""
        if self.paused and self._picture is not None:
            self._identity.show(self._picture, True, self.app.others)
            return
        self._picture = picture
        self._identity.show(picture, False, self.app.others)
        self._banner.show(picture)
        self._ledger.show(picture)
        self._events.show(picture)
        self._newest.show(picture)
        self._show_stage(picture)

    def _show_stage(self, picture: QueuePicture) -> None:
        self.chosen = min(self.chosen, len(picture.view.stages) - 1)
        self._strip.show(picture, self.chosen)
        self._stages.show(picture, self.chosen)
        self.documents.show(picture, self.chosen)
        self.drivers.show(picture, self.chosen)

    def on_key(self, event: events.Key) -> None:
        """Hide the notice: whoever presses a key has read it."""
        self.keybar.hush()

    # ---- the view ---------------------------------------------------------------------------------------------------

    @property
    def stage(self) -> StageRow:
        """The chosen stage."""
        assert self._picture is not None
        return self._picture.view.stages[self.chosen]

    @property
    def table(self) -> Table[Any]:
        """The table with the keyboard."""
        return self.drivers if self.focused is self.drivers else self.documents

    def action_stage(self, step: int) -> None:
        """Choose the stage so many places on."""
        if self._picture is None:
            return
        self.chosen = min(max(0, self.chosen + step), len(self._picture.view.stages) - 1)
        self._show_stage(self._picture)

    def action_pause(self) -> None:
        """Freeze the picture, or go on; the pipeline goes on anyway."""
        self.paused = not self.paused
        self.app.tick()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.table.sort_next()

    def action_sort_reverse(self) -> None:
        """Reverse the sort order."""
        table = self.table
        if table.sort_column is not None:
            table.sort_by(table.sort_column, not table.reverse)

    def action_back(self) -> None:
        """Clear the selection, then the sort order."""
        self.table.sort_column = None
        self.table.release()
        self.app.tick()

    def on_table_chosen(self) -> None:
        """A double click on a row."""
        self.action_details()

    def action_details(self) -> None:
        """All that is known of the chosen document or driver."""
        if self.table is self.drivers:
            driver = self.drivers.chosen()
            if driver is None:
                self.app.say("there is no driver to look at", "warn")
            else:
                self.app.open_screen(DriverScreen(driver))
            return
        document = self.documents.chosen()
        if document is None:
            self.app.say("there is no document to look at", "warn")
        else:
            self.app.open_screen(DocumentScreen(document.id))

    # ---- orders -----------------------------------------------------------------------------------------------------

    def action_retry(self) -> None:
        """Two fresh attempts for the chosen document."""
        document: Document | None = self.documents.chosen()
        if document is None or document.state != "failed twice":
            self.app.say("choose a document that failed twice", "warn")
            return
        retry(self.app, document.queue, document.id)

    def action_pause_stage(self) -> None:
        """Let the drivers of the stage leave, or start them again."""
        if self._picture is None:
            return
        stage = self.stage
        if stage.state in ("paused", "stopped"):
            self.app.order(lambda lab: lab.resume_stage(stage.name), f"{stage.name} goes on")
        else:
            self.app.order(
                lambda lab: lab.pause_stage(stage.name), f"{stage.name} pauses: its drivers finish and leave"
            )

    def action_add_driver(self) -> None:
        """Add a driver to the stage."""
        self._change(1)

    def action_remove_driver(self) -> None:
        """Remove the newest one."""
        self._change(-1)

    def _change(self, step: int) -> None:
        if self._picture is not None:
            stage = self.stage
            self.app.order(lambda lab: lab.set_workers(stage.name, stage.wanted + step))

    def action_kill_driver(self) -> None:
        """Ask, then kill the driver that was asked about, even if the cursor has moved."""
        driver: DriverRow | None = self.drivers.chosen()
        if driver is None:
            self.app.say(f"no driver of {clean(self.stage.name)} runs" if self._picture else "no driver runs", "warn")
        else:
            ask_to_kill(self.app, driver)

    def name_of(self, subject: bytes) -> str:
        """Events about drivers and documents contain their names already."""
        return clean(subject.decode("utf-8", "backslashreplace"))

    def perform(self, command: Command) -> None:
        """One command of the ``:`` line."""
        match command:
            case Command("kill", str(number)):
                self.kill(number)
            case _:
                self.app.perform(command)

    def names_of(self, what: str) -> Sequence[str]:
        """What an argument of a command may be."""
        return [driver.number for driver in self._crew] if what in ("DRIVER", "[TARGET]") else []

    @property
    def _crew(self) -> Sequence[DriverRow]:
        return self._picture.view.drivers if self._picture is not None else ()

    def kill(self, number: str) -> None:
        """Ask, then kill the driver of this number."""
        driver = next((driver for driver in self._crew if driver.number == number), None)
        if driver is None:
            known = ", ".join(driver.number for driver in self._crew) or "none"
            self.app.say(f"no driver {clean(number)!r} · there are {known}", "bad")
        else:
            ask_to_kill(self.app, driver)

    def action_feed(self) -> None:
        """Feed documents; into a pipeline that exists only after a question."""
        lab = self.app.lab
        if lab.demonstration:
            self._feed(True)
        elif not self.app.refused_readonly():
            lines = [clean(lab.root), "They are text files whose names begin with demo; two of them fail on purpose."]
            self.app.push_screen(Confirm("Feed twenty demonstration documents?", lines, "Feed"), self._feed)

    def _feed(self, yes: bool | None) -> None:
        if yes:
            self.app.order(lambda lab: lab.feed_some(), "twenty documents are being fed")
