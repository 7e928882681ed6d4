"""Round robin: the seed's worker table as it turns, who is next on top, and the tasks that wait for it."""

from __future__ import annotations

from console import units
from console.pictures.bridge import Picture
from console.pictures.rows import Shown
from console.screens.terms import ProtocolScreen, View, term_lines
from console.terms import beside, titled
from console.text import fit, label
from console.widgets.ink import Parts
from console.widgets.workers import STATES, squares

TURNING = 24  # workers of the table that are drawn
CLIENTS = 6  # whose tasks that wait are drawn
BOXES = 24  # of them at most


class RoundRobin(ProtocolScreen):
    """The table beside what waits; below them the terms of all roles."""

    def lines(self, picture: Picture, width: int) -> list[Parts]:
        """The picture, then the counters."""
        return [*beside(table_lines(picture), waiting_lines(picture), width), [], *term_lines(picture)]


def table_lines(picture: Picture) -> list[Parts]:
    """The workers with a free slot in order, the next one first; a worker that gets a task goes to the bottom."""
    order = picture.broker.order if picture.broker is not None else ()
    rows = {row.worker.key: row for row in picture.rows}
    turning = [rows[key] for key in order if key in rows]
    shown, more = turning[:TURNING], len(turning) - TURNING
    lines: list[Parts] = []
    for place, row in enumerate(shown):
        first, last = place == 0, place == len(shown) - 1 and more <= 0
        rail = "╶─▶ " if first and last else "╭─▶ " if first else "╰── " if last else "│   "
        word = ("next", "good bold") if first else ("was given the last task" if last else "", "label")
        lines.append([(rail, "flow"), *_worker(row), word])
    if more > 0:
        lines.append([("╰── ", "flow"), (f"and {more:,} more", "label")])
    if not shown:
        lines.append([("nobody has a free slot", "warn") if picture.rows else ("no workers", "label")])
    apart = [row for row in picture.rows if row.worker.key not in set(order)]
    if apart and len(order) == len(turning):
        lines += [[], [("not in turn", "accent")]]
        lines += [[("    ", "text"), *_worker(row), (_why(row), "label")] for row in apart[:TURNING]]
    return titled("worker table · the top gets the next task, and goes to the bottom", lines)


def _worker(row: Shown) -> Parts:
    worker = row.worker
    glyph, ink = STATES[worker.state]
    used = worker.slots - worker.free
    return [
        (fit(row.label, 12) + " ", "text bold"),
        *squares(used, worker.slots, 8),
        (fit(f" {used}/{worker.slots}", 8), "text" if used else "label"),
        (f"{glyph} {fit(worker.state, 6)} ", ink),
    ]


def _why(row: Shown) -> str:
    """Why it gets nothing now."""
    worker = row.worker
    if worker.state in ("lost", "drain"):
        return {"lost": "what it held waits again", "drain": "it leaves"}[worker.state]
    return "an INCREMENT frees a slot" if not worker.free else "kept for a task that a lost worker had"


def waiting_lines(picture: Picture) -> list[Parts]:
    """The processing queue by client, a box a task; and the books."""
    broker = picture.broker
    if broker is None:
        return titled("processing queue", [[("the broker is elsewhere", "label")]])
    lines: list[Parts] = []
    for client in [one for one in broker.clients if one.waiting][:CLIENTS]:
        boxes = "■" * min(client.waiting, BOXES) + (" …" if client.waiting > BOXES else "")
        name = fit(picture.name(client.key) or label(client.key), 12)
        oldest = f" {units.age(picture.at - client.oldest)}"
        counts: Parts = [(f" {units.count(client.waiting)}", "text"), (oldest, "label")]
        lines.append([(f"{name} ", "text bold"), (boxes, "warn"), *counts])
    if not lines:
        lines.append([("empty: every task has a worker", "good" if picture.rows else "label")])
    held = units.count(broker.in_flight)
    sums: list[Parts] = [
        [(fit("waits", 13), "label"), (units.count(broker.backlog), "text bold")],
        [(fit("with workers", 13), "label"), (held, "text bold")],
        [(fit("answered", 13), "label"), (units.count(broker.ledger.succeeded), "text bold")],
        [(fit("a second", 13), "label"), (units.short(picture.rates.done), "flow bold")],
    ]
    return [*titled("processing queue · the oldest goes first", lines), *titled("tasks", sums)]


VIEW = View(screen=RoundRobin)
