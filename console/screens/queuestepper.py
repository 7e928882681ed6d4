"""The stage of disk queues: the pipeline stands, and goes on by one operation, one document, or at a speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from console import keys
from console.history import History
from console.host import Host
from console.pictures.queuebridge import QueuePicture
from console.screens.main import LAYOUTS, layout_for
from console.screens.rehearsal import Rehearsal
from console.screens.typed import Typed
from console.sessions.sandbox import QueueSandboxSession
from console.text import clean
from console.widgets.banner import Banner
from console.widgets.ink import Parts, wrapped
from console.widgets.keybar import KeyBar
from console.widgets.queuelines import QueueLedger
from console.widgets.queuestrip import QueueStrip
from engine.parts.fault import Fault
from engine.protocols.diskqueue.explain import seat_of
from engine.tracing.ladder import TIME
from engine.tracing.links import Arrow, Entry

LANE, LANES = 11, 9  # cells that a lane takes at least, and lanes at most
LOOKS = frozenset({"LIST", "THROTTLE"})
"""What an idle driver asks again and again."""

OWN = (*keys.STEP_QUEUES, *keys.STAGES, *keys.COMMAND, *keys.BACK)


class QueueStepper(Typed, Rehearsal, Screen[None]):
    """Pipeline, ladder, last step and promises."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN)]
    HINT = "n goes on to a document's next name · . lets one operation happen · + lets time pass"
    app: Host
    session: QueueSandboxSession

    def __init__(self, session: QueueSandboxSession, history: History) -> None:
        super().__init__()
        self.make_prompt(history)
        self.make_panels(session, follow=True)  # a document moves at the end of it
        self.ladder.least, self.ladder.most = LANE, LANES
        self.chosen = 1  # the stage's place; in the middle, where most can be seen
        self.keybar = KeyBar(id="keys")
        self._banner = Banner(id="banner")
        self._strip = QueueStrip(id="strip")
        self._ledger = QueueLedger(id="ledger")
        self._picture: QueuePicture | None = None

    def compose(self) -> ComposeResult:
        """The panels; which of them are shown, and where, is the layout's (console.tcss)."""
        yield self.stagebar
        yield self._banner
        yield self._strip
        with Container(id="panels"):
            yield self.last
            yield self.promises
            yield self.ladder
        yield self._ledger
        yield self.keybar
        yield self.prompt

    def on_mount(self) -> None:
        """Titles; the keyboard is the ladder's."""
        self.entitle()
        self.ladder.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Take the layout that fits."""
        chosen = layout_for(event.size.width, event.size.height)
        for name in LAYOUTS:
            self.set_class(name == chosen, name)
        self.call_after_refresh(self.draw)

    def show(self, picture: QueuePicture) -> None:
        """Show a picture, and what led to it."""
        self._picture = picture
        self.stagebar.show(picture)
        self._banner.show(picture)
        self._strip.show(picture, self.chosen)
        self._ledger.show(picture)
        self.ladder.first = self._lanes(picture)
        self.draw()

    def step_lines(self, entries: Sequence[Entry], width: int) -> list[Parts]:
        """Every operation of the step with its answer, and what is asked next."""
        return operation_lines(entries, width)

    def _lanes(self, picture: QueuePicture) -> tuple[str, ...]:
        """What has a lane of its own: all queues and living drivers, where there is room; else the chosen stage's."""
        view = picture.view
        queues = [queue.name for queue in view.queues]
        if self.ladder.size.width - TIME < LANE * (len(queues) + len(view.drivers) + 1):
            queues = queues[self.chosen : self.chosen + 2]
        stages = set(queues) if len(queues) > 2 else set(queues[1:])
        return (*queues, *(seat_of(row.stage, row.number) for row in view.drivers if row.stage in stages))

    def arrows(self) -> list[Arrow]:
        """Without looks that led to nothing but the next look of the same driver."""
        return without_idle(super().arrows())

    def on_key(self, event: events.Key) -> None:
        """Whoever presses a key has read the notice."""
        self.keybar.hush()

    def likeliest(self, fault: Fault) -> str:
        """A driver that has a document, of the chosen stage if there is one; the stage itself; its queue."""
        if self._picture is None:
            return ""
        view = self._picture.view
        stage = view.stages[self.chosen].name
        if "driver" not in fault.targets:
            return stage
        crew = sorted(view.drivers, key=lambda row: (not row.document, row.stage != stage))
        return seat_of(crew[0].stage, crew[0].number) if crew else ""

    def action_stage(self, step: int) -> None:
        """Choose the stage so many places on: its drivers have lanes, and faults mean it."""
        if self._picture is not None:
            self.chosen = min(max(0, self.chosen + step), len(self._picture.view.stages) - 1)
            self.show(self._picture)

    def action_details(self) -> None:
        """The chosen operation."""
        if not self.open_message():
            self.app.say("there is no operation to look at", "warn")

    def on_table_chosen(self) -> None:
        """A double click on a row."""
        self.action_details()

    def action_back(self) -> None:
        """Undo one thing: the choice, else the stage."""
        if self.ladder.cursor is not None:
            self.ladder.release()
        else:
            self.dismiss()


def without_idle(arrows: Sequence[Arrow]) -> list[Arrow]:
    """Arrows, of looks one after another of the same driver only the last."""
    found: list[Arrow] = []
    after: dict[str, Arrow] = {}  # seat → what comes next
    for arrow in reversed(arrows):
        seat = arrow.ends[0].seat
        later = after.get(seat)
        if later is None or arrow.entry.command not in LOOKS or later.entry.command not in LOOKS:
            found.append(arrow)
        after[seat] = arrow
    found.reverse()
    return found


def operation_lines(entries: Sequence[Entry], width: int) -> list[Parts]:
    """Operations with names as they are on the disk, their outcomes and rules, in lines of so many cells.

    What was asked and answered in one step is told once.
    """
    answered = {(entry.seat, tuple(entry.frames)) for entry in entries if entry.direction in ("in", "refused")}
    lines: list[Parts] = []
    for entry in entries:
        fields = dict(entry.fields)
        if entry.direction == "note":
            lines += wrapped([("· ", "label")], f"{clean(entry.seat)}: {clean(fields['text'])}", "label", width)
            continue
        if entry.direction == "out" and (entry.seat, tuple(entry.frames)) in answered:
            continue
        glyph, ink = {"out": ("◌", "label"), "in": ("●", "good"), "refused": ("×", "bad")}[entry.direction]
        first: Parts = [(f"{glyph} ", ink), (f"{clean(entry.source)} → {clean(entry.target)} ", "label")]
        first.append((f"{clean(entry.command)} ", "text bold"))
        names = " ▸ ".join(clean(fields[name]) for name in ("name", "new") if name in fields)
        outcome = "asks" if entry.direction == "out" else fields.get("outcome", "")
        more = ": ".join(clean(fields[name]) for name in ("says", "why", "line") if name in fields)
        words = " · ".join(filter(None, (names, "" if outcome == "done" else clean(outcome), more)))
        lines += wrapped(first, words, "text" if entry.direction != "refused" else "warn", width)
        if entry.violation:
            lines += wrapped([("    × ", "bad bold")], clean(entry.violation), "bad", width)
        if entry.rule:
            lines += wrapped([("    rule ", "label")], clean(entry.rule), "accent", width)
    return lines
