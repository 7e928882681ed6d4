"""The pipeline as one picture: queues side by side, and between them a stage's drivers, each an arrow.

The rules of this file:

- A queue is a box with its documents by state, a stage the space before the queue that it publishes into.
- The stage that the orders mean stands between triangles.
- Where not all queues fit, those around the chosen stage are shown.
"""

from __future__ import annotations

from textual.strip import Strip

from console import units
from console.pictures.queuebridge import QueuePicture
from console.text import clean, fit
from console.widgets.flow import spark, speed
from console.widgets.ink import Inked, Part, Parts, cells, spread
from engine.protocols.diskqueue.pipeline import Counts, DriverRow, StageRow, StageState

BOX, LANE = 14, 8  # cells at least, of a queue with its border and of what is between two

STATES: dict[StageState, tuple[str, str]] = {
    "running": ("●", "good"),
    "paused": ("◇", "drain"),
    "stopped": ("×", "bad"),
    "done": ("✓", "good"),
}
"""Glyph and ink of a stage; the word is beside them."""

_ITEMS = (("ready", "●", "text"), ("working", "▶", "busy"), ("failed", "◐", "warn"), ("twice", "×", "bad"))


def arrow(driver: DriverRow | None, phase: int, width: int) -> Parts:
    """A driver: its number, and dashes that move while it works on a document; a gap for one that is missing."""
    if driver is None:
        return [("·" * 2 + " " * (width - 2), "faint")]
    number = f" {driver.number} "
    room = max(0, width - len(number) - 2)
    if driver.leaving:
        return [("─", "drain"), (number, "drain"), ("╌" * room + "▷", "drain")]
    if not driver.document:
        return [("─", "faint"), (number, "label"), ("─" * room + "▷", "faint")]
    dashes = "".join("━" if (x - phase // 2) % 6 < 3 else "─" for x in range(room))
    return [("━", "flow"), (number, "flow bold"), (dashes + "▶", "flow")]


def brief(n: int, width: int) -> str:
    """A count in as many digits as fit: ``12,345``, ``12.3k``, ``12k``."""
    text = units.count(n) if len(units.count(n)) <= width else units.short(n)
    if len(text) > width and "." in text:
        text = text[:-1][: width - 1].rstrip(".") + text[-1]
    return text


class QueueStrip(Inked):
    """Queues and stages; one line where there is little room."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._picture: QueuePicture | None = None
        self._chosen = 0
        self._phase: dict[str, int] = {}

    def show(self, picture: QueuePicture, chosen: int) -> None:
        """Show a picture and which stage is chosen; what works moves on."""
        self._picture, self._chosen = picture, chosen
        for stage in picture.view.stages:
            self._phase[stage.name] = self._phase.get(stage.name, 0) + max(1, speed(stage.rate))
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """As many queues as fit."""
        picture = self._picture
        if picture is None:
            return []
        if height < 6 or width < 2 * BOX + LANE:
            return [self.line(self._flat(picture, width), width)]
        count = len(picture.view.queues)
        shown = min(count, (width + LANE) // (BOX + LANE))
        first = min(max(0, self._chosen - (shown - 2) // 2), count - shown)
        box = max(BOX, min(26, width * 3 // 5 // shown))
        room = width - box * shown
        rows: list[Parts] = [[] for _ in range(height)]
        for place in range(shown):
            queue = first + place
            ends = (place == 0 and first > 0, place == shown - 1 and first + shown < count)
            self._append(rows, self._box(picture, queue, box, height, ends))
            if place < shown - 1:
                lane = room * (place + 1) // (shown - 1) - room * place // (shown - 1)
                self._append(rows, self._lane(picture, queue, lane, height))
        return [self.line(row, width) for row in rows]

    @staticmethod
    def _append(rows: list[Parts], more: list[Parts]) -> None:
        for row, parts in zip(rows, more, strict=True):
            row += parts

    # ---- a queue ----------------------------------------------------------------------------------------------------

    def _box(self, picture: QueuePicture, place: int, width: int, height: int, ends: tuple[bool, bool]) -> list[Parts]:
        queue, inner = picture.view.queues[place], width - 2
        mark = " ✓ done " if queue.counts.done and inner >= 18 else " ✓ " if queue.counts.done else ""
        name = fit(clean(queue.name), min(len(queue.name), inner - 3 - len(mark)))
        rule = "─" * (inner - len(name) - 3 - len(mark))
        lines: list[Parts] = []
        pad = " " if inner >= 14 else ""
        room = inner - 2 * len(pad)
        if height >= 7:
            lines.append([(spark(picture.waiting[place], room), "flow" if queue.counts.ready else "faint")])
        last = place == len(picture.view.queues) - 1
        lines += [self._items(queue.counts, item, room, last) for item in range(4)]
        if queue.trouble:
            lines[-1] = [(fit(clean(queue.trouble), room), "bad bold")]
        left, right = "┊" if ends[0] else "│", "┊" if ends[1] else "│"
        ink = "bad bold" if queue.trouble else "text bold"
        top: Parts = [("╭─ ", "frame"), (name, ink), (f" {rule}", "frame"), (mark, "good"), ("╮", "frame")]
        body = [[(left + pad, "frame"), *line, (pad + right, "frame")] for line in lines[: height - 2]]
        blank: Parts = [(left, "frame"), (" " * inner, "text"), (right, "frame")]
        body += [blank] * (height - 2 - len(body))
        return [top, *body, [("╰" + "─" * inner + "╯", "frame")]]

    @staticmethod
    def _items(counts: Counts, item: int, width: int, last: bool) -> Parts:
        name, glyph, ink = _ITEMS[item]
        if last and name == "ready":
            glyph, ink = "✓", "good"
        number = (counts.ready, counts.working, counts.failed, counts.failed_twice)[item]
        if width >= 16 and name == "twice":
            name = "failed twice"
        elif width < 14:
            name = name[:4] if item in (1, 2) else name
        room = width - len(name) - 3
        figure = fit(brief(number, room), room, right=True)
        lit = f"{ink} bold" if number else "faint"
        return [(f"{glyph} ", ink if number else "faint"), (f"{name} ", "label" if number else "faint"), (figure, lit)]

    # ---- a stage ----------------------------------------------------------------------------------------------------

    def _lane(self, picture: QueuePicture, place: int, width: int, height: int) -> list[Parts]:
        stage = picture.view.stages[place]
        drivers: list[DriverRow | None] = [row for row in picture.view.drivers if row.stage == stage.name]
        drivers += [None] * (stage.wanted - len(drivers) if stage.state == "running" else 0)
        inner = width - 2
        lines: list[Parts] = [[], self._title(stage, place == self._chosen, inner), self._pace(stage, inner)]
        room = height - len(lines)
        shown = drivers if len(drivers) <= room else drivers[: room - 1]
        lines += [arrow(driver, self._phase.get(stage.name, 0), inner) for driver in shown]
        if len(drivers) > room:
            more = f"+{len(drivers) - room + 1}"
            lines.append([(fit(f"{more} more" if inner > 8 else more, inner), "label")])
        lines += [[]] * (height - len(lines))
        return [[(" ", "text"), *line, (" " * (width - 1 - cells(line)), "text")] for line in lines]

    @staticmethod
    def _title(stage: StageRow, chosen: bool, width: int) -> Parts:
        name = fit(clean(stage.name), min(len(stage.name), width))
        mark: Part = ("▸", "accent bold") if chosen else (" ", "text")
        return [mark, (name, "accent bold" if chosen else "text bold")]

    @staticmethod
    def _pace(stage: StageRow, width: int) -> Parts:
        glyph, ink = STATES[stage.state]
        rate = f"{units.short(stage.rate)}/s"
        if stage.state != "running":
            words = (f" {glyph} {stage.state}", f"{glyph} {stage.state}", stage.state)
            return [(fit(next((text for text in words if len(text) <= width), stage.state), width + 1), f"{ink} bold")]
        each = f" {units.duration(stage.times.work / stage.docs * 1e6)}" if stage.docs and width >= 14 else ""
        return [(" ", "text"), (rate, "text" if stage.rate else "faint"), (fit(each, width - 1 - len(rate)), "label")]

    # ---- one line ---------------------------------------------------------------------------------------------------

    def _flat(self, picture: QueuePicture, width: int) -> Parts:
        """Queues with what waits, stages as arrows, as many around the chosen one as fit; at the end what failed."""
        books = picture.books
        right: Parts = (
            [(f"× {units.short(books.failed_twice)}", "bad bold"), (" ", "text")] if books.failed_twice else []
        )
        parts: Parts = []
        names = [queue.name for queue in picture.view.queues]
        for first in range(len(names)):
            parts = [(" ", "text")]
            for place in range(first, len(names)):
                if place > first:
                    chosen = place - 1 == self._chosen
                    parts.append((" ▸ " if chosen else " → ", "accent bold" if chosen else "faint"))
                ready = picture.view.queues[place].counts.ready
                parts += [(f"{clean(names[place])} ", "label"), (units.short(ready), "text bold")]
            if cells(parts) + cells(right) < width or first >= self._chosen:
                break
        return spread(parts, right, width)
