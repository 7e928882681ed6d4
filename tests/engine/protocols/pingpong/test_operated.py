"""What an operator orders of the broker: limits, workers that may stay or are lost, jobs that go elsewhere."""

from __future__ import annotations

import pytest

from engine.core import NEVER, Command, Note, Ordered, Received, Send, Started, Woken
from engine.parts.orders import Drain, Expire, Requeue, StopRun, Throttle, Undrain
from engine.parts.valve import ALL
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.frontend import FRONTEND
from engine.protocols.pingpong.messages import EXIT, PING, PONG, READY
from engine.protocols.pingpong.operated import BACKEND
from engine.protocols.pingpong.options import Options

T = 50.0


class Shop:
    """A broker, and what it sends to workers and clients: (who, last frame)."""

    def __init__(self, *workers: bytes, options: Options | None = None) -> None:
        self.broker = Broker(options or Options())
        self.now, self.notes = T, list[Note]()
        self.broker.handle(Started(), T)
        for key in workers:
            self.says(key, READY)

    def do(self, event: object) -> list[tuple[bytes, bytes]]:
        out: list[Command] = self.broker.handle(event, self.now)  # type: ignore[arg-type]
        self.broker.check()
        self.notes += [one for one in out if isinstance(one, Note)]
        return [(one.frames[0], one.frames[-1]) for one in out if isinstance(one, Send)]

    def says(self, key: bytes, body: bytes) -> list[tuple[bytes, bytes]]:
        return self.do(Received([[key, b"", body]], BACKEND))

    def asks(self, number: int, client: bytes = b"c") -> list[tuple[bytes, bytes]]:
        return self.do(Received([[client, b"", ident(number), b"%s%d" % (client, number)]], FRONTEND))

    def order(self, order: object) -> list[tuple[bytes, bytes]]:
        return self.do(Ordered(order))

    def wake(self) -> list[tuple[bytes, bytes]]:
        self.now = self.broker.wake_at()
        return self.do(Woken())

    def counter(self, name: str) -> int:
        return dict(self.broker.snapshot(self.now).counters)[name]


def ident(number: int) -> bytes:
    return number.to_bytes(8, "little")


def test_a_pause_holds_up_what_waits_though_workers_are_idle_and_within_the_bound() -> None:
    shop = Shop(b"w", options=Options(max_backlog=2))
    assert shop.order(Throttle(0.0)) == [] and shop.asks(1) == [] == shop.asks(2)
    assert shop.asks(3) == [(b"c", b"the backlog is full")], "a worker is idle, and gets nothing"
    view = shop.broker.snapshot(T)
    assert view.limits == ((ALL, 0.0),) and ("dispatch", "paused") in view.terms and view.backlog == 2
    assert shop.order(Throttle(None)) == [(b"w", b"c1")] and shop.broker.tasks.valve is None
    assert shop.says(b"w", b"r") == [(b"c", b"r"), (b"w", b"c2")]


def test_so_many_tasks_a_second_are_given_out() -> None:
    shop = Shop(b"v", b"w", b"x", b"y", options=Options(worker_expiry=60.0))
    shop.order(Throttle(4.0))
    assert shop.asks(1) == [(b"v", b"c1")] and shop.asks(2) == [] == shop.asks(3)
    given: list[tuple[float, tuple[bytes, bytes]]] = []
    while len(given) < 2 and shop.now < T + 60:
        given += [(shop.now - T, told) for told in shop.wake() if told[1] != PONG]
    assert [told for _, told in given] == [(b"w", b"c2"), (b"x", b"c3")]
    assert [at for at, _ in given] == pytest.approx([0.25, 0.5])


def test_the_limit_of_one_client_holds_up_nobody_else() -> None:
    shop = Shop(b"v", b"w", b"x")
    shop.order(Throttle(0.0, b"c"))
    assert shop.asks(1) == [] == shop.asks(2)
    assert shop.asks(3, b"d") == [(b"v", b"d3")]
    assert shop.broker.tasks.valve is not None and shop.broker.tasks.wake_at() < NEVER
    assert shop.order(Throttle(None, b"c")) == [(b"w", b"c1"), (b"x", b"c2")], "in their order"


def test_a_worker_that_is_to_leave_when_its_job_is_done_may_stay() -> None:
    shop = Shop(b"w")
    shop.asks(1)
    assert shop.order(Drain(b"w")) == [] == shop.order(Undrain(b"w"))
    assert shop.says(b"w", b"r") == [(b"c", b"r")] and shop.asks(2) == [(b"w", b"c2")]
    for key, why in ((b"w", "it does not drain"), (b"v", "it does not drain")):
        shop.order(Undrain(key))
        assert shop.notes[-1] == Note("warn", why, key, True)
    shop.says(b"w", b"r")
    assert shop.order(Drain(b"w")) == [(b"w", EXIT)]
    shop.order(Undrain(b"w"))
    assert shop.notes[-1] == Note("warn", "it was sent EXIT, which nothing takes back", b"w", True)


def test_one_that_owes_a_result_may_stay_too() -> None:
    shop = Shop(b"w")
    shop.asks(1)
    shop.order(Drain(b"w"))
    shop.order(Requeue(b"w"))
    shop.order(Undrain(b"w"))
    assert shop.says(b"w", PING) == [] and shop.says(b"w", READY) == [(b"w", PONG), (b"w", b"c1")]


def test_a_worker_is_lost_because_an_operator_says_so() -> None:
    shop = Shop(b"w", b"v")
    shop.asks(1)
    assert shop.order(Expire(b"w")) == [(b"v", b"c1")], "another one gets its job at once"
    assert shop.notes[-1].text == "lost: an operator said so, 1 task taken back"
    assert (shop.counter("lost workers"), shop.counter("re-deliveries")) == (1, 1)
    assert shop.says(b"w", b"r") == [] and shop.counter("late results") == 1, "it is back, and that result is late"
    assert shop.says(b"v", b"r2") == [(b"c", b"r2")] and shop.asks(2) == [(b"w", b"c2")]
    for key in (b"nobody", b"w"):
        shop.order(Expire(key))
        assert shop.notes[-1].declines == (key == b"nobody")
    shop.order(Expire(b"w"))
    assert shop.notes[-1].declines, "it is lost already"


@pytest.mark.parametrize("order", [Requeue(b"w"), Requeue(b"", b"c", ident(1))])
def test_a_job_is_taken_back_and_given_to_another(order: Requeue) -> None:
    shop = Shop(b"w", b"v", options=Options(max_deliveries=2))
    shop.asks(1)
    assert shop.order(order) == [(b"v", b"c1")] and shop.counter("re-deliveries") == 1
    assert shop.asks(2) == [], "the first one is at it still"
    assert shop.says(b"w", b"r") == [(b"w", b"c2")] and shop.counter("late results") == 1
    assert shop.order(Requeue(b"v")) == [(b"c", b"2 deliveries came to nothing")], "it was delivered often enough"
    shop.order(Requeue(b"v"))
    assert shop.notes[-1] == Note("warn", "it holds no task", b"v", True)
    shop.order(Requeue(b"", b"c", ident(9)))
    assert shop.notes[-1] == Note("warn", "no worker holds task 0900000000000000", b"", True)


def test_an_order_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="a ping-pong broker takes no StopRun"):
        Broker(Options()).handle(Ordered(StopRun()), T)
