from __future__ import annotations

from engine.parts.inflight import Task
from engine.protocols.negotiated.dispatcher import Dispatcher


def dispatcher(**workers: tuple[str, int]) -> Dispatcher:
    """Workers by name: services separated by spaces, slots."""
    made = Dispatcher()
    for name, (services, slots) in workers.items():
        made.join(name.encode(), tuple(services.split()), slots, 0.0)
    return made


def accept(dispatcher: Dispatcher, service: str, *ids: bytes) -> list[Task]:
    tasks = [Task((b"c", task_id), service, [b"body"], 0.0) for task_id in ids]
    for task in tasks:
        dispatcher.accept(task)
    dispatcher.check()
    return tasks


def order(dispatcher: Dispatcher, service: str) -> list[bytes]:
    return list(dispatcher.queues[service].ready)


def give(dispatcher: Dispatcher, service: str) -> bytes | None:
    task = next(iter(dispatcher.give_suspects([service], 1.0)), None) or dispatcher.give(
        dispatcher.queues[service], 1.0
    )
    dispatcher.check()
    dispatcher.check_suspects()
    return task.worker if task is not None else None


def test_a_worker_stands_in_the_queue_of_each_of_its_services() -> None:
    it = dispatcher(a=("x y", 1), b=("y", 1))
    assert (order(it, "x"), order(it, "y")) == ([b"a"], [b"a", b"b"])
    accept(it, "y", b"1", b"2", b"3")
    assert [give(it, "y") for _ in range(3)] == [b"a", b"b", None]
    assert (order(it, "x"), order(it, "y")) == ([], [])
    assert it.queued == 1 and it.in_flight.count == 2


def test_least_recently_used_first_also_with_slots() -> None:
    it = dispatcher(a=("x", 2), b=("x", 2))
    accept(it, "x", b"1", b"2", b"3", b"4")
    assert [give(it, "x") for _ in range(4)] == [b"a", b"b", b"a", b"b"]
    assert it.take(b"b", (b"c", b"2")) is not None
    assert order(it, "x") == [b"b"]


def test_without_a_worker_or_a_task_nothing_is_given() -> None:
    it = dispatcher(a=("x", 1))
    assert give(it, "x") is None
    accept(it, "y", b"1")
    assert give(it, "y") is None and it.queued == 1


def test_requeued_first_in_line() -> None:
    it = dispatcher(a=("x", 1), b=("x", 1))
    accept(it, "x", b"1", b"2")
    give(it, "x")
    for task in it.leave(b"a", 2.0):
        it.requeue(task)
    it.check()
    queue = it.queues["x"]
    assert [task.key[1] for task in (*queue.suspects.waiting, *queue.backlog)] == [b"1", b"2"]
    assert give(it, "x") == b"b" and it.tasks[b"c", b"1"].attempt == 2


def test_what_a_worker_does_not_hold_can_not_be_taken_from_it() -> None:
    it = dispatcher(a=("x", 1), b=("x", 1))
    accept(it, "x", b"1")
    give(it, "x")
    assert it.take(b"b", (b"c", b"1")) is None and it.take(b"a", (b"c", b"2")) is None
    assert it.members[b"b"].free == 1 and it.members[b"a"].free == 0


def test_joining_again_keeps_what_is_held_and_changes_the_rest() -> None:
    it = dispatcher(a=("x y", 2))
    accept(it, "x", b"1")
    give(it, "x")
    it.join(b"a", ("z",), 3, 0.0)
    it.check()
    assert (order(it, "x"), "y" in it.queues, order(it, "z")) == ([], False, [b"a"])
    assert it.members[b"a"].free == 2 and it.in_flight.held(b"a") == 1


def test_a_drained_or_parked_worker_gets_nothing_and_gives_back() -> None:
    it = dispatcher(a=("x", 2), b=("x", 2))
    accept(it, "x", b"1", b"2")
    give(it, "x")
    it.drain(b"a")
    it.check()
    assert order(it, "x") == [b"b"]
    task = it.take(b"a", (b"c", b"1"))
    assert task is not None
    it.end(task)
    it.park()
    it.check()
    assert order(it, "x") == [] and it.members[b"a"].free == 2
    it.join(b"b", ("x",), 2, 0.0)
    assert order(it, "x") == [b"b"]


def test_a_queue_is_there_while_its_service_is_offered_or_asked_for() -> None:
    it = dispatcher(a=("x y", 1), b=("y", 1))
    accept(it, "z", b"1")
    accept(it, "x", b"2")
    assert set(it.queues) == {"x", "y", "z"} and it.offered() == 2
    it.join(b"a", ("y",), 1, 0.0)
    it.check()
    assert set(it.queues) == {"x", "y", "z"} and it.offered() == 1, "a task for x waits"
    it.leave(b"b", 2.0)
    it.leave(b"a", 2.0)
    it.check()
    assert set(it.queues) == {"x", "z"} and it.offered() == 0
    it.withdraw([b"c"])
    it.check()
    assert not it.queues and not it.tasks and not it.size and not it.queued


def test_the_queue_of_what_a_leaving_worker_held_stays_until_that_is_over() -> None:
    it = dispatcher(a=("x", 1))
    accept(it, "x", b"1")
    give(it, "x")
    (task,) = it.leave(b"a", 2.0)
    assert "x" in it.queues
    it.end(task)
    it.check()
    assert not it.queues


def test_what_waits_of_a_client_is_withdrawn_and_nothing_else() -> None:
    it = dispatcher(a=("x", 1), b=("x", 1))
    accept(it, "x", b"1", b"2", b"3")
    other = Task((b"d", b"1"), "x", [b"body"], 0.0)
    it.accept(other)
    give(it, "x")
    give(it, "x")
    for task in it.leave(b"a", 2.0):
        it.requeue(task)
    assert [task.key[1] for task in it.withdraw([b"c"])] == [b"1", b"3"]
    it.check()
    assert list(it.tasks) == [(b"c", b"2"), (b"d", b"1")] and it.queued == 1 and it.in_flight.count == 1
    assert it.withdraw([b"c", b"nobody"]) == []


def test_changes_are_noted_while_somebody_asks() -> None:
    it = dispatcher(a=("x", 1))
    it.log = []
    (task,) = accept(it, "x", b"1")
    give(it, "x")
    assert it.take(b"a", task.key) is task
    it.requeue(task)
    give(it, "x")
    (again,) = it.leave(b"a", 2.0)
    it.end(again)
    it.join(b"b", ("x",), 4, 0.0)
    accept(it, "x", b"2")
    it.withdraw([b"c"])
    assert it.log == [
        ["a", b"c", b"1", "x", b"body", 0],
        ["g", b"c", b"1", b"a"],
        ["r", b"c", b"1"],
        ["g", b"c", b"1", b"a"],
        ["l", b"a"],
        ["e", b"c", b"1"],
        ["j", b"b", ["x"], 4],
        ["a", b"c", b"2", "x", b"body", 0],
        ["w", [b"c"]],
    ]
