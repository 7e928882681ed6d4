"""The tasks of one job, and the end of a task's log."""

from __future__ import annotations

import os
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.host import Host
from console.pictures.bridge import Picture
from console.screens.layer import Layer
from console.screens.page import Page
from console.text import clean, clean_lines, fit
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.table import Column, Table
from engine.files.tail import tail
from engine.protocols.conversation.frontend import JobRow, ListTasks, TasksListed
from engine.protocols.conversation.messages import STATUS
from engine.protocols.conversation.past import DONE, FAILED, RUNS, WAITS, TaskRow

ASK = 4  # pictures between two questions for the tasks
LOGS = 100  # names that are tried for the log of a task that runs
INKS = {RUNS: "busy", DONE: "good", FAILED: "bad", WAITS: "warn"}


def _text(name: str, width: int, need: int, stretch: int = 0) -> Column[TaskRow]:
    def draw(row: TaskRow, _: float, cells: int) -> Parts:
        return [(fit(clean(str(getattr(row, name))), cells), "text")]

    return Column(name, name, width, lambda row: str(getattr(row, name)), draw, need=need, stretch=stretch)


def _number(row: TaskRow, _: float, cells: int) -> Parts:
    return [(fit(str(row.number), cells, right=True), "text bold")]


def _state(row: TaskRow, _: float, cells: int) -> Parts:
    return [(fit(row.state, cells), INKS.get(row.state, "label"))]


def _attempts(row: TaskRow, _: float, cells: int) -> Parts:
    return [(fit(str(row.attempts), cells, right=True), "text" if row.attempts == 1 else "warn bold")]


def _started(row: TaskRow, _: float, cells: int) -> Parts:
    return [(fit(f"{units.age(row.started)} ago", cells, right=True), "label")]


def _took(row: TaskRow, _: float, cells: int) -> Parts:
    return [(fit("·" if row.took is None else units.duration(row.took * 1e6), cells, right=True), "text")]


def _status(row: TaskRow, _: float, cells: int) -> Parts:
    return [(fit(clean(row.status), cells), "bad" if row.state == FAILED else "label")]


TASKS: tuple[Column[TaskRow], ...] = (
    Column("task", "task", 6, lambda row: row.number, _number, need=9, right=True),
    Column("state", "state", 7, lambda row: row.state, _state, need=8),
    _text("worker", 10, 5, 20),
    Column("attempts", "tries", 5, lambda row: row.attempts, _attempts, need=3, right=True, falling=True),
    Column("started", "started", 8, lambda row: row.started, _started, need=4, right=True),
    Column("took", "took", 6, lambda row: row.took or 0.0, _took, need=6, right=True, falling=True),
    Column("status", "how it ended", 14, lambda row: row.status, _status, need=7, stretch=60),
    _text("log", 10, 2, 30),
)


class JobTasks(Layer):
    """The tasks that workers were given, asked for again and again while it is open."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings((*keys.BACK, *keys.TASKS))]
    app: Host

    def __init__(self, job: JobRow) -> None:
        super().__init__()
        self._job = job
        self._failed = False
        self._looks = 0

    def compose(self) -> ComposeResult:
        """The tasks and the key bar."""
        yield Table(TASKS, lambda row: row.number, empty="no task was given to a worker yet", id="jobs")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """By number."""
        self._title()
        self.set_focus(self._tasks)

    @property
    def _tasks(self) -> Table[TaskRow]:
        found: Table[TaskRow] = self.query_one("#jobs", Table)
        return found

    def show(self, picture: Picture) -> None:
        """Show a picture; now and again ask for the tasks."""
        listed = newest(picture, self._job.job.job_id)
        if listed is not None:
            self._job = listed.job
            self._tasks.set_rows([row for row in listed.tasks if row.state == FAILED or not self._failed], picture.at)
            self._title(listed.more, listed.forgotten)
        if self._looks % ASK == 0:
            order = ListTasks(self._job.job.job_id, self._failed)
            self.app.order(lambda lab: lab.order_client(order))
        self._looks += 1

    def _title(self, more: int = 0, forgotten: int = 0) -> None:
        row = self._job
        counts = f"{row.waiting:,} waiting, {row.running:,} running, {row.done:,} done, {row.failed:,} failed"
        rest = [f"{more:,} more"] * bool(more) + [f"{forgotten:,} not remembered"] * bool(forgotten)
        which = "failed tasks of job" if self._failed else "tasks of job"
        words = (f"{which} {row.job.job_id} {clean(row.job.name, 40)}", STATUS[row.job.status], counts, *rest)
        self._tasks.border_title = Content(" · ".join(words))

    def action_failed(self) -> None:
        """Only those that failed, or all again."""
        self._failed = not self._failed
        self._looks = 0
        self._title()

    def action_log(self) -> None:
        """The end of the chosen task's log, read again with each picture."""
        row = self._tasks.chosen()
        if row is None:
            self.app.say("there is no task", "warn")
            return
        path = log_of(self._job, row)
        self.app.open_screen(Page(f"log {clean(path, 200)}", tail_lines(path), lambda _: tail_lines(path)))

    def on_table_chosen(self) -> None:
        """A double click opens what enter opens."""
        self.action_log()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._tasks.sort_next()

    def action_sort_reverse(self) -> None:
        """Reverse the order."""
        if self._tasks.sort_column is not None:
            self._tasks.sort_by(self._tasks.sort_column, not self._tasks.reverse)

    def action_back(self) -> None:
        """To the jobs."""
        self.dismiss()


def newest(picture: Picture, job_id: int) -> TasksListed | None:
    """The newest list of this job's tasks that the broker sent to the client."""
    for kept in reversed(picture.client.answers) if picture.client else ():
        match kept:
            case (_, TasksListed() as listed) if listed.job.job.job_id == job_id:
                return listed
    return None


def log_of(job: JobRow, task: TaskRow) -> str:
    """Where a task's log is. Where its worker has not said so: the newest of the names that it would take."""
    about = job.job
    name = task.log
    if not name:
        stem = f"{about.name}_{task.number}"
        names = [f"{stem}.log", *(f"{stem}-{i}.log" for i in range(1, LOGS))]
        there = [name for name in names if os.path.lexists(os.path.join(about.logging_dir, name))]
        name = there[-1] if there else names[0]
    return os.path.join(about.logging_dir, name)


def tail_lines(path: str) -> list[Parts]:
    """The end of a log, or why it can not be read."""
    try:
        text, before = tail(path)
    except OSError as error:
        return [[(f"it can not be read: {error.strerror or error}", "bad")]]
    lines: list[Parts] = [[(f"{units.size(before)} before this", "label")]] if before else []
    shown = clean_lines(text.removesuffix("\n")).split("\n") if text else []
    return [*lines, *([(line, "text")] for line in shown)] or [[("it is empty", "label")]]
