"""The workers in C that share a connection speak what ``engine.drive.sharing`` reads and writes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq

from engine.drive.sharing.envelope import unwrap, wrap
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from tests.bench.stage import Stage
from tests.helpers.processes import WAIT

WORKERS, TASKS = 5, 300


class Broker:
    """Agrees to everything. ``joined``: how many slots each worker has; ``answered``: by whom each task was."""

    def __init__(self, router: zmq.Socket[bytes]) -> None:
        self.joined: dict[bytes, int] = {}
        self.answered: list[tuple[bytes, bytes, bytes, packed.Data]] = []
        self._router, self._carrier = router, b""

    def send(self, messages: list[list[bytes]]) -> None:
        for frames, _ in wrap(messages):
            self._router.send_multipart([self._carrier, *frames])

    def take(self) -> None:
        """One message, whatever it is."""
        self._carrier, *frames = self._router.recv_multipart()
        if frames[0] == b"":  # not wrapped: it asks whether the broker agrees
            self._router.send_multipart([self._carrier, *wire.link_pong(frames[3].replace(b"seat", b"SEAT"))])
            return
        messages = unwrap(frames)
        assert not isinstance(messages, str), messages
        self.send([answer for message in messages for answer in self._answers(message)])

    def _answers(self, message: list[bytes]) -> Iterator[list[bytes]]:
        worker, *frames = message
        if len(frames) == 1:
            answers = packed.read_answers(frames[0])
            assert not isinstance(answers, str), answers
            self.answered += [(worker, *answer) for answer in answers]
            return
        what = wire.at_broker(message)
        if what is wire.LINK_PING:
            yield [worker, *wire.link_pong(frames[3])]
        elif what is wire.JOIN:
            self.joined[worker] = wire.slots_of(message) or 0
            yield [worker, *wire.registered(frames[3])]
        else:
            assert what is wire.LINK_PONG and frames[3] == b"ask"


@contextmanager
def riding(stage: Stage) -> Iterator[tuple[Broker, list[int]]]:
    """A broker with the workers of one process, and in the end what these say that they did."""
    zdrive = stage.c_peers()
    if zdrive is None:
        pytest.skip("no C compiler, or pyzmq does not show its libzmq")
    done: list[int] = []
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.set(zmq.LINGER, 0)
        router.set(zmq.RCVTIMEO, int(WAIT * 1000))
        port = router.bind_to_random_port("tcp://127.0.0.1")
        child = stage.launch(*zdrive, "riders", f"tcp://127.0.0.1:{port}", str(WORKERS), "100")
        yield Broker(router), done
        child.send_signal(signal.SIGTERM)
        out, _ = child.communicate(timeout=WAIT)
        done.append(int(out.split()[-1]))


def test_many_workers_of_one_connection_answer_each_of_their_tasks_once() -> None:
    tasks = [wire.ping(number.to_bytes(8, "little"), True)[2:5] for number in range(TASKS)]
    with Stage() as stage, riding(stage) as (broker, done):
        while len(broker.joined) < WORKERS:
            broker.take()
        assert {*broker.joined.values()} == {100}
        given = {worker: tasks[at::WORKERS] for at, worker in enumerate(broker.joined)}
        broker.send([[worker, *wire.link_ping(b"ask")] for worker in given])
        for worker, own in given.items():
            for first in range(0, len(own), packed.BATCH):
                batch = [value for task in own[first : first + packed.BATCH] for value in (b"client", task)]
                broker.send([[worker, packed.deliveries(batch)]])
        while len(broker.answered) < TASKS:
            broker.take()
    wanted = [(worker, b"client", task[1], True) for worker, own in given.items() for task in own]
    assert sorted(broker.answered) == sorted(wanted) and done == [TASKS]
