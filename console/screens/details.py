"""One worker's details: routing id, tasks, counters, violations."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content

from console import keys, units
from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.rows import Shown, short_name
from console.screens.layer import Layer
from console.screens.orders import ask_to_drain, ask_to_stop
from console.terms import lines_of
from console.text import clean, fit, label, true_bytes
from console.widgets.events import GLYPHS
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.pager import Pager
from console.widgets.workers import STATES, squares
from engine.core import NEVER
from engine.parts.view import Detail, TaskRow, WorkerRow, WorkerView

_NAME = 14  # cells of the names on the left


class Details(Layer):
    """Follows its worker by key for as long as it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.STOP))]
    app: Host

    def __init__(self, row: Shown) -> None:
        super().__init__()
        self._row = row

    def compose(self) -> ComposeResult:
        """Three panels."""
        with Container(id="details"):
            yield Pager(id="worker")
            yield Pager(id="tasks")
            yield Pager(id="incidents")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Ask the broker for the details of this one."""
        self._session = self.app.session
        for name, title in (
            ("worker", f"worker {self._row.label}"),
            ("tasks", "in flight"),
            ("incidents", "violations"),
        ):
            self.query_one(f"#{name}", Pager).border_title = Content(title)
        self.query_one("#tasks").focus()
        self.app.order(lambda lab: lab.inspect(self._row.worker.key))

    def on_unmount(self) -> None:
        """Stop listening."""
        self.app.order(lambda lab: lab.inspect(None), session=self._session)

    def show(self, picture: Picture) -> None:
        """Show a picture; also while the main screen is paused."""
        key = self._row.worker.key
        here = next((row for row in picture.rows if row.worker.key == key), None)
        self._row = here or self._row
        detail = picture.broker.detail if picture.broker else None
        if detail is not None and detail.key != key:
            detail = None
        who = self.query_one("#worker", Pager)
        own = picture.own(key)
        who.set_lines(
            [*worker_lines(self._row, picture.at, detail, here is None, who.size.width), *own_lines(own, picture.at)]
        )
        tasks = task_lines(detail, picture)
        self.query_one("#tasks", Pager).set_lines(tasks)
        self.query_one("#incidents", Pager).set_lines(incident_lines(detail, picture))
        self.query_one("#details").set_class(detail is None or not detail.incidents, "spotless")

    def action_back(self) -> None:
        """Go back to the main screen."""
        self.dismiss()

    def action_stop_worker(self) -> None:
        """Ask, then stop this worker."""
        ask_to_stop(self.app, self._row)

    def action_drain_worker(self) -> None:
        """Ask, then have the broker drain this worker."""
        ask_to_drain(self.app, self._row)


def _field(name: str, *value: tuple[str, str]) -> Parts:
    return [(fit(name, _NAME), "label"), *value]


def worker_lines(row: Shown, now: float, detail: Detail | None, gone: bool, width: int) -> list[Parts]:
    """Identity, state and counters, for a panel of so many cells."""
    worker = row.worker
    glyph, ink = STATES[worker.state]
    state = [("gone · the broker no longer knows it", "bad")] if gone else [(f"{glyph} {worker.state}", f"{ink} bold")]
    lines = [
        _field("state", *state),
        _field("name", (row.label, "text bold")),
        *_own_name(row),
        *_hex_lines(worker.key, 16 if width >= 54 else 8),
        [],
        _field(
            "slots",
            *squares(worker.slots - worker.free, worker.slots, min(worker.slots, 20)),
            (f" {worker.slots - worker.free} of {worker.slots} used", "text"),
        ),
        _field("in flight", (units.count(worker.in_flight), "text")),
        _field("done", (units.count(worker.done), "text")),
        _field("rate", (f"{units.short(row.rate)}/s", "text")),
        _field("service time", *_took(worker)),
        _field("failed", (units.count(worker.failed), "bad bold" if worker.failed else "text")),
        _field("violations", (units.count(worker.violations), "bad bold" if worker.violations else "text")),
        [],
        _field("joined", (f"{units.age(now - worker.joined)} ago", "text")),
        _field("heard", (f"{units.age(now - worker.heard)} ago", "text"), *_expiry(worker, now)),
        _field("round trip", ("–" if worker.rtt is None else units.duration(worker.rtt * 1e6), "text")),
    ]
    own = [*worker.terms, *(((name, units.count(n)) for name, n in detail.counters) if detail else ())]
    if own:
        cells = min(28, max(_NAME, *(len(name) + 2 for name, _ in own)))
        lines += [[], *([(fit(clean(name), cells), "label"), (clean(value), "text")] for name, value in own)]
    return lines


def _own_name(row: Shown) -> list[Parts]:
    """What it calls itself; a broker's number for it would be a second name."""
    told = clean(row.worker.name)
    numbered = told[:1] == "w" and told[1:].isdecimal()
    return [] if numbered or told in (row.label, label(row.worker.key)) else [_field("calls itself", (told, "text"))]


