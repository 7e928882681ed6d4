"""What can be seen, and asked of it."""

from __future__ import annotations

from engine.parts.promise import Observation
from engine.parts.view import BrokerView, Incident, LedgerView, WorkerRow


def test_a_sight_finds_rows_of_the_living_counts_and_blame() -> None:
    rows = tuple(
        WorkerRow(key, key.decode(), state, 1, 1, 0, 0, 0, 0, 0.0, 0.0, 1.0, None)  # type: ignore[arg-type]
        for key, state in ((b"a", "ready"), (b"b", "lost"), (b"b", "late"))
    )
    incidents = (Incident(0.0, b"a", "one", 2), Incident(0.0, b"b", "one", 5), Incident(0.0, b"a", "two", 1))
    broker = BrokerView(0.0, rows, 0, 0, LedgerView(0, 0, (), 0, 0, 0), (("late", 3),), incidents)
    sight = Observation(0.0, broker, None)
    assert sight.row(b"a") is rows[0] and sight.row(b"b") is rows[2] and sight.row(b"c") is None
    assert (sight.count("late"), sight.count("early")) == (3, 0)
    assert (sight.blamed(b"a"), sight.blamed(b"c")) == (3, 0)


def test_without_a_broker_nothing_is_seen() -> None:
    sight = Observation(0.0, None, None)
    assert (sight.row(b"a"), sight.count("late"), sight.blamed(b"a"), sight.serving) == (None, 0, 0, ())
