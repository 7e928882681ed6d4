"""The broker as an operator sees it. A worker's row is made anew only when something about it has changed."""

from __future__ import annotations

from heapq import nlargest
from operator import attrgetter
from typing import Protocol

from engine.core import MAIN, NEVER
from engine.parts.callers import Underway
from engine.parts.inflight import InFlight
from engine.parts.liveness import Liveness
from engine.parts.machine import Walk
from engine.parts.plain import several
from engine.parts.valve import terms
from engine.parts.view import BrokerView, Detail, State, TaskRow, WorkerRow
from engine.parts.violations import Violations
from engine.protocols.conversation.jobfrontend import JobFrontend, name_of
from engine.protocols.conversation.links import Link
from engine.protocols.conversation.machine import SEEN, On, Sv, visits
from engine.protocols.conversation.options import Options

SHOWN_CLIENTS = 16  # whose tasks are shown, those first that have most waiting
COUNTS = ("joins", "late", "unsent answers", "taken over")
"""What a broker counts beside the rows of its machines."""
ROWS = (("refused jobs", On.REFUSED), ("stops", On.STOP_REQ), ("kills", On.STOP_IMMED))
"""Rows that are shown as counters too; a kill is a STOP(immed)."""


class Source(Protocol):
    """The structures of a broker's core that its picture is drawn from."""

    options: Options
    links: dict[bytes, Link]
    walk: Walk
    inflight: InFlight
    liveness: Liveness
    violations: Violations
    jobfrontend: JobFrontend
    counts: dict[str, int]
    inspected: bytes | None


def broker(core: Source, now: float) -> BrokerView:
    """The picture of a broker core at monotonic ``now``."""
    jobs = core.jobfrontend.jobs
    limits = jobs.valve.view() if jobs.valve is not None else ()
    rows = core.walk.walked()
    times = dict(rows)
    clients, oldest = core.jobfrontend.callers.view(lambda: (core.inflight.all(), _waiting(core), ()), now)
    return BrokerView(
        at=now,
        workers=tuple(_row(core, link, now) for link in core.links.values() if link.state == Sv.LOOP2),
        backlog=jobs.queued,
        in_flight=core.inflight.count,
        ledger=core.jobfrontend.ledger.view(core.inflight.count, jobs.queued),
        counters=(
            *core.counts.items(),
            *((name, times.get((Sv.LOOP2, event), 0)) for name, event in ROWS),
            ("redelivered", core.jobfrontend.redelivered),
            ("refused requests", core.jobfrontend.refused),
            ("asked again", core.jobfrontend.again),
            ("violations", core.violations.total),
        ),
        incidents=core.violations.newest(),
        detail=_detail(core, core.inspected) if core.inspected is not None else None,
        legs=core.jobfrontend.legs.view(),
        terms=(
            *terms(limits),
            *visits(SEEN, rows, times.get((Sv.INIT0, On.PASS), 0)),
            ("jobs", str(jobs.open)),
            ("greeting", str(sum(link.state == Sv.INIT1 for link in core.links.values()))),
            *_clients(core),
        ),
        walked=(*rows, *jobs.walk.walked()),
        peaks=jobs.peak.view(),
        clients=clients,
        oldest=oldest,
        limits=limits,
    )


def _waiting(core: Source) -> list[Underway]:
    """Of each job what waits of it, under the job's id."""
    return [
        Underway(job.client, job.id.to_bytes(8), f"job {job.id}", job.accepted, 0, b"", job.queued)
        for job in core.jobfrontend.jobs.all()
        if job.queued
    ]


def _clients(core: Source) -> list[tuple[str, str]]:
    waiting = (has for has in core.jobfrontend.jobs.owners.all() if has.waiting)
    return [
        (
            f"client {name_of(has.client)}",
            f"{several(has.waiting, 'task')} waiting, of {several(has.items, 'job')}, {several(has.size, 'byte')}",
        )
        for has in nlargest(SHOWN_CLIENTS, waiting, key=attrgetter("waiting"))
    ]


def _row(core: Source, link: Link, now: float) -> WorkerRow:
    tells = link.socket == MAIN  # a plain TCP peer sends no keep-alives, and its end is told
    heard = core.liveness.last(link.key) if tells else link.joined
    state: State = "ready" if link.free else "busy"
    if not link.max_nproc:
        state = "drain"
    elif tells and now > heard + 2 * core.options.heartbeat:
        state = "late"
    took = link.served.view(now)
    if link.row is None or link.row.state != state or link.row.took is not took:
        link.row = WorkerRow(
            key=link.key,
            name=link.name,
            state=state,
            slots=link.max_nproc,
            free=link.free,
            in_flight=len(link.out),
            done=link.done,
            failed=link.failed,
            violations=core.violations.count(link.key),
            joined=link.joined,
            heard=heard,
            lost_at=heard + core.options.expiry if tells else NEVER,
            rtt=None,
            terms=(
                ("state", link.state),
                ("nproc", str(link.said)),
                ("max_nproc", str(link.max_nproc)),
                ("running", str(link.used)),
                ("over", "zmq" if tells else "tcp"),
            ),
            took=took,
        )
    return link.row


def _detail(core: Source, key: bytes) -> Detail | None:
    link = core.links.get(key)
    if link is None:
        return None
    tasks = tuple(TaskRow(*task.key, task.kind, task.given, task.attempt) for task in core.inflight.of(key))
    counters = (
        ("messages sent", link.sent.count),
        ("messages received", link.decoder.count),
        ("jobs sent", link.counter),
    )
    return Detail(key, tasks, core.violations.of(key), counters)
