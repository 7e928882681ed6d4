"""The trace and the ladder: every message of the system on the screen, in words or as arrows.

A trace is attached to the lab when such a screen is first opened, and goes on in the background when it is closed:
what is done on other screens is seen later. Its cost is shown in the frame; ``:trace off`` ends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content

from console import keys, units
from console.history import History
from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.queuebridge import QueuePicture
from console.screens.filterline import FilterLine
from console.screens.layer import Layer
from console.screens.message import life_lines, message_lines
from console.screens.page import Page
from console.screens.recording import explain
from console.sessions.cost import KEPT
from console.sessions.session import Session
from console.text import clean
from console.widgets.keybar import KeyBar
from console.widgets.messages import LadderTable, MessageLine, TraceTable
from console.widgets.pager import Pager
from console.widgets.prompt import Prompt
from console.widgets.table import Column
from engine.files import personal
from engine.parts.explain import DOCUMENT
from engine.tracing.filter import BadFilter, Filter, parse
from engine.tracing.ladder import LANES, ladder, svg, text
from engine.tracing.links import Arrow
from engine.tracing.ring import Ring

LEAST = 100  # of them, the newest, that are looked at; more where that goes quickly
QUICK = 0.03  # seconds that one look may take: engines run in this process too
HELD = 0.4  # seconds that the one look at a list that is held may take
ROWS = 1_000  # of what was found, the newest, that are listed
EXPORTED = 2_000  # arrows of a ladder that are exported, the newest


def fitting(limit: int, took: float, most: float) -> int:
    """How many messages the next look may take in: one at ``limit`` took so many seconds, of ``most``."""
    if took > most:
        return max(LEAST, int(limit * most / took))
    return min(KEPT, 2 * limit) if took < most / 2 else limit


class Messages(FilterLine, Layer):
    """A table of messages over the one that is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.MESSAGES, *keys.RUNS))]
    TITLE_WORD: ClassVar[str] = ""
    app: Host

    def __init__(self, session: Session[Any], history: History, table: TraceTable | LadderTable) -> None:
        super().__init__()
        self.listened, self.table = session, table
        self.trace: Ring[Any] = session.trace or session.listen()
        self.paused = False
        self.message_filter: Filter | None = None
        self._arrows: list[Arrow] = []
        self._limit = LEAST  # messages that the next look takes in
        self._looked_at = 0  # messages that the last one did
        self._before: int | None = None  # where a list that is held ends
        self._named = 0
        self.keybar = KeyBar(id="keys")
        self.pane = Pager(id="message")
        self.prompt = Prompt(history, id="prompt")

    def compose(self) -> ComposeResult:
        """The table, the chosen message, the key bar or the filter."""
        with Vertical(id="messages"):
            yield self.table
            yield self.pane
        yield self.keybar
        yield self.prompt

    def on_mount(self) -> None:
        """Begin to listen."""
        self.prompt.display = False
        self.pane.border_title = Content("message")
        self.table.focus()
        self._begin()

    def _zero(self) -> float | None:
        """When second 0 was, for times of the day as events have them; None where times count from then."""
        return None if self.app.relative else self.listened.zero(self.app.wall(), self.app.clock())

    def _title(self) -> None:
        """What this is, and what its times mean."""
        began = self.listened.zero(self.app.wall(), self.app.clock())
        times = units.second_0(began) if self.app.relative else units.zone(began)
        self.table.border_title = Content(f"{self.TITLE_WORD} · {clean(self.listened.lab.system.name)} · {times}")

    def _begin(self) -> None:
        """Attach the trace, unless the session has one already."""
        if self.listened.trace is None:
            self.listened.trace = self.trace
            self._order(lambda lab: lab.attach(self.trace))

    def _order(self, give: Callable[[Any], None]) -> None:
        self.app.order(give, session=self.listened)

    def show(self, picture: Picture | QueuePicture) -> None:
        """Show what was said until now."""
        if len(picture.rows) != self._named:
            self._named = len(picture.rows)
            for row in picture.rows:
                self.trace.named(row.worker.key, row.label)
        if not self.paused:
            self._look()
        self._draw()

    def _look(self) -> None:
        """Look at as many messages as can be read quickly; with little traffic that soon is all."""
        began = time.perf_counter()
        found = self.trace.arrows(self.message_filter, self._limit, self._before)
        took = time.perf_counter() - began
        self._arrows, self._looked_at = found[-ROWS:], min(self._limit, len(self.trace))
        self._limit = fitting(self._limit, took, HELD if self.paused else QUICK)

    def _draw(self) -> None:
        started, zero = self.listened.lab.started, self._zero()
        self._title()
        if isinstance(self.table, LadderTable):
            self.table.order = self.trace.lanes
        self.table.set_arrows(self._arrows, started, zero)
        wanted = f" · /{clean(self.message_filter.text)}" if self.message_filter is not None else ""
        held = " · held" if self.paused else ""
        cost = f" · {words}" if (words := self.trace.cost()) else ""
        newest = f" · newest {self._looked_at:,} looked at" if self._looked_at < len(self.trace) else ""
        some = units.several(len(self._arrows), "message")
        noted = f"{some} · noted {units.several(self.trace.total, 'time')}"  # by sender or receiver
        shown = f"{noted}{newest}{wanted}{held}{cost}"
        self.table.border_subtitle = Content(f" {shown} ")
        told = self.table.current()
        lines = message_lines(told.arrow, started, zero) if told is not None else []
        self.pane.set_lines(lines)

    def redraw(self) -> None:
        """Look again, also while the list is held."""
        self._look()
        self._draw()

    def on_tail_moved(self) -> None:
        """Another message is chosen."""
        self._draw()

    # ---- keys -------------------------------------------------------------------------------------------------------

    def action_back(self) -> None:
        """Clear the filter, then the selection; then close the screen."""
        if self.message_filter is not None:
            self.message_filter = None
            self.redraw()
        elif self.table.cursor is not None:
            self.table.release()
            self._draw()
        else:
            self.dismiss()

    def action_pause(self) -> None:
        """Hold the list, with as much of the ring as can be looked at without a wait that is felt; or go on."""
        self.paused = not self.paused
        self._before = self.trace.total + 1 if self.paused else None
        self._limit = self._limit * round(HELD / QUICK) if self.paused else LEAST
        self.redraw()

    def action_message(self) -> None:
        """The chosen message to its last byte."""
        told = self.table.chosen()
        if told is None:
            self.app.say("there is no message to look at", "warn")
        else:
            self.app.open_screen(Page("message", message_lines(told.arrow, self.listened.lab.started, self._zero())))

    def on_table_chosen(self) -> None:
        """A double click on a row."""
        self.action_message()

    def action_follow(self) -> None:
        """One task from its client and back."""
        told = self.table.chosen()
        task = told.arrow.task if told is not None else None
        if task is None:
            self.app.say("this message is about no task", "warn")
            return
        started = self.listened.lab.started
        title = "a document's life" if task[0] == DOCUMENT else "a task's life"
        self.app.open_screen(Page(title, [], lambda _: life_lines(self.trace.follow(task), started, self._zero())))

    def action_why(self) -> None:
        """Show why the receiver of this message was chosen."""
        told, lab = self.table.chosen(), self.listened.lab
        explain(self.app, lambda: lab.why(told.arrow if told is not None else None))

    # ---- the filter -------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a line is typed, keys are text. Only a recording can answer why."""
        if action == "why":
            return self.listened.mode == "replay"
        return not (action == "filter" and self.prompt.display)

    @property
    def listed(self) -> TraceTable | LadderTable:
        """The messages."""
        return self.table

    @property
    def filtered(self) -> str:
        """The filter of the messages."""
        return self.message_filter.text if self.message_filter else ""

    def try_filter(self, text: str) -> str:
        """A filter holds once it is entered: to look for it at each key would take too long."""
        try:
            parse(text)
        except BadFilter as bad:
            return str(bad)
        return ""

    def perform_filter(self, text: str) -> None:
        """Set a filter, or none."""
        try:
            self.message_filter = parse(text) if text else None
        except BadFilter as bad:
            self.app.say(str(bad), "bad")
        self.redraw()


