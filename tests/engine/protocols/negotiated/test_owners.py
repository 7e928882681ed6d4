from __future__ import annotations

import pytest

from engine.parts.inflight import Task
from engine.protocols.negotiated import owners as module
from engine.protocols.negotiated.owners import Owners, share


def task(task_id: bytes, client: bytes = b"c", service: str = "x", body: bytes = b"body") -> Task:
    return Task((client, task_id), service, [body], 0.0)


@pytest.mark.parametrize(
    ("backlog", "most"), [(0, 0), (60, 60), (1_000, 1_000), (5_000, 1_000), (100_000, 10_000), (1_000_000, 100_000)]
)
def test_a_clients_share_of_the_backlog(backlog: int, most: int) -> None:
    assert share(backlog) == most


def test_what_a_client_has_is_counted_until_it_has_nothing() -> None:
    it = Owners()
    one, two = task(b"1"), task(b"2", service="y")
    it.add(one)
    it.add(two)
    it.check({one.key: one, two.key: two})
    one.worker = b"w"
    it.given(one)
    assert it.queued(b"c") == 1 and it.waiting(b"c") == [two] and b"c" in it
    one.worker = b""
    it.back(one)
    assert it.waiting(b"c") == [one, two]
    for each in (one, two):
        it.given(each)
        it.remove(each)
    it.check({})
    assert list(it) == [] and it.queued(b"c") == 0 and it.waiting(b"c") == []


def test_services_and_bytes_of_one_client_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SERVICES", 2)
    monkeypatch.setattr(module, "BYTES", 10)
    it = Owners()
    assert it.excess(b"c", "x", 11) == "", "the first; a single body has a bound of its own"
    it.add(task(b"1"))
    it.add(task(b"2", service="y"))
    assert it.excess(b"c", "z", 0).startswith("you have tasks for 2 services")
    assert it.excess(b"c", "x", 2) == "" and it.excess(b"c", "x", 3).startswith("your tasks would have more than 10")
    assert it.excess(b"d", "z", 3) == "", "another client has its own share"
