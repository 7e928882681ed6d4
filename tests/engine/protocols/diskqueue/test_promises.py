"""What is seen of queues; that promises are kept and broken is tested with the faults (``test_queuefaults.py``)."""

from __future__ import annotations

from engine.protocols.diskqueue import promises
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.promises import Observation

QUEUES = (
    ("start", ("a.ready", ".b.attempts", "b.1.working", "done")),
    ("parse", ("b.1.writing.xml", "c.failed", ".c.attempts", "d.failed_twice", "d.failed_twice.input")),
    ("output", ("e.ready", "f.ready")),
)
SIGHT = Observation(0.0, QUEUES, {}, {"1": "parse"}, {"parse": 1}, frozenset("abcdef"), {}, (), True)


def test_where_documents_are() -> None:
    assert SIGHT.published() == 2 and SIGHT.running("parse") == 1 and SIGHT.running("output") == 0
    assert SIGHT.beyond("start") == {"c", "d", "e", "f"} and SIGHT.beyond("output") == frozenset()
    assert SIGHT.failures() == {("start", "b"), ("parse", "c"), ("parse", "d")}


def test_the_books() -> None:
    promise = promises.books(1.0)
    assert promise.check(SIGHT, SIGHT) and promise.always
    assert not promise.check(SIGHT, SIGHT._replace(fed=frozenset("abcdefg")))


def test_what_may_fail() -> None:
    before = SIGHT._replace(queues=(("start", ()), ("parse", ()), ("output", ())))
    assert promises.nothing_fails(1.0).check(SIGHT, SIGHT)
    assert not promises.nothing_fails(1.0).check(before, SIGHT)
    one = before._replace(queues=(("start", (".b.attempts",)), *before.queues[1:]))
    assert promises.nothing_fails(1.0, "b").check(before, one) and not promises.nothing_fails(1.0, "c").check(
        before, one
    )


def test_attempts_are_bounded() -> None:
    again = SIGHT._replace(attempts={("parse", "a"): 2})
    assert not promises.at_most(1, 1.0).check(SIGHT, again) and promises.at_most(2, 1.0).check(SIGHT, again)
    assert promises.at_most(1, 1.0).check(again, again)  # it was so before


def test_how_soon_a_dead_driver_is_replaced() -> None:
    options = Options(poll=0.5, restart_first=0.5, restart_most=30.0)
    assert promises.restart_pause(options, 3, 5) == 1.0  # it had done something: at once
    assert promises.restart_pause(options, 0, 0) == 1.5
    assert promises.restart_pause(options, 0, 3) == 5.0
    assert promises.restart_pause(options, 0, 20) == 31.0
