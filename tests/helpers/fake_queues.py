"""A queue lab without processes: one picture of a pipeline, which a test changes, and the orders that were given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from console.app import Console
from console.kinds import session_of
from engine.core import Level, Note
from engine.drive.pipelineview import DocumentView, Place
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.content import QueueLab
from engine.labs.health import Health
from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.config import DriverTimes
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Counts, DocumentRow, DriverRow, Holder, PipelineView, QueueRow, StageRow
from engine.protocols.diskqueue.transitions import Line
from engine.tracing.operations import Operations
from tests.helpers.fake_lab import HEALTHY, FakeSettings
from tests.helpers.settle import QuietPilot, comes

EPOCH = 1_750_000_000.0  # wall clock of the picture
EVIL = "[/red]\x1b[2J\u202e.txt"  # an id that steers terminals and markup
TIMES = DriverTimes(6.0, 3.0, 1.0, 0.0, 20)


def a_view(**changes: Any) -> PipelineView:
    """Four queues, three stages, six drivers; 62 documents, one of which was given up."""
    queues = (
        QueueRow(
            "start", "", Counts(ready=12, working=1), "",
            (Holder("doc-40", "working", "1"), Holder("doc-41", "ready", "")),
        ),
        QueueRow(
            "values", "", Counts(ready=2, working=2, failed=1, failed_twice=1), "",
            (
                Holder("doc-30", "working", "2"), Holder("doc-31", "working", "3"),
                Holder("doc-09", "failed_twice", ""),
                Holder("doc-25", "failed", ""), Holder("doc-33", "ready", ""), Holder(EVIL, "ready", ""),
            ),
        ),
        QueueRow("parse", "", Counts()),
        QueueRow("output", "", Counts(ready=43)),
    )  # fmt: skip
    stages = (
        StageRow("values", "running", "", 1, 1, 0, 49, 4.0, TIMES),
        StageRow("parse", "running", "", 3, 3, 2, 48, 3.5, TIMES),
        StageRow("output", "running", "", 2, 2, 0, 43, 3.4, TIMES._replace(docs=0)),
    )
    drivers = tuple(
        DriverRow(number, stage, 4000 + int(number), EPOCH - 60, 18 * 2**20, 2.0, document, TIMES, number == "4")
        for number, stage, document in (
            ("1", "values", "doc-40"), ("2", "parse", "doc-30"), ("3", "parse", "doc-31"), ("4", "parse", ""),
            ("5", "output", ""), ("6", "output", ""),
        )
    )  # fmt: skip
    rows = (
        DocumentRow(EPOCH - 9, "values", "1", "doc-09", "published", 1, 150.0, ""),
        DocumentRow(EPOCH - 8, "parse", "2", "doc-09", "failed", 1, 400.0, "no good"),
        DocumentRow(EPOCH - 7, "parse", "3", "doc-09", "failed_twice", 2, 410.0, "no good at all"),
        DocumentRow(EPOCH - 6, "parse", "3", "doc-25", "failed", 1, 390.0, "said [/red]\x1b"),
        DocumentRow(EPOCH - 5, "parse", "2", "doc-31", "failed", 1, 390.0, "once"),
        DocumentRow(EPOCH - 4, "parse", "2", "doc-28", "published", 1, 401.0, ""),
        DocumentRow(EPOCH - 3, "parse", "3", "doc-29", "published", 2, 402.0, ""),
    )
    return PipelineView(EPOCH, "", "running", queues, stages, drivers, rows)._replace(**changes)


class FakeQueues(QueueLab):
    """A queue lab; ``orders``: what was asked; ``refusal`` refuses it all."""

    def __init__(self, view: PipelineView | None = None, *, readonly: bool = False, demonstration: bool = True) -> None:
        self.root = "/srv/pipeline"
        self.demonstration, self.readonly = demonstration, readonly
        self.started, self.at = 900.0, 1000.0
        self.feed = Feed()
        self.inspected: DocumentView | None = None
        self.picture = view or a_view()
        self.documents = 62
        self.state = HEALTHY
        self.orders: list[tuple[Any, ...]] = []
        self.traces: list[Operations] = []
        self.told = (0.0, 0)
        self.system, self.options = SYSTEM, Options()
        self.refusal = ""
        self.fact("a pipeline of values 1, parse 3, output 2")

    def fact(self, text: str, level: Level = "info") -> None:
        self.feed.fact(Note(level, text), "watchdog", EPOCH)

    def fed(self, at: float) -> int:
        return self.documents

    def health(self) -> Health:
        return self.state

    def view(self) -> PipelineView:
        return self.picture

    def output(self, number: str) -> str:
        return f"12:00:00 info {number} starts\n\x1b[2Jsteers\n"

    def attach(self, trace: Operations) -> None:
        self._order("attach")
        self.traces.append(trace)

    def detach(self, trace: Operations) -> None:
        if trace in self.traces:
            self.traces.remove(trace)

    def listening(self) -> tuple[float, int]:
        return self.told

    def inspect(self, id: str) -> None:
        self.orders.append(("inspect", id))
        places = (Place("values", "failed_twice", ""), Place("values", "kept", "")) if id == "doc-09" else ()
        lines = (("values", Line("fail", 1, "2", EPOCH, "no good")), ("values", Line("begin", 2, "3", EPOCH, "")))
        self.inspected = DocumentView(id, places, lines if id == "doc-09" else (), ()) if id else None

    def _order(self, *order: Any) -> None:
        if self.refusal:
            raise Refused(self.refusal)
        self.orders.append(order)

    def set_workers(self, stage: str, workers: int) -> None:
        self._order("set_workers", stage, workers)

    def pause_stage(self, stage: str) -> None:
        self._order("pause_stage", stage)

    def resume_stage(self, stage: str) -> None:
        self._order("resume_stage", stage)

    def kill_driver(self, number: str) -> None:
        self._order("kill_driver", number)

    def retry(self, queue: str, id: str) -> None:
        self._order("retry", queue, id)

    def feed_files(self, paths: Sequence[str]) -> None:
        self._order("feed_files", list(paths))

    def feed_some(self) -> None:
        self._order("feed_some")


class QueueDriver:
    """What a scenario holds: the lab, the console, and hands."""

    def __init__(self, lab: FakeQueues, app: Console, pilot: Pilot[None]) -> None:
        self.lab, self.app, self.pilot = lab, app, pilot

    async def press(self, *keys: str) -> None:
        """Press keys."""
        for key in keys:
            await self.pilot.press(key)
        await self.pilot.pause()

    async def command(self, line: str) -> None:
        """Enter a command."""
        await self.press("colon")
        self.app.screen.query_one(Input).value = line
        await self.press("enter")

    async def tick(self) -> None:
        """Let the screen refresh."""
        self.lab.at += 0.25
        self.app.tick()
        await self.pilot.pause()

    def screen(self) -> list[str]:
        """What stands on the screen, line by line."""
        width, _ = self.app.size
        strips = self.app.screen._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in strip)[:width] for strip in strips]

    def shows(self, text: str) -> bool:
        """Whether a text stands on the screen."""
        return any(text in line for line in self.screen())

    async def sees(self, text: str) -> None:
        """Wait until a text stands on the screen."""
        assert await comes(lambda: self.shows(text)), "\n".join([f"{text} never came", self.notice, *self.screen()])

    @property
    def notice(self) -> str:
        """What the first screen's last line says."""
        notice: str = self.app.main.keybar.notice
        return notice


def drive_queues(
    scenario: Callable[[QueueDriver], Awaitable[None]],
    folder: Path,
    lab: FakeQueues | None = None,
    size: tuple[int, int] = (120, 36),
) -> Console:
    """Run a scenario to its end; the console, after it was left."""
    fake = lab or FakeQueues()
    session = session_of("diskqueue", fake)
    app = Console(None, session, FakeSettings(folder), clock=lambda: fake.at)

    async def run() -> None:
        async with app.run_test(size=size):
            driver = QueueDriver(fake, app, QuietPilot(app))
            await driver.tick()
            await scenario(driver)

    asyncio.run(run())
    return app
