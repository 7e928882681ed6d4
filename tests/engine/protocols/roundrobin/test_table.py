from __future__ import annotations

import pytest

from engine.core import NEVER, Command, Note
from engine.parts.inflight import Task
from engine.parts.view import WorkerRow
from engine.protocols.roundrobin.machine import On, Seen
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import Table, Worker


def worker() -> Worker:
    return Worker(b"w", "w1", 2, 10.0)


def holding(one: Worker, tasks: int) -> Worker:
    one.held = {Task((b"c", bytes([number])), "ping", [], 1.0): None for number in range(tasks)}
    one.row = None
    return one


def test_states_in_the_operators_words() -> None:
    one = worker()
    assert shown(one, 10.0, now=13.0).state == "ready" and shown(one, 10.0, now=13.1).state == "late"
    holding(one, 1).owed = 1
    assert one.used == 2 and shown(one, 10.0).state == "busy"
    one.leaving = True
    assert shown(one, 10.0, now=99.0).state == "drain"
    one.lost_at = 20.0
    assert shown(one, 10.0).state == "lost"


def test_a_row_is_the_same_object_until_something_changes() -> None:
    one = worker()
    row = shown(one, 11.0)
    assert (row.key, row.name, row.slots, row.free, row.joined, row.heard) == (b"w", "w1", 2, 2, 10.0, 11.0)
    assert row.lost_at == 17.0 and row.rtt is None and row.state == "ready"
    assert shown(one, 11.0) is row
    assert shown(one, 11.0, now=14.1).state == "late"
    assert shown(one, 11.0, 3, now=14.1).violations == 3
    assert shown(one, 12.0, 3).heard == 12.0
    row = shown(holding(one, 2), 12.0)
    assert (row.free, row.in_flight) == (0, 2)


def shown(one: Worker, heard: float, violations: int = 0, now: float | None = None) -> WorkerRow:
    at = heard if now is None else now
    one.served.view(at)
    one.show(heard, 3.0, 6.0, violations, at)
    assert one.row is not None
    return one.row


def test_a_row_holds_until_silence_or_old_service_times_change_it() -> None:
    one = worker()
    shown(one, 11.0)
    assert 13.9 < one.until <= 14.0, "it is late then"
    shown(one, 11.0, now=15.0)
    assert one.until == NEVER
    one.served.note(0.5, 15.0, 1)
    shown(one, 11.0, now=15.0)
    assert one.until == 75.0, "a minute later nothing is known of that task"


def test_free_is_never_negative() -> None:
    one = worker()
    one.slots = 1
    assert shown(holding(one, 5), 11.0).free == 0


def test_a_lost_row_says_since_when() -> None:
    one = worker()
    assert one.lost_at == NEVER
    one.lost_at = 12.0
    assert shown(one, 12.0).lost_at == 12.0


@pytest.mark.parametrize(("pong", "known"), [(7, 1.5), (6, None), (0, None)])
def test_a_round_trip_is_known_by_the_number_of_the_ping(pong: int, known: float | None) -> None:
    one = worker()
    one.asked(7, 11.0)
    one.ponged(pong.to_bytes(8, "little"), 12.5)
    one.ponged(bytes(8), 13.0)
    assert one.rtt == known


def test_what_it_owes_and_holds_is_due_later_after_a_pause_of_ours() -> None:
    one = holding(worker(), 1)
    one.owed, one.owed_at = 1, 3.0
    one.grace(10.0)
    (task,) = one.held
    assert (one.owed, one.owed_at, task.given) == (1, 13.0, 10.0)


def test_a_lost_worker_is_remembered_and_comes_back() -> None:
    table, out = Table(Options(lost_shown=30.0, heartbeat=1000.0, expiry=1000.0)), list[Command]()
    one = table.add(b"w", 10.0, out)
    assert one is not None and one.stands == Seen.READY
    table.step(one, On.SILENT)
    table.lose(one, 11.0)
    assert not table.workers and list(table.lost) == [b"w"] and table.wake_at() == 41.0
    assert table.revive(b"w", On.PING, 12.0, out) is one and one.stands == Seen.READY and not table.lost
    assert table.revive(b"x", On.PING, 12.0, out) is None
    assert [note.text for note in out if isinstance(note, Note)] == ["w1 joined", "w1 is back"]


def test_a_stranger_under_its_id_brings_no_lost_worker_back() -> None:
    table, out = Table(Options()), list[Command]()
    one = table.add(b"w", 10.0, out)
    assert one is not None
    table.step(one, On.ENDED)
    table.lose(one, 11.0)
    table.estrange(b"w")
    table.estrange(b"nobody")
    assert table.revive(b"w", On.PONG, 12.0, out) is None and one.stands == Seen.LOST
    assert table.revive(b"w", On.REGISTER, 13.0, out) is one and one.stands == Seen.READY


def test_who_left_is_not_remembered_when_it_is_lost() -> None:
    table, out = Table(Options()), list[Command]()
    one = table.add(b"w", 10.0, out)
    assert one is not None
    one.leaving = True
    table.lose(one, 11.0)
    assert not table.workers and not table.lost


def test_each_slot_that_is_freed_is_counted_where_it_leads() -> None:
    table = Table(Options())
    one = table.add(b"w", 10.0, [])
    assert one is not None
    one.slots, one.stands = 2, Seen.BUSY
    table.freed(holding(one, 1), On.INCREMENT, 3)
    assert one.stands == Seen.READY
    one.leaving, one.stands = True, Seen.DRAINING
    table.freed(holding(one, 0), On.INCREMENT, 2)
    assert one.stands == Seen.UNKNOWN
    assert dict(table.walk.walked()) == {
        ("unknown", "REGISTER"): 1,
        ("busy", "INCREMENT and no slot is free"): 2,
        ("busy", "INCREMENT"): 1,
        ("draining", "INCREMENT"): 1,
        ("draining", "INCREMENT of all that it held"): 1,
    }
