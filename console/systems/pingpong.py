"""Ping-pong: who shows whom that it is alive, as both sides see it."""

from __future__ import annotations

from console import units
from console.pictures.bridge import Picture
from console.pictures.rows import Shown
from console.screens.terms import ProtocolScreen, View, term_lines
from console.terms import column, countdown, term
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.table import Column
from console.widgets.workers import STATES, gauge, with_own
from engine.parts.view import WorkerView

ALIVE = {"alive": "good", "quiet": "warn", "unknown": "label"}
"""A worker's view of its broker, and its ink."""

SHOWN = 16  # workers of the ready queue

WIDE = 110  # cells that all take of it; with less, a worker's line leaves out what the main screen shows as well


def _expires(row: Shown, now: float, cells: int) -> Parts:
    text, ink = countdown(row.worker.lost_at, now)
    return [(fit(text, cells, right=True), ink)]


COLUMNS: tuple[Column[Shown], ...] = (
    Column("expires", "lost in", 7, lambda row: row.worker.lost_at, _expires, need=2, right=True),
    column(
        "judged", "judged by", 9, 3, lambda judge: "busy" if judge == "deadline" else "label", term_name="judged by"
    ),
)


class PingPong(ProtocolScreen):
    """The broker's view of each worker beside that worker's view of the broker."""

    def lines(self, picture: Picture, width: int) -> list[Parts]:
        """A line a worker, then the terms."""
        wide = width >= WIDE
        head = f"{'worker':14}{'as the broker sees it':{37 if wide else 24}}" + "as it sees the broker"
        lines: list[Parts] = [[(head if wide else f"{head} · timeouts", "label")]]
        lines += [_both(row, picture, wide) for row in picture.rows]
        if not picture.rows:
            lines.append([("no workers", "label")])
        return [*lines, [], *_ready(picture), [], *term_lines(picture)]


def _ready(picture: Picture) -> list[Parts]:
    """The ready queue: who gets the next tasks, in this order."""
    order = picture.broker.order if picture.broker is not None else ()
    lines: list[Parts] = [[("ready queue", "accent bold"), ("  the first gets the next task", "label")]]
    for place, key in enumerate(order[:SHOWN], 1):
        lines.append([(fit(f"{place}", 3, right=True), "label"), (f" {clean(picture.name(key))}", "text")])
        if place == 1:
            lines[-1].append(("  next", "good"))
    return lines


def _both(row: Shown, picture: Picture, wide: bool) -> Parts:
    worker = row.worker
    glyph, ink = STATES[worker.state]
    text, left_ink = countdown(worker.lost_at, picture.at)
    span = worker.lost_at - worker.heard
    left = (worker.lost_at - picture.at) / span if 0 < span < 1e6 else 0.0
    seen: Parts = [
        (fit(row.label, 13) + " ", "text bold"),
        (f"{glyph} ", ink),
        (fit(worker.state, 7), ink),
        *gauge(left, 8, left_ink if left_ink == "warn" else "good"),
        (fit(f" {text}", 6), left_ink),
    ]
    if wide:
        seen.append((fit(f"by {term(worker.terms, 'judged by')}", 12), "label"))
    own = picture.own(worker.key)
    if own is None:
        return [*seen, (" elsewhere", "label")]
    view = term(own.terms, "broker")
    told = f"{term(own.terms, 'timeouts')} · reopens in {term(own.terms, 'reopens in')}"
    clock: Parts = []
    if wide:
        clock = _clock(own, view)
        told = f"heard {units.age(own.at - own.broker_heard)} ago · timeouts {term(own.terms, 'timeouts')}"
    return [
        *seen,
        *clock,
        (f" {'●' if view == 'alive' else '◌'} {fit(view, 8)}", ALIVE.get(view, "text")),
        (clean(told), "label"),
    ]


def _clock(own: WorkerView, view: str) -> Parts:
    """The worker's clock runs down from the other side: at 0 it takes the broker for gone and opens a new link."""
    reopens = term(own.terms, "reopens in").split(" ")[0]
    left = float(reopens) if reopens.replace(".", "").isdecimal() else 0.0
    whole = left + max(0.0, own.at - own.broker_heard)
    parts = gauge(left / whole if whole else 0.0, 8, ALIVE.get(view, "text"))
    turned: Parts = [(text.replace("╸", "╺")[::-1], ink) for text, ink in reversed(parts)]
    return [("⇄ ", "label"), (fit(units.age(left), 5), ALIVE.get(view, "text")), *turned]


VIEW = View(with_own(COLUMNS, without=("rtt", "slots", "in-flight")), PingPong)
"""A worker has one slot: its state says whether it holds a task."""