def _took(worker: WorkerRow) -> Parts:
    if worker.took is None:
        return [("–", "faint"), (" no answer for a minute", "label")]
    p50, p99 = (units.duration(seconds * 1e6) for seconds in worker.took)
    return [("p50 ", "label"), (p50, "text"), (" · p99 ", "label"), (p99, "text"), (" (1 min)", "label")]


def own_lines(own: WorkerView | None, now: float) -> list[Parts]:
    """The worker's picture of itself and of its broker, where it is one of this process."""
    if own is None:
        return []
    heard = ("never" if own.broker_heard == -NEVER else f"{units.age(now - own.broker_heard)} ago", "text")
    lines = [
        _field("it says", (clean(own.state), "text bold"), ("" if own.joined else " · not joined", "warn")),
        _field("heard broker", heard),
    ]
    return [[], [("as it sees itself", "accent")], *lines, *lines_of(own.terms)]


def _hex_lines(key: bytes, each: int) -> list[Parts]:
    """The true routing id, so many bytes a line, and how long it is."""
    rows = [key[i : i + each] for i in range(0, len(key), each)] or [b""]
    lines = [_field("" if i else "routing id", (true_bytes(part), "accent")) for i, part in enumerate(rows)]
    return [*lines, _field("", (f"{len(key)} bytes", "label"))]


def _expiry(worker: WorkerRow, now: float) -> Parts:
    if worker.lost_at == NEVER or worker.state == "lost":
        return []
    return [(f", lost in {units.age(worker.lost_at - now)}", "label")]


def task_lines(detail: Detail | None, picture: Picture) -> list[Parts]:
    """What it holds, oldest first."""
    if detail is None:
        return [[("asking the broker …", "label")]]
    if not detail.tasks:
        return [[("nothing in flight", "label")]]
    title: Parts = [(f"{'kind':6}{'age':>5}  {'try':5}{'task':18}client", "label")]
    return [title, *(_task(task, picture.at) for task in sorted(detail.tasks, key=lambda task: task.given))]


def _task(task: TaskRow, now: float) -> Parts:
    return [
        (fit(clean(task.kind), 6), "text"),
        (units.age(now - task.given).rjust(5), "text"),
        (f"  {fit(str(task.attempt), 5)}", "text" if task.attempt == 1 else "warn bold"),
        (fit(task.id.hex(), 18), "accent"),
        (short_name(label(task.client)), "label"),
    ]


def incident_lines(detail: Detail | None, picture: Picture) -> list[Parts]:
    """What it did wrong, newest first."""
    if detail is None or not detail.incidents:
        return [[("none", "label")]]
    glyph, ink, words = GLYPHS["bad"]
    lines: list[Parts] = []
    for incident in reversed(detail.incidents):
        times = f" × {units.count(incident.times)}" if incident.times > 1 else ""
        age = units.age(picture.at - incident.at).rjust(4)
        lines.append([(age, "label"), (f" {glyph} ", ink), (clean(incident.reason), words), (times, "bad bold")])
    return lines
