"""The sandbox of disk queues: time goes on by one operation, by one document, or at a speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from console import keys
from console.pictures.queuebridge import QueuePicture
from console.screens.overview import StageOverview
from console.screens.virtualtime import VirtualTime
from console.sessions.sandbox import SandboxSession
from console.text import clean
from console.widgets.ink import Parts, wrapped
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


class QueueSandboxScreen(VirtualTime, StageOverview):
    """Pipeline, ladder, last step and promises."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings(OWN)]
    HINT = "n steps to a document's next name · . steps to the next operation · + lets time pass"
    session: SandboxSession
    _picture: QueuePicture | None
    chosen = 1  # in the middle, where most can be seen

    def __init__(self, session: SandboxSession) -> None:
        super().__init__(session)
        self.make_panels(session, follow=True)  # a document moves at the end of it
        self.ladder.least, self.ladder.most = LANE, LANES
        self._strip = QueueStrip(id="strip")
        self._ledger = QueueLedger(id="ledger")
        self.head = self.timebar
        self.above, self.panels, self.below = (self._strip,), (self.last, self.promises, self.ladder), (self._ledger,)

    def on_mount(self) -> None:
        """Focus the ladder."""
        self.ladder.focus()

    def identify(self, picture: QueuePicture) -> None:
        """Show its time."""
        self.timebar.show(picture)

    def fill(self, picture: QueuePicture) -> None:
        """Show a picture, and the step that led to it."""
        self._ledger.show(picture)
        self.show_stage(picture)

    def show_stage(self, picture: QueuePicture) -> None:
        """Show the chosen stage: its drivers get lifelines, and faults apply to it."""
        self._strip.show(picture, self.chosen)
        self.ladder.first = self._lanes(picture)
        self.draw()

    def step_lines(self, entries: Sequence[Entry], width: int) -> list[Parts]:
        """The operations of one step with their results."""
        return operation_lines(entries, width)

    def _lanes(self, picture: QueuePicture) -> tuple[str, ...]:
        """The lifelines: all queues and drivers if there is room, else those of the selected stage."""
        view = picture.view
        queues = [queue.name for queue in view.queues]
        if self.ladder.size.width - TIME < LANE * (len(queues) + len(view.drivers) + 1):
            queues = queues[self.chosen : self.chosen + 2]
        stages = set(queues) if len(queues) > 2 else set(queues[1:])
        return (*queues, *(seat_of(row.stage, row.number) for row in view.drivers if row.stage in stages))

    def arrows(self) -> list[Arrow]:
        """Arrows without the idle operations that the same driver repeated."""
        return without_idle(super().arrows())

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

    def action_details(self) -> None:
        """Open the selected operation."""
        if not self.open_message():
            self.app.say("select an operation first", "warn")

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
