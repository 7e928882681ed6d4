"""The conversation over real sockets: a plain TCP worker that knows nothing of ZeroMQ, beside those that do."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import zmq

from engine.drive.node import Node
from engine.drive.sockets import make_context
from engine.feed import Feed
from engine.protocols.conversation import SYSTEM, frontend
from engine.protocols.conversation.header import Decoder
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import answer_in_words, array, message, words
from tests.helpers.processes import WAIT


class Plain:
    """A worker over plain TCP."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, WAIT)
        self.decoder = Decoder(1000)
        self.heard: list[str] = []

    def hear(self) -> str:
        """The next message in words, ``closed`` at the end."""
        raw = b""
        while not self.decoder.count:
            chunk = self.socket.recv(1)
            if not chunk:
                return "closed"
            raw += chunk
            self.decoder.feed(chunk)
        self.decoder = Decoder(1000)
        return words(raw)

    def say(self, text: str) -> None:
        """A message, in two pieces."""
        raw = message(text)
        self.socket.sendall(raw[:5])
        self.socket.sendall(raw[5:])


class Bench:
    """A broker of which all three sockets are open, and a client."""

    def __init__(self) -> None:
        self.context = make_context()
        self.stream = ("127.0.0.1", free_port())
        options = Options(stream=f"tcp://127.0.0.1:{self.stream[1]}")
        self.node = Node("broker", self.context, Feed())
        self.node.start()
        self.node.seat("broker", SYSTEM.broker(options, ("inproc://broker",))).result(WAIT)
        self.node.seat("worker", SYSTEM.worker(options, "inproc://broker", 1, 1)).result(WAIT)
        self.client = self.context.socket(zmq.DEALER)
        self.client.setsockopt(zmq.RCVTIMEO, int(WAIT * 1000))
        self.client.connect("inproc://broker-frontend")

    def ask(self, ref: int, request: frontend.Request) -> None:
        self.client.send(frontend.pack_request(ref, request))

    def told(self) -> str:
        return answer_in_words(self.client.recv())

    def close(self) -> None:
        self.client.close(0)
        assert self.node.stop(WAIT) and self.node.dead is None
        self.context.term()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_a_plain_worker_takes_part(bench: Bench) -> None:
    plain = Plain(bench.stream)
    assert plain.hear() == "OK(0)"
    plain.say("OK(2)")
    assert plain.hear() == "OK(2)"
    bench.ask(7, frontend.Submit(array("echo"), slots=2))  # too large for the worker of ours
    assert bench.told() == "[7] accepted 1"
    assert plain.hear() == "JOB 1/1 #1"
    plain.say("UPDATE 1/1 done free 2")
    assert plain.hear() == "OK(2)"
    assert [bench.told(), bench.told()] == ["[7] task 1/1 done", "[7] job 1 finished: 1 done, 0 failed"]
    bench.ask(8, frontend.StopWorkers())
    assert bench.told() == "[8] 3 processors stop, of 2 workers; none is left"
    assert plain.hear() == "STOP(2)"
    plain.socket.close()


def test_a_plain_worker_that_goes_gives_its_task_back(bench: Bench) -> None:
    plain = Plain(bench.stream)
    assert plain.hear() == "OK(0)"
    plain.say("OK(2)")
    assert plain.hear() == "OK(2)"
    bench.ask(7, frontend.Submit(array("echo"), slots=2))
    assert plain.hear() == "JOB 1/1 #1"
    plain.socket.close()
    other = Plain(bench.stream)
    assert other.hear() == "OK(0)"
    other.say("OK(2)")
    assert [other.hear(), other.hear()] == ["OK(2)", "JOB 1/1 #1"]
    other.socket.close()


@pytest.mark.parametrize(
    "bad",
    [
        "474554202f20485454502f312e310d0a",
        "47c0030000000000ffffffff",
        "47c0060000000000ffffff00",
        "47c003000000000001000000c1",
    ],
)
def test_what_can_not_be_read_is_cut_off_and_nobody_else(bench: Bench, bad: str) -> None:
    plain = Plain(bench.stream)
    assert plain.hear() == "OK(0)"
    plain.say("OK(1)")
    assert plain.hear() == "OK(1)"
    plain.say(bad)
    assert plain.hear() == "closed"
    plain.socket.close()
    bench.ask(1, frontend.Submit(array(":ping")))
    assert bench.told() == "[1] task 1/1 done"  # by the worker of ours
    view = bench.node.ask("broker").result(WAIT)
    assert len(view.workers) == 1 and len(view.incidents) == 1
