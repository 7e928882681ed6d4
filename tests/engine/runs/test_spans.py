"""Traces of sampled tasks, without a collector."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerLeg, ClientLeg
from engine.runs.spans import A_SECOND, MOST, Span, traces


def test_a_task_with_its_legs() -> None:
    ours = [ClientLeg(b"\x10", 1.0, 5.0)]
    theirs = [BrokerLeg(b"c", b"\x10", 2.0, 2.5, 4.0, b"w", 3), BrokerLeg(b"other", b"\x10", 1.1, 1.2, 1.3)]
    (one,) = traces("pingpong", b"c", ours, theirs, 100.0)
    assert one.task == Span("task", 101_000_000_000, 105_000_000_000)
    assert one.legs == (
        Span("client", 101_000_000_000, 102_000_000_000),
        Span("backlog", 102_000_000_000, 102_500_000_000),
        Span("worker", 102_500_000_000, 104_000_000_000),
        Span("return", 104_000_000_000, 105_000_000_000),
    )
    named = {"roundhouse.system": "pingpong", "roundhouse.client": "63", "roundhouse.task": "10"}
    assert one.attributes == {**named, "roundhouse.worker": "77", "roundhouse.attempt": 3}


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_broker_notes_who_answered_and_how_often_the_task_was_given(name: str) -> None:
    with Sandbox(SYSTEMS[name], workers=2) as lab:
        lab.settle()
        lab.run(BulkSpec("ping", 40, in_flight=4))
        for _ in range(200):
            lab.advance(0.5)
        seen = lab.sight().broker
    assert seen is not None and seen.ledger.succeeded == 40
    assert seen.legs and {leg.worker for leg in seen.legs} <= {row.key for row in seen.workers}
    assert {leg.attempt for leg in seen.legs} == {1}


def test_legs_that_are_not_known_or_of_another_clock_are_left_out() -> None:
    ours = [ClientLeg(b"\x10", 1.0, 5.0), ClientLeg(b"\x20", 1.0, 5.0)]
    found = traces("pingpong", b"c", ours, [BrokerLeg(b"c", b"\x20", 7.0, 8.0, 9.0)], 0.0)
    assert [one.legs for one in found] == [(), ()]


def test_so_many_of_each_second() -> None:
    ours = [ClientLeg(bytes([second, i]), second + i / 100, 99.0) for second in (1, 2) for i in range(A_SECOND + 5)]
    assert len(traces("pingpong", b"c", ours, [], 0.0)) == 2 * A_SECOND


def test_so_many_of_a_run_and_the_newest() -> None:
    found = traces("pingpong", b"c", [ClientLeg(b"", float(i), i + 0.5) for i in range(MOST + 7)], [], 0.0)
    assert len(found) == MOST and found[0].task.start == 7_000_000_000
