"""The command ``jobs show``: the tasks of one job."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Protocol

from console import units
from console.cli.signals import Signals
from console.cli.streams import deliver, result
from console.text import clean
from engine.protocols.conversation.frontend import Answer, ListTasks, Request, TasksListed
from engine.protocols.conversation.messages import STATUS
from engine.protocols.conversation.past import TaskRow

SCHEMA = "roundhouse.job/1"
HEAD = ("task", "state", "worker", "attempts", "started", "took", "log", "status")


class Asks(Protocol):
    """``console.cli.jobs.JobSession``."""

    signals: Signals

    def ask(self, request: Request) -> Answer | None:
        """An order and its answer; None, and the reason is told, where there is none."""


def show(counter: Asks, options: Namespace) -> int:
    """Show the tasks of a job that a worker was given, all that the broker remembers."""
    tasks: list[TaskRow] = []
    while True:
        after = tasks[-1].number if tasks else 0
        listed = counter.ask(ListTasks(options.id, options.failed, after))
        if not isinstance(listed, TasksListed):
            return counter.signals.status(1)
        tasks += listed.tasks
        if not listed.more or not listed.tasks:
            break
    if options.json is not None:
        return 0 if deliver(document(listed, tasks), options.json) else 1
    result(about(listed) + table(tasks) + forgotten(listed))
    return 0


def about(listed: TasksListed) -> str:
    """The job in a line."""
    row = listed.job
    job = row.job
    tasks = units.several(job.num_tasks, "task")
    counts = f"{tasks}: {row.waiting} waiting, {row.running} running, {row.done} done, {row.failed} failed"
    return (
        f"job {job.job_id} {clean(job.name, 60)} {STATUS[job.status]} · {counts} · logs in {clean(job.logging_dir)}\n"
    )


def forgotten(listed: TasksListed) -> str:
    """What is not shown, because the broker does not know it any more."""
    return f"{units.several(listed.forgotten, 'older task')} not remembered\n" if listed.forgotten else ""


def table(tasks: list[TaskRow]) -> str:
    """A line for each task, by number."""
    if not tasks:
        return ""
    rows = [HEAD, *map(cells, tasks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def cells(task: TaskRow) -> tuple[str, ...]:
    """One task in cells."""
    took = "" if task.took is None else units.duration(task.took * 1e6)
    texts = (clean(task.log, 60), clean(task.status, 200))
    worker = clean(task.worker, 24)
    return (str(task.number), task.state, worker, str(task.attempts), f"{units.age(task.started)} ago", took, *texts)


def document(listed: TasksListed, tasks: list[TaskRow]) -> str:
    """The same as JSON, ``SCHEMA``; seconds are floats."""
    row, job = listed.job, listed.job.job
    found = {
        "schema": SCHEMA,
        "id": job.job_id,
        "name": job.name,
        "status": STATUS[job.status],
        "counts": {"tasks": job.num_tasks, **dict(zip(row._fields[2:], row[2:], strict=True))},
        "command": job.command,
        "logs": job.logging_dir,
        "tasks": [
            {
                "task": task.number,
                "state": task.state,
                "worker": task.worker,
                "attempts": task.attempts,
                "started_s_ago": task.started,
                "took_s": task.took,
                "status": task.status,
                "log": task.log or None,
            }
            for task in tasks
        ],
        "forgotten": listed.forgotten,
    }
    return json.dumps(found, indent=2) + "\n"
