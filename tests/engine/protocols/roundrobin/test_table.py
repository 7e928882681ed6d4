from __future__ import annotations

from engine.core import NEVER
from engine.parts.inflight import Task
from engine.protocols.roundrobin.table import Worker


def worker() -> Worker:
    return Worker(b"w", "w1", 2, 10.0)


def holding(one: Worker, tasks: int) -> Worker:
    one.held = {Task((b"c", bytes([number])), "ping", [], 1.0): None for number in range(tasks)}
    one.row = None
    return one


def test_states_in_the_operators_words() -> None:
    one = worker()
    assert one.state(10.0, 3.0, 13.0) == "ready" and one.state(10.0, 3.0, 13.1) == "late"
    holding(one, 1).owed = 1
    assert one.used == 2 and one.state(10.0, 3.0, 10.0) == "busy"
    one.leaving = True
    assert one.state(10.0, 3.0, 99.0) == "drain"
    one.lost_at = 20.0
    assert one.state(10.0, 3.0, 10.0) == "lost"


def test_a_row_is_the_same_object_until_something_changes() -> None:
    one = worker()
    row = one.view("ready", 11.0, 6.0, 0)
    assert (row.key, row.name, row.slots, row.free, row.joined, row.heard) == (b"w", "w1", 2, 2, 10.0, 11.0)
    assert row.lost_at == 17.0 and row.rtt is None
    assert one.view("ready", 11.0, 6.0, 0) is row
    assert one.view("late", 11.0, 6.0, 0).state == "late"
    assert one.view("late", 11.0, 6.0, 3).violations == 3
    assert one.view("late", 12.0, 6.0, 3).heard == 12.0
    row = holding(one, 2).view("late", 12.0, 6.0, 3)
    assert (row.free, row.in_flight) == (0, 2)


def test_free_is_never_negative() -> None:
    one = worker()
    one.slots = 1
    assert holding(one, 5).view("busy", 11.0, 6.0, 0).free == 0


def test_a_lost_row_says_since_when() -> None:
    one = worker()
    assert one.lost_at == NEVER
    one.lost_at = 12.0
    assert one.view("lost", 12.0, 6.0, 0).lost_at == 12.0
