"""The load peers tell a broker that does its work from one that loses, repeats or spoils it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
import zmq

from tests.bench import peers, plain
from tests.bench.peers import Foul, Mode, ZContext, load, on_thread, proxy, workers

FRONT, BACK = "inproc://front", "inproc://back"
Answer = Callable[[list[bytes], int], list[list[bytes]]]


@pytest.fixture
def context() -> Iterator[ZContext]:
    context: ZContext = zmq.Context()
    yield context
    context.term()


def started(act: Callable[..., object], *arguments: object) -> threading.Thread:
    ready = threading.Event()
    thread = on_thread(act, *arguments, ready.set)
    ready.wait()
    return thread


def crew(context: ZContext, endpoint: str, slots: int) -> Callable[[], int]:
    """Two workers; the call ends them and returns what they did."""
    halt: list[bool] = []
    done: list[int] = []
    ready = threading.Event()
    thread = on_thread(lambda: done.append(workers(context, endpoint, 2, slots, ready.set, halt)))
    ready.wait()

    def end() -> int:
        halt.append(True)
        thread.join()
        return done[0]

    return end


@pytest.mark.parametrize("size", [0, 3000])
def test_the_plain_broker_does_every_task_once(context: ZContext, size: int) -> None:
    started(plain.serve, context, FRONT)
    end = crew(context, FRONT, 3)
    assert load(context, FRONT, 100, 50, size, "wire")["tasks"] == 110
    assert end() == 110


@pytest.mark.parametrize("mode", ["raw", "one"])
@pytest.mark.parametrize("size", [0, 3000])
def test_the_proxy_does_every_task_once(context: ZContext, mode: Mode, size: int) -> None:
    started(proxy, context, FRONT, BACK)
    end = crew(context, BACK, 0)
    assert load(context, FRONT, 100, 50, size, mode)["tasks"] == 110
    assert end() == 110


def bad_broker(context: ZContext, answer: Answer, ready: Callable[[], None]) -> None:
    """Answers every task itself, after its own fashion."""
    router = context.socket(zmq.ROUTER)
    router.bind(FRONT)
    ready()
    count = 0
    try:
        while True:
            peer, *message = router.recv_multipart()
            count += 1
            for reply in answer(message, count):
                router.send_multipart([peer, *reply])
    except zmq.ContextTerminated:
        router.close(0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda message, count: [message] * (1 + (count == 5)), "a second reply"),
        (lambda message, count: [message] * (1 + (count == 11)), "a second reply"),
        (lambda message, count: [message] * (count != 11), "no reply: 1 of 11 tasks"),
        (lambda message, count: [[message[0][:8]]], "a reply that is not as it should be"),
        (lambda message, count: [[b"\xff" * 8 + message[0][8:]]], "a reply that is not as it should be"),
    ],
)
def test_a_task_that_is_lost_repeated_or_spoilt_is_a_foul(
    context: ZContext, monkeypatch: pytest.MonkeyPatch, answer: Answer, words: str
) -> None:
    monkeypatch.setattr(peers, "SILENCE", 200)
    started(bad_broker, context, answer)
    with pytest.raises(Foul, match=words):
        load(context, FRONT, 10, 3, 0, "one")
