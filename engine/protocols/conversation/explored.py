"""What the model checker has to know of conversation: a job changes its state by the rows of its table alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engine.parts.explored import FULL, LONG, MORE, ONE, ORDER, RIGHT, TWO, Explored, because
from engine.parts.machine import Row
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.machine import JOB, Does

ENDS = (Does.FINISHED, Does.CANCELLED)
"""States in which a job may be forgotten."""


class _Mark(NamedTuple):
    states: dict[int, str]  # by job
    counts: dict[tuple[str, str], int]  # how often each row was walked


def _mark(broker: Broker, now: float) -> _Mark:
    jobs = broker.jobfrontend.jobs
    return _Mark({job.id: job.state for job in jobs.all()}, dict(jobs.walk.walked()))


def _step(before: _Mark, broker: Broker, now: float) -> str:
    after = _mark(broker, now)
    if after.states == before.states:
        return ""
    counted = Counter(after.counts) - Counter(before.counts)
    rows = [row for row in JOB.rows if counted[row.edge.state, row.edge.event]]
    for id in sorted({*before.states, *after.states}):
        was, now_is = before.states.get(id, Does.NEW), after.states.get(id, "")
        if not any(leads(rows, was, state) for state in ((now_is,) if now_is else ENDS)):
            return f"job {id} was {was} and is {now_is or 'forgotten'}: no row of its table that was walked leads there"
    return ""


def leads(rows: Sequence[Row], was: str, state: str) -> bool:
    """Whether some of these rows lead from one state to the other, in any order."""
    reached = {was}
    while found := {row.next for row in rows if row.state in reached} - reached:
        reached |= found
    return state in reached


UNREACHED = {
    **because(
        (worker := "Worker (the seed's client)"),
        TWO,
        *("CL_INIT0: told to leave", "CL_INIT0: nothing left to stop", "CL_INIT1: heartbeat"),
        *("CL_INIT1: ERROR(broken)", "CL_INIT1: silence", "CL_INIT1: messages lost, changed or unreadable"),
        *("CL_INIT1: told to leave", "CL_INIT1: nothing left to stop"),
    ),
    **because(worker, MORE, "CL_INIT1: OK(0)"),
    **because(worker, RIGHT, "CL_LOOP0: JOB too large", "CL_UPDATE1: JOB too large"),
    **because(worker, ORDER, "CL_LOOP0: STOP(immed)", "CL_UPDATE1: STOP(immed)"),
    **because(worker, FULL, *(f"{at}: a message is not sent" for at in ("CL_INIT1", "CL_LOOP0", "CL_UPDATE1"))),
    **because(
        (server := "A worker at the broker (the seed's server)"),
        TWO,
        *("SV_INIT1: opening", "SV_INIT1: silence", "SV_INIT1: messages lost, changed or unreadable"),
    ),
    **because(server, MORE, "SV_INIT1: keep-alive", "SV_INIT1: DISCONNECT", "SV_INIT1: a message is not sent"),
    **because(
        server, ORDER, "SV_LOOP2: STOP_IMMED", *(f"SV_{at}: an operator expires it" for at in ("INIT1", "LOOP2"))
    ),
    **because(server, RIGHT, "SV_LOOP2: ERROR(cannot_run_job)"),
    **because(
        (job := "A job at the broker"),
        ORDER,
        *("waiting: hold", "waiting: cancel", "running: hold", "held: a task comes back"),
        *("held: a task ends", "held: a task ends as the last", "held: release", "held: release of one that has begun"),
        "held: cancel",
    ),
    **because(job, TWO, "running: cancel", "cancelled: a task ends"),
    **because(job, ONE, "running: a task ends"),
    **because("The client's link", LONG, "silent: no answer for expiry"),
    **because("The client's link", MORE, "silent: connected anew"),
}

EXPLORED = Explored(mark=_mark, step=_step, unreached=UNREACHED)
