"""The conversation over real sockets: a plain TCP worker that knows nothing of ZeroMQ, beside those that do."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from engine.drive.node import Node
from engine.drive.security.users import Trust
from engine.drive.sockets import make_context
from engine.feed import Feed
from engine.protocols.conversation import SYSTEM, frontend, header, messages
from engine.protocols.conversation.header import Decoder
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import answer_in_words, array, message, words
from tests.helpers.processes import WAIT, free_endpoint, until


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
        self.stream = ("127.0.0.1", int(free_endpoint().rpartition(":")[2]))
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


class Original:
    """A server over plain TCP that says what the original did, byte for byte, and does not know ZeroMQ."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(WAIT)
        self.port: int = self._listener.getsockname()[1]
        self._decoder = Decoder(1_000_000)
        self._heard: list[bytes] = []

    def accept(self) -> None:
        self.peer, _ = self._listener.accept()
        self.peer.settimeout(WAIT)

    def say(self, raw: bytes) -> None:
        self.peer.sendall(raw)

    def hear(self) -> tuple[int, int, int, bytes]:
        """The next message: kind, padding, argument, body."""
        while not (found := self._decoder.feed(self.peer.recv(1))):
            pass
        return found[0]

    def closed(self) -> bool:
        return self.peer.recv(1) == b""

    def close(self) -> None:
        self.peer.close()
        self._listener.close()


def test_our_worker_runs_the_jobs_of_a_server_as_the_original_was(tmp_path: Path) -> None:
    """The bytes are the original's own (tests/vectors), but for a job that can run here."""
    vectors = json.loads((Path(__file__).parents[1] / "vectors" / "conversation.json").read_text())["vectors"]
    said = {vector["name"]: bytes.fromhex(vector["hex"]) for vector in vectors}
    server, context = Original(), make_context()
    node = Node("worker", context, Feed())
    node.start()
    node.seat("w", SYSTEM.worker(Options(), f"tcp+plain://127.0.0.1:{server.port}", 1, 4)).result(WAIT)
    server.accept()
    server.say(said["OK(0)"])
    assert server.hear() == (1, 0, 4, b"")
    server.say(said["OK(4)"])
    job = Description(3, "job", 9, str(tmp_path), str(tmp_path), "/bin/echo", 1)
    server.say(header.pack_body(header.JOB, messages.pack_task(7, messages.pack_description(job))))
    kind, padding, _, body = server.hear()
    update = messages.update(body)
    assert isinstance(update, messages.Update) and (kind, padding) == (3, 0)
    assert (update.job_id, update.task, update.success, update.status, update.free) == (3, 7, True, "done", 4)
    assert (tmp_path / "job_7.log").read_text() == "7\n"
    server.say(said["OK(4)"])
    server.say(said["STOP(0)"])
    assert server.closed(), "an idle worker that is stopped leaves: that is its DISCONNECT"
    server.close()
    assert node.stop(WAIT) and node.dead is None
    context.term()


def test_a_strangers_server_over_plain_tcp_is_not_obeyed(tmp_path: Path) -> None:
    """For a worker of another user the server of this one is a stranger's."""
    told: list[str] = []
    server = Original()
    context = make_context(lambda note: told.append(note.text), Trust(os.geteuid() + 1, frozenset()))
    node = Node("worker", context, Feed())
    node.start()
    node.seat("w", SYSTEM.worker(Options(), f"tcp+plain://127.0.0.1:{server.port}", 1, 4)).result(WAIT)
    server.accept()
    server.say(header.pack(header.OK, 0))
    until(lambda: told)
    assert "nothing is taken from it" in told[0]
    assert node.ask("w").result(WAIT).state == "CL_INIT0"
    server.close()
    assert node.stop(WAIT) and node.dead is None
    context.term()
