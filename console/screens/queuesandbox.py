"""The sandbox of disk queues: time goes on by one operation, by one document, or at a speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from console import keys
from console.commands import Command
from console.host import Host
from console.pictures.queuebridge import QueuePicture
from console.screens.main import LAYOUTS, layout_for
from console.screens.virtualtime import VirtualTime
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
"""Operations that an idle driver repeats."""

OWN = (*keys.STEP_QUEUES, *keys.STAGES, *keys.COMMAND, *keys.BACK)


class QueueSandboxScreen(VirtualTime, Screen[None]):
    """Pipeline, ladder, last step and promises."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN)]
    HINT = "n steps to a document's next name · . steps to the next operation · + lets time pass"
    app: Host
    session: QueueSandboxSession

    def __init__(self, session: QueueSandboxSession) -> None:
        super().__init__()
        self.make_panels(session, follow=True)  # a document moves at the end of it
        self.ladder.least, self.ladder.most = LANE, LANES
        self.chosen = 1  # the stage's place; in the middle, where most can be seen
        self.keybar = KeyBar(id="keys")
        self._banner = Banner(id="banner")
        self._strip = QueueStrip(id="strip")
        self._ledger = QueueLedger(id="ledger")
        self._picture: QueuePicture | None = None

    def compose(self) -> ComposeResult:
        """The panels. The layout (console.tcss) decides which are shown, and where."""
        yield self.timebar
        yield self._banner
        yield self._strip
        with Container(id="panels"):
            yield self.last
            yield self.promises
            yield self.ladder
        yield self._ledger
        yield self.keybar

    def on_mount(self) -> None:
        """Set the titles; focus the ladder."""
        self.entitle()
        self.ladder.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout that fits."""
        chosen = layout_for(event.size.width, event.size.height)
        for name in LAYOUTS:
            self.set_class(name == chosen, name)
        self.call_after_refresh(self.draw)

    def show(self, picture: QueuePicture) -> None:
        """Show a picture, and the step that led to it."""
        self._picture = picture
        self.timebar.show(picture)
        self._banner.show(picture)
        self._strip.show(picture, self.chosen)
        self._ledger.show(picture)
        self.ladder.first = self._lanes(picture)
        self.draw()

    def step_lines(self, entries: Sequence[Entry], width: int) -> list[Parts]:
        """The operations of one step with their results."""
        return operation_lines(entries, width)

    def _lanes(self, picture: QueuePicture) -> tuple[str, ...]:
        """Who has a lifeline: all queues and drivers if there is room, else those of the selected stage."""
        view = picture.view
        queues = [queue.name for queue in view.queues]
        if self.ladder.size.width - TIME < LANE * (len(queues) + len(view.drivers) + 1):
            queues = queues[self.chosen : self.chosen + 2]
        stages = set(queues) if len(queues) > 2 else set(queues[1:])
        return (*queues, *(seat_of(row.stage, row.number) for row in view.drivers if row.stage in stages))

    def arrows(self) -> list[Arrow]:
        """Arrows without the idle operations that the same driver repeated."""
        return without_idle(super().arrows())

    def on_key(self, event: events.Key) -> None:
        """Hide the notice: whoever presses a key has read it."""
        self.keybar.hush()

    def likeliest(self, fault: Fault) -> str:
        """A driver that has a document, best one of the selected stage; else the stage."""
        if self._picture is None:
            return ""
        view = self._picture.view
        stage = view.stages[self.chosen].name
        if "driver" not in fault.targets:
            return stage
        crew = sorted(view.drivers, key=lambda row: (not row.document, row.stage != stage))
        return seat_of(crew[0].stage, crew[0].number) if crew else ""

    def action_stage(self, step: int) -> None:
        """Select the stage so many places on. Its drivers get lifelines, and faults apply to it."""
        if self._picture is not None:
            self.chosen = min(max(0, self.chosen + step), len(self._picture.view.stages) - 1)
            self.show(self._picture)

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

    def action_details(self) -> None:
        """Open the selected operation."""
        if not self.open_message():
            self.app.say("select an operation first", "warn")

    def on_table_chosen(self) -> None:
        """A double click on a row."""
        self.action_details()

    def action_back(self) -> None:
        """Clear the selection; then leave the sandbox."""
        if self.ladder.cursor is not None:
            self.ladder.release()
        else:
            self.dismiss()


def without_idle(arrows: Sequence[Arrow]) -> list[Arrow]:
    """Arrows; of idle operations that one driver repeats, only the last."""
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
    """Operations with the names on the disk, results and rules, in lines of ``width`` cells.

    An operation that was started and ended in one step is shown once.
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
