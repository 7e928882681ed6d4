"""Runs as events."""

from __future__ import annotations

from console.pictures.runevents import RunEvents
from engine.core import Note
from engine.parts.bulk import Bulk, BulkSpec


def begun(n: int = 100) -> Bulk:
    bulk = Bulk(BulkSpec("ping", n, in_flight=n), 0.0)
    while bulk.due(0.0) is not None:
        pass
    return bulk


def test_a_run_is_told_when_it_begins_and_when_it_has_ended_once_each() -> None:
    events = RunEvents()
    assert events.look(None) is None
    bulk = begun()
    assert events.look(bulk.view(0.0)) == Note("info", "bulkping 100 has begun")
    assert events.look(bulk.view(0.1)) is None
    for task in range(100):
        bulk.replied(task, 0.5)
    assert events.look(bulk.view(1.0)) == Note("good", "bulkping 100: PASS, 200/s, p99 500ms")
    assert events.look(bulk.view(2.0)) is None
    quick = begun(1)
    quick.replied(0, 0.001)
    assert events.look(quick.view(2.0)) == Note("good", "ping 1: PASS, 1.00k/s, p99 1.0ms"), "it was over before"


def test_failures_are_bad_and_named_and_a_stop_is_neither() -> None:
    events, failed, stopped = RunEvents(), begun(), Bulk(BulkSpec("data", 2_000, in_flight=1), 0.0)
    events.look(None)
    for task in range(100):
        failed.failed(task, "timeout", 5.0)
    assert events.look(failed.view(5.0)) == Note("bad", "bulkping 100: FAIL, 0 succeeded, timeout 100")
    stopped.due(0.0)
    stopped.stop(0.1)
    stopped.replied(0, 0.5)
    said = events.look(stopped.view(1.0))
    assert said is not None and (said.level, said.text[:36]) == ("warn", "bulkdata 2,000: STOPPED, 1 succeeded")


def test_what_had_begun_or_ended_before_the_first_look_is_not_told_to_have() -> None:
    bulk = begun()
    events = RunEvents()
    assert events.look(bulk.view(0.0)) is None
    for task in range(100):
        bulk.replied(task, 0.5)
    assert events.look(bulk.view(1.0)) is not None
    assert RunEvents().look(bulk.view(1.0)) is None
