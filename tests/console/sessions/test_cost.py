"""What tracing costs, in words, here and elsewhere."""

from __future__ import annotations

from console.sessions.cost import KEPT, MeteredOperations, MeteredTrace
from engine.catalogue import SYSTEMS
from engine.core import Note, Woken
from engine.protocols.diskqueue.operations import Done, Take

TAKEN = Done(Take("/p/queue-start", "a.ready", "a.1.working"))


def test_before_anything_was_said_it_costs_nothing() -> None:
    assert MeteredOperations(("start", "parse")).cost() == "tracing"
    assert MeteredTrace(SYSTEMS["pingpong"]).cost() == "tracing"


def test_taps_are_measured_by_node_and_what_others_spent_is_added() -> None:
    trace = MeteredOperations(("start", "parse"))
    trace.tap("parse.1", "parse.1", 1.0, TAKEN, [])
    trace.tap("watchdog", "watchdog", 1.0, Woken(), [Note("info", "text")])
    assert set(trace._spent) == {"parse.1", "watchdog"} and all(trace._spent.values())
    trace.elsewhere = lambda: 10.0
    words = trace.cost()
    assert words.startswith("tracing costs ") and words.endswith(" of a processor")
    assert float(words.split()[2].partition("µs")[0]) > 10e6 / trace.total - 1
    assert trace._kept == KEPT


def test_what_was_not_heard_is_said() -> None:
    trace = MeteredOperations(("start", "parse"))
    trace.lost = lambda: 1234
    assert trace.cost() == "tracing · 1,234 lost"
