"""Traces of sampled tasks, without a collector."""

from __future__ import annotations

from engine.parts.view import BrokerLeg, ClientLeg
from engine.runs.spans import A_SECOND, MOST, Span, traces


def test_a_task_with_its_legs() -> None:
    ours = [ClientLeg(b"\x10", 1.0, 5.0)]
    theirs = [BrokerLeg(b"c", b"\x10", 2.0, 2.5, 4.0), BrokerLeg(b"other", b"\x10", 1.1, 1.2, 1.3)]
    (one,) = traces("pingpong", b"c", ours, theirs, 100.0)
    assert one.task == Span("task", 101_000_000_000, 105_000_000_000)
    assert one.legs == (
        Span("client", 101_000_000_000, 102_000_000_000),
        Span("backlog", 102_000_000_000, 102_500_000_000),
        Span("worker", 102_500_000_000, 104_000_000_000),
        Span("return", 104_000_000_000, 105_000_000_000),
    )
    assert one.attributes == {"roundhouse.system": "pingpong", "roundhouse.client": "63", "roundhouse.task": "10"}


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
