"""What the model checker has to know of conversation: a job changes its state by the rows of its table alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engine.parts.explored import Explored
from engine.parts.machine import Row
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.machine import JOB, Does

ENDS = (Does.FINISHED, Does.CANCELLED)
"""States in which a job may be forgotten."""


class _Mark(NamedTuple):
    states: dict[int, str]  # by job
    counts: dict[tuple[str, str], int]  # how often each row was walked


def _mark(broker: Broker, now: float) -> _Mark:
    jobs = broker.desk.jobs
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


EXPLORED = Explored(mark=_mark, step=_step)
