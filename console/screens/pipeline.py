"""The main screen of disk queues: all panels, and all orders.

← and → select a stage. The tables show its drivers and documents, and orders apply to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType

from console import files, keys, units
from console.commands import Command
from console.pictures.queuebridge import Document, QueuePicture
from console.screens.charts import Charts
from console.screens.confirm import Confirm
from console.screens.document import DocumentScreen
from console.screens.driver import DriverScreen
from console.screens.orders import ask_to_kill, retry
from console.screens.overview import StageOverview, layout_for
from console.sessions.session import Session
from console.text import clean
from console.widgets.chart import Done, Waiting
from console.widgets.documents import Documents
from console.widgets.drivers import Drivers
from console.widgets.events import Events, NewestEvent
from console.widgets.queuelines import QueueIdentity, QueueLedger
from console.widgets.queuestrip import QueueStrip
from console.widgets.stages import Stages
from console.widgets.table import Table
from engine.labs.content import QueueLab
from engine.protocols.diskqueue.pipeline import DriverRow, StageRow


class Pipelines(StageOverview):
    """The main screen of a pipeline."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(keys.QUEUES)]
    _picture: QueuePicture | None

    def __init__(self, session: Session[QueueLab]) -> None:
        super().__init__(session)
        lab = session.lab
        self.documents = Documents(id="documents")
        self.drivers = Drivers(id="drivers")
        self.head = self._identity = QueueIdentity(
            lab.system.name, lab.root, lab.demonstration, lab.readonly, id="identity"
        )
        self._strip = QueueStrip(id="strip")
        self._events = Events(self.name_of, id="events")
        self._newest = NewestEvent(self.name_of, id="newest")
        self._stages = Stages(id="stages")
        self._ledger = QueueLedger(id="ledger")
        self.above = (self._strip,)
        self.panels = (self.documents, self.drivers, self._events, self._stages)
        self.below = (self._newest, self._ledger)

    def on_mount(self) -> None:
        """Focus the documents."""
        self.documents.focus()

    def on_resize(self, event: events.Resize) -> None:
        """What is hidden has no keyboard."""
        if layout_for(event.size.width, event.size.height) == "tiny":
            self.documents.focus()

    def identify(self, picture: QueuePicture) -> None:
        """Show who this is, and whether the picture is frozen."""
        self._identity.alerts = self.app.firing
        self._identity.show(picture, self.paused, self.app.others)

    def fill(self, picture: QueuePicture) -> None:
        """Show a picture in all panels."""
        self._ledger.show(picture)
        self._events.show(picture)
        self._newest.show(picture)
        self.show_stage(picture)

    def show_stage(self, picture: QueuePicture) -> None:
        """Show the chosen stage."""
        self.chosen = min(self.chosen, len(picture.view.stages) - 1)
        self._strip.show(picture, self.chosen)
        self._stages.show(picture, self.chosen)
        self.documents.show(picture, self.chosen)
        self.drivers.show(picture, self.chosen)

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

    def action_back(self) -> None:
        """Clear the selection, then the sort order."""
        self.table.sort_column = None
        self.table.release()
        self.app.tick()

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

    def action_charts(self) -> None:
        """Documents done and waiting over time."""
        self.app.open_screen(Charts((Done(), Waiting())))

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

    def perform(self, command: Command) -> None:
        """One command of the ``:`` line."""
        if command.name != "feed":
            super().perform(command)
            return
        try:
            paths = files.read(str(command.argument))
        except ValueError as error:
            self.app.say(f"feed: {error}", "bad")
            return
        many = units.several(len(paths), "file")
        self.app.order(lambda lab: lab.feed_files(paths), f"{many} being fed; events tell how it went", destroys=True)

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
