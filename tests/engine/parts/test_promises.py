"""What promises say of pictures that were made by hand: each can hold, and each can fail."""

from __future__ import annotations

from engine.catalogue import SYSTEMS
from engine.labs.sandbox import Sandbox
from engine.parts.fault import Aim
from engine.parts.promise import Observation, Promise
from engine.parts.promises import (
    back,
    blamed,
    books,
    everybody_back,
    gone,
    kept_until_its_time,
    lost,
    never_lost,
    no_worker,
    nothing_fails,
    one_row,
    others_untouched,
    slots_bounded,
)
from engine.parts.view import BrokerView, ClientView, Incident, LedgerView, WorkerRow

STAGE = Sandbox(SYSTEMS["roundrobin"], workers=1).open()
KEY = STAGE.key("worker-1")
AIM = Aim(STAGE, "worker-1", "w1", KEY, (), STAGE.system.times(STAGE.options))
FINE = LedgerView(5, 3, (("deadline", 1),), 1, 0, 0)


def row(key: bytes = KEY, **changes: object) -> WorkerRow:
    whole = WorkerRow(key, "w1", "ready", 3, 2, 1, 0, 0, 0, 0.0, 9.0, 15.0, None)
    return whole._replace(**changes)  # type: ignore[arg-type]


def sight(
    *rows: WorkerRow, ledger: LedgerView = FINE, incidents: tuple[Incident, ...] = (), linked: bool = True
) -> Observation:
    broker = BrokerView(10.0, rows, 0, 0, ledger, (), incidents)
    return Observation(10.0, broker, ClientView(10.0, linked, None, 0), ("broker",))


def says(promise: Promise, before: Observation, *good: Observation) -> list[bool]:
    return [promise.check(before, now) for now in good]


BLIND = Observation(10.0, None, None)


def test_books_balance() -> None:
    wrong = FINE._replace(succeeded=4)
    assert says(books(1.0), BLIND, BLIND, sight(), sight(ledger=wrong)) == [True, True, False]


def test_nothing_fails() -> None:
    worse = LedgerView(5, 2, (("deadline", 1), ("lost", 1)), 1, 0, 0)
    assert says(nothing_fails(1.0), sight(), sight(), sight(ledger=worse)) == [True, False]


def test_lost_and_never_lost_and_no_worker_are_opposites() -> None:
    before, here, away, shown = sight(row()), sight(row()), sight(), sight(row(state="lost"))
    for promise in (lost(AIM, 6.0), gone(AIM, 1.0, 6.0)):
        assert says(promise, before, here, away, shown, BLIND) == [False, True, True, False]
    assert says(never_lost(AIM, 6.0), before, here, away, shown) == [True, False, False]
    assert says(never_lost(AIM, 6.0), away, away) == [True]
    assert says(no_worker(AIM, 6.0), away, away, here) == [True, False]


def test_a_row_is_judged_by_its_own_time() -> None:
    promise = kept_until_its_time(AIM, 6.0)
    assert says(promise, BLIND, sight(row()), sight(row(lost_at=9.9)), sight(row(lost_at=9.0)), sight(), BLIND) == [
        True,
        True,
        False,
        True,
        True,
    ]


def test_back_is_with_every_slot() -> None:
    promise = back(AIM, 1.0, 5.0)
    assert (promise.since, promise.within) == (1.0, 6.0)
    rows = [row(), row(state="busy", free=0, in_flight=3), row(free=1), row(state="late"), row(state="lost")]
    assert says(promise, BLIND, *map(sight, rows), sight()) == [True, True, False, False, False, False]
    client = back(AIM._replace(seat="client", label="client"), 1.0, 5.0)
    assert says(client, BLIND, sight(), sight(linked=False), BLIND) == [True, False, False]


def test_everybody_is_back_who_lives() -> None:
    dead = row(b"somebody else")
    promise = everybody_back(AIM, 0.0, 5.0)
    assert says(promise, sight(row(), dead), sight(row()), sight(row(), linked=False), sight(dead)) == [
        True,
        False,
        False,
    ]


def test_others_are_left_alone() -> None:
    other, before = row(b"other"), sight(row(), row(b"other"))
    worse = [row(b"other", slots=4), row(b"other", violations=1), row(b"other", state="lost")]
    assert says(others_untouched(AIM, 1.0), before, sight(other), *map(sight, worse)) == [True, False, False, False]


def test_blame_is_counted_from_before() -> None:
    once, often = (sight(incidents=(Incident(1.0, KEY, "bad", n),)) for n in (1, 4))
    assert says(blamed(AIM, 3, 1.0), once, once, often) == [False, True]
    assert says(blamed(AIM, 1, 1.0), sight(incidents=(Incident(1.0, b"x", "bad", 9),)), once) == [True]


def test_slots_and_rows_are_bounded() -> None:
    rows = [row(), row(free=4), row(free=-1), row(in_flight=4)]
    assert says(slots_bounded(AIM, 1.0), BLIND, *map(sight, rows), sight()) == [True, False, False, False, True]
    assert says(one_row(AIM, 1.0), BLIND, sight(row(), row(b"x")), sight(row(), row()), BLIND) == [True, False, True]