class TraceScreen(Messages):
    """Messages in words."""

    TITLE_WORD = "trace"

    def __init__(self, session: Session[Any], history: History, columns: tuple[Column[MessageLine], ...]) -> None:
        super().__init__(session, history, TraceTable(columns, id="table"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a ladder is exported."""
        return action != "export" and super().check_action(action, parameters)


class LadderScreen(Messages):
    """Messages as arrows."""

    TITLE_WORD = "ladder"

    def __init__(self, session: Session[Any], history: History) -> None:
        table = LadderTable(id="table")
        table.first = ("client", "broker")
        super().__init__(session, history, table)

    def action_export(self) -> None:
        """What fits the filter, the newest of it, as text and SVG."""
        diagram = ladder(self.trace.arrows(self.message_filter)[-EXPORTED:], LANES, order=self.trace.lanes)
        if not diagram.rows:
            self.app.say("there is nothing to export", "warn")
            return
        folder: Path = self.app.settings.state_folder / "ladders"
        name = f"{self.listened.lab.system.name}-{datetime.now():%Y%m%d-%H%M%S}"
        try:
            personal.keep(folder / f"{name}.txt", ("\n".join(text(diagram, 160)) + "\n").encode())
            personal.keep(folder / f"{name}.svg", svg(diagram).encode())
        except OSError as error:
            self.app.say(f"the ladder can not be written: {error}", "bad")
        else:
            self.app.say(f"{units.count(len(diagram.rows))} arrows in {folder / name}.txt and .svg", "good")
