"""Answers in words."""

from __future__ import annotations

import pytest

from engine.protocols.conversation import words
from engine.protocols.conversation.frontend import JobRow, Stopping
from engine.protocols.conversation.header import STOP_NOW
from engine.protocols.conversation.messages import Description

JOB = Description(3, "name", 5, "/srv", "/srv/logs", "echo", 1)


def test_what_a_job_wants_that_no_worker_has() -> None:
    row = JobRow(JOB, 9, 3, 0, 0, 0)
    assert words.wants(row, 4) == "needs 9 processors, the largest worker has 4"
    assert words.wants(row._replace(slots=1), 0) == "needs 1 processor, no worker is there"
    for fine in (row._replace(waiting=0), row._replace(slots=4), row._replace(job=JOB._replace(status=3))):
        assert words.wants(fine, 4) == ""


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (Stopping(1, 1, 1, 1, 1), "1 processor stops, of 1 worker; 1 is left"),
        (Stopping(1, 3, 3, 2, 5), "3 processors stop, of 2 workers; 5 are left"),
        (Stopping(1, 50, 8, 2, 0), "8 processors stop, of 2 workers, 50 were asked for; none is left"),
        (Stopping(1, STOP_NOW, 8, 2, 0), "8 processors stop at once, of 2 workers; what ran there is given back"),
        (Stopping(1, 0, 0, 0, 0), "nothing stops: no worker is there that has processors left"),
    ],
)
def test_what_really_stops(told: Stopping, said: str) -> None:
    assert words.stops(told) == said
