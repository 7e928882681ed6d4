"""A job's states change by its table; ``tests/sim/test_explore_mutants.py`` has a job that is not held to it."""

from __future__ import annotations

from engine.parts.machine import Walk
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.explored import EXPLORED, leads
from engine.protocols.conversation.machine import JOB, Does, On
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import array


def test_what_the_table_says_is_right_and_anything_else_is_told() -> None:
    broker = Broker(Options())
    jobs = broker.jobfrontend.jobs
    mark = EXPLORED.mark(broker, 0.0)
    one, two = (jobs.add(array("echo"), 1, b"client", ref, 0.0) for ref in (1, 2))
    jobs.next(1, 1)
    assert not EXPLORED.step(mark, broker, 0.0) and not EXPLORED.step(EXPLORED.mark(broker, 0.0), broker, 0.0)
    mark = EXPLORED.mark(broker, 0.0)
    two.state = Does.HELD
    wrong = "job 2 was waiting and is held: no row of its table that was walked leads there"
    assert EXPLORED.step(mark, broker, 0.0) == wrong
    two.state = Does.WAITING
    assert not jobs.hold(two) and not EXPLORED.step(mark, broker, 0.0)
    one.state = Does.FINISHED
    assert EXPLORED.step(mark, broker, 0.0).startswith("job 1 was running and is finished: ")


def test_a_job_is_forgotten_at_its_end() -> None:
    broker = Broker(Options())
    jobs = broker.jobfrontend.jobs
    jobs.add(array(":ping"), 1, b"client", 1, 0.0)
    task = jobs.next(1, 1)
    mark = EXPLORED.mark(broker, 0.0)
    assert task is not None and jobs.ended(task, True)
    assert not EXPLORED.step(mark, broker, 0.0)
    jobs.walk = Walk(JOB)
    assert EXPLORED.step(mark, broker, 0.0).startswith("job 1 was running and is forgotten: ")


def test_rows_lead_on_in_any_order() -> None:
    rows = [row for row in JOB.rows if row.event in (On.SUBMITTED, On.GIVEN)]
    assert leads(rows[::-1], Does.NEW, Does.RUNNING) and leads([], Does.NEW, Does.NEW)
    assert not leads(rows, Does.RUNNING, Does.WAITING) and not leads(rows, Does.NEW, Does.HELD)
