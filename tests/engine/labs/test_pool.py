"""The seeds' words for workers, on a node that only writes down what it is told."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
import zmq

from engine.core import Seat, Socket
from engine.errors import Refused
from engine.labs import pool as module
from engine.labs.pool import Pool, passed
from engine.parts.orders import Leave


class Bench:
    """A node whose workers leave when they are told and the bench is asked to let them."""

    def __init__(self) -> None:
        self.taken: dict[str, Seat] = {}
        self.told: list[tuple[str, object]] = []
        self.wrong: Exception | None = None

    def names(self) -> list[str]:
        return list(self.taken)

    def seat(self, name: str, seat: Seat) -> Future[None]:
        future: Future[None] = Future()
        if self.wrong is not None:
            future.set_exception(self.wrong)
        else:
            self.taken[name] = seat
            future.set_result(None)
        return future

    def order(self, name: str, order: object) -> None:
        self.told.append((name, order))

    def let_go(self) -> None:
        for name, _ in self.told:
            self.taken.pop(name, None)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def pool(bench: Bench) -> Pool:
    core: Any = object()
    return Pool(bench, lambda name: Seat(core, (Socket("dealer", routing_id=name.encode()),)))


def test_an_endpoint_that_can_not_be_connected_to_is_refused(pool: Pool, bench: Bench) -> None:
    bench.wrong = zmq.ZMQError(zmq.EINVAL, "tcp://*:5: Invalid argument")
    with pytest.raises(Refused, match=r"^can not connect to tcp://\*:5: Invalid argument$"):
        pool.register(1.0)


def test_whose_a_routing_id_is_is_known_before_anybody_hears_of_it(pool: Pool, bench: Bench) -> None:
    known: list[str | None] = []

    class Early(Bench):
        def seat(self, name: str, seat: Seat) -> Future[None]:
            known.append(pool.seats.get(seat.sockets[0].routing_id))
            return super().seat(name, seat)

    pool.node = Early()
    pool.bulk(2, 1.0)
    assert known == ["worker-1", "worker-2"]


def told(bench: Bench) -> list[str]:
    assert all(order == Leave() for _, order in bench.told)
    return [name for name, _ in bench.told]


def test_the_seeds_example(pool: Pool, bench: Bench) -> None:
    pool.register(1.0)
    assert pool.alive() == ["worker-1"]
    pool.bulk(10, 1.0)
    assert len(pool.alive()) == 10
    pool.endbulk()
    assert told(bench) == [f"worker-{n}" for n in range(2, 11)]
    assert pool.alive() == ["worker-1"]
    pool.deregister()
    assert told(bench)[-1] == "worker-1"
    assert pool.alive() == []


def test_words_that_fit_nothing_are_refused_with_the_way_out(pool: Pool) -> None:
    with pytest.raises(Refused, match="register first"):
        pool.deregister()
    with pytest.raises(Refused, match="bulk starts them"):
        pool.endbulk()
    pool.add(2, 1.0)
    with pytest.raises(Refused, match="registered already"):
        pool.register(1.0)
    with pytest.raises(Refused, match="has 2 workers already"):
        pool.bulk(2, 1.0)
    with pytest.raises(Refused, match="this process has 2"):
        pool.remove(3)
    with pytest.raises(Refused, match="the least is 1"):
        pool.add(0, 1.0)


def test_the_youngest_leave_first_and_none_is_told_twice(pool: Pool, bench: Bench) -> None:
    pool.add(4, 1.0)
    pool.remove(1)
    pool.remove(2)
    assert told(bench) == ["worker-4", "worker-2", "worker-3"]
    assert pool.alive() == ["worker-1"]


def test_one_worker_by_its_routing_id(pool: Pool, bench: Bench) -> None:
    pool.add(3, 1.0)
    assert pool.stop(b"worker-2")
    assert not pool.stop(b"worker-2")
    assert not pool.stop(b"somebody else")
    assert told(bench) == ["worker-2"]


def test_after_bulk_alone_there_is_no_main_worker_and_the_way_out_is_named(pool: Pool) -> None:
    pool.bulk(2, 1.0)
    with pytest.raises(Refused, match="the worker of register is not registered; endbulk stops the 2 workers of bulk"):
        pool.deregister()


def test_the_main_worker_may_come_back(pool: Pool, bench: Bench) -> None:
    pool.add(1, 1.0)
    pool.deregister()
    bench.let_go()
    pool.register(1.0)
    assert pool.alive() == ["worker-2"]
    pool.deregister()
    assert told(bench) == ["worker-1", "worker-2"]


def test_one_process_has_a_limit(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIMIT", 5)
    pool.add(5, 1.0)
    with pytest.raises(Refused, match="5 at most, 5 run"):
        pool.add(1, 1.0)
    assert len(pool.alive()) == 5


def test_what_opening_raised_reaches_the_caller(pool: Pool, bench: Bench) -> None:
    bench.wrong = OSError("no more files")
    with pytest.raises(OSError, match="no more files"):
        pool.add(1, 1.0)
    assert pool.alive() == []


def test_closing_tells_everybody_and_waits_no_longer_than_it_may(pool: Pool, bench: Bench) -> None:
    pool.add(3, 1.0)
    pool.close(0.0)
    assert told(bench) == ["worker-1", "worker-2", "worker-3"]


def test_more_workers_than_descriptors_are_refused_with_the_number_that_would_do(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    core: Any = object()
    pool = Pool(bench, lambda name: Seat(core, (Socket("dealer", routing_id=name.encode()),)), cost=lambda: 4)
    monkeypatch.setattr(module, "descriptors_left", lambda: module.SPARE + 43)
    monkeypatch.setattr(module, "descriptor_limit", lambda: 256)
    said = r"^11 more workers: 44 file descriptors are needed, 43 left: 10 workers would do, or ulimit -n 257$"
    with pytest.raises(Refused, match=said):
        pool.add(11, 1.0)
    assert bench.taken == {} and pool.alive() == []
    pool.add(10, 1.0)
    assert len(bench.taken) == 10


def test_how_many_messages_each_worker_passed_in_words() -> None:
    assert passed({"worker-2": 3, "worker-3": 1200}) == "messages that each worker passed: w3 1,200, w2 3"
    many = passed({f"worker-{number}": 1 for number in range(25)})
    assert many.endswith(", 5 more workers 5") and many.count(" w1") == 11 and many.count(" 1,") == 20
