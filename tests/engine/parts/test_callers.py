from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.core import NEVER
from engine.errors import Refused
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.callers import CLIENTS, KEPT, OLDEST, PACE, Callers, ClientRow, Underway
from engine.parts.inflight import Task


def task(client: bytes, number: int, accepted: float, worker: bytes = b"") -> Task:
    one = Task((client, number.to_bytes(4)), "ping", [], accepted)
    one.worker = worker
    return one


def test_clients_and_tasks_are_told_of_what_is_under_way() -> None:
    callers = Callers()
    callers.sent(b"a", 3, 1.0)
    callers.sent(b"b", 1, 2.0)
    callers.sent(b"a", 2, 3.0)
    callers.sent(b"idle", 1, 0.5)
    tasks = [task(b"a", 1, 1.0, b"w"), task(b"b", 2, 2.0), task(b"a", 3, 3.0)]
    crowd = Underway(b"c", b"\1", "job 1", 1.5, 0, b"", 50)
    clients, oldest = callers.view(lambda: (tasks, [crowd], tasks[:1]), 4.0)
    assert clients == (
        ClientRow(b"c", 0, 0.0, 50, 0, 1.5),
        ClientRow(b"a", 5, 3.0, 1, 1, 1.0),
        ClientRow(b"b", 1, 2.0, 1, 0, 2.0),
        ClientRow(b"idle", 1, 0.5, 0, 0, NEVER),
    )
    assert [(one.client, one.accepted, one.worker, one.tasks) for one in oldest] == [
        (b"a", 1.0, b"w", 1),
        (b"c", 1.5, b"", 50),
        (b"b", 2.0, b"", 1),
        (b"a", 3.0, b"", 1),
    ]


def test_a_picture_of_many_tasks_holds_longer() -> None:
    callers = Callers()
    tasks = [task(b"a", i, float(i)) for i in range(1000)]
    first = callers.view(lambda: (tasks, (), ()), 0.0)
    assert callers.view(lambda: ([], (), ()), 999 * PACE) == first
    assert callers.view(lambda: ([], (), ()), 1000 * PACE) == ((), ())


def test_what_is_kept_and_shown_is_bounded() -> None:
    callers = Callers()
    for i in range(KEPT + 10):
        callers.sent(b"%d" % i, 1, float(i))
    clients, oldest = callers.view(lambda: ([task(b"x", i, float(i)) for i in range(2 * OLDEST)], (), ()), 0.0)
    assert len(callers.known) == KEPT and b"0" not in callers.known
    assert len(clients) == CLIENTS and clients[0].key == b"x" and clients[1].key == b"%d" % (KEPT + 9)
    assert len(oldest) == OLDEST and oldest[0].accepted == 0.0


@pytest.mark.parametrize("name", SYSTEMS)
def test_one_task_that_waits_is_dropped_and_the_books_know_it(name: str) -> None:
    system = SYSTEMS[name]
    with Sandbox(system, workers=0) as sandbox:
        sandbox.advance(3.0)
        sandbox.run(BulkSpec("ping", 3, in_flight=3, timeout=60.0))
        sandbox.advance(0.5)
        view = sandbox.feed.pictures["broker"]
        assert sum(one.tasks for one in view.oldest) == view.backlog == 3
        (client,) = [one for one in view.clients if one.waiting]
        assert (client.sent, client.waiting, client.in_flight) == (3, 3, 0)
        if not system.owners:
            with pytest.raises(Refused, match="withdraws no single task"):
                sandbox.discard(*view.oldest[0][:2])
            return
        second = view.oldest[1]
        sandbox.discard(second.client, second.id)
        sandbox.discard(second.client, second.id)
        sandbox.advance(0.5)
        after = sandbox.feed.pictures["broker"]
        assert [one.id for one in after.oldest] == [view.oldest[0].id, view.oldest[2].id]
        assert after.ledger.failed == (("withdrawn", 1),) and after.ledger.balanced
        sandbox.world.core("broker").check()
        told = [event.text for event in sandbox.feed.since(0)[0]]
        assert any("which waited, is withdrawn" in text for text in told)
        assert any("does not wait any more" in text for text in told)


@pytest.mark.parametrize("name", SYSTEMS)
def test_one_task_that_waits_is_moved_before_the_others_or_behind_them(name: str) -> None:
    system = SYSTEMS[name]
    with Sandbox(system, workers=0) as sandbox:
        sandbox.advance(3.0)
        sandbox.run(BulkSpec("ping", 3, in_flight=3, timeout=60.0))
        sandbox.advance(0.5)
        one, *others = sandbox.feed.pictures["broker"].oldest
        if not system.owners:
            with pytest.raises(Refused, match="moves no single task: hold the jobs"):
                sandbox.move(one.client, one.id, True)
            return
        two, three = others

        def line(*moves: tuple[Underway, bool]) -> list[bytes]:
            for task, first in moves:
                sandbox.move(task.client, task.id, first)
            sandbox.advance(0.5)
            sandbox.world.core("broker").check()
            return [task.id for task in sandbox.feed.pictures["broker"].oldest if task.next]

        assert line() == [one.id]
        assert line((three, True)) == [three.id]
        assert line((three, False)) == [one.id]
        assert line((one, False), (two, False)) == [three.id], "three, one, two"
        told = [event.text for event in sandbox.feed.since(0)[0]]
        assert any("waits before the others now" in text for text in told)
        assert any("waits behind the others now" in text for text in told)
        sandbox.add_workers(1)
        sandbox.advance(5.0)
        sandbox.move(one.client, one.id, True)
        sandbox.advance(0.5)
        after = sandbox.feed.pictures["broker"]
        assert after.backlog == 0 and after.ledger.succeeded == 3
        assert any("does not wait any more" in event.text for event in sandbox.feed.since(0)[0])


def test_readonly_moves_and_drops_nothing() -> None:
    with Sandbox(SYSTEMS["roundrobin"], workers=0, readonly=True) as sandbox, pytest.raises(Refused):
        sandbox.discard(b"c", b"1")
    with Sandbox(SYSTEMS["roundrobin"], workers=0, readonly=True) as sandbox, pytest.raises(Refused):
        sandbox.move(b"c", b"1", True)
