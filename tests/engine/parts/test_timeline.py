"""A run second by second, in bounded memory."""

from __future__ import annotations

import pytest

from engine.parts.bulk import FIRST, KINDS, Bulk, BulkSpec
from engine.parts.histogram import Histogram
from engine.parts.timeline import POINTS, Timeline


def test_a_point_a_second_with_the_latency_of_that_second_alone() -> None:
    bulk, now = Bulk(BulkSpec("ping", 6), 100.0), 100.0
    for latency in (0.4, 0.4, 0.4, 0.1, 0.1, 0.1):
        task = bulk.due(now)
        assert task is not None
        now += latency
        bulk.replied(task, now)
    points = bulk.view(now).timeline
    assert [(point.second, point.succeeded, point.failed) for point in points] == [(0.0, 2, 0), (1.0, 4, 0)]
    assert [point.p99 for point in points] == pytest.approx(
        [400_000, 400_000], rel=0.01
    )  # 0.8 … 1.2 s ends in the second one


def test_a_stall_has_points_of_its_own_and_failures_are_counted_and_named() -> None:
    bulk = Bulk(BulkSpec("ping", 30, in_flight=30, timeout=2.5), 0.0)
    while bulk.due(0.0) is not None:
        pass
    bulk.replied(0, 0.5)
    bulk.expire(2.5)
    view = bulk.view(9.0)
    assert [(point.succeeded, point.failed, point.p99 is None) for point in view.timeline] == [
        (1, 0, True), (0, 0, True), (0, 29, True),
    ]  # fmt: skip
    assert view.first_failed == (("timeout", tuple(range(1, 1 + FIRST))),)


def test_only_so_many_kinds_of_failure_are_named() -> None:
    bulk = Bulk(BulkSpec("ping", 2 * KINDS, in_flight=2 * KINDS), 0.0)
    while (task := bulk.due(0.0)) is not None:
        bulk.failed(task, f"kind {task}", 0.1)
    assert len(bulk.view(0.1).first_failed) == KINDS


def test_a_long_run_takes_no_more_points_and_loses_nothing() -> None:
    timeline, latency, total = Timeline(0.0), Histogram(), 0
    for second in range(1, 10 * POINTS):
        total += second % 7
        latency.record(second / 1e3)
        timeline.advance(float(second), total, second, latency)
    points = timeline.view(10.0 * POINTS, total, second, latency)
    assert len(points) <= POINTS + 1
    assert sum(point.succeeded for point in points) == total
    assert sum(point.failed for point in points) == second
    assert [point.second for point in points] == sorted({point.second for point in points})
    assert points[0].p99 == pytest.approx(16_000, rel=0.1)  # the largest of sixteen seconds
