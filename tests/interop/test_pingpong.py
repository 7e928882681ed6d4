"""A plain DEALER worker that speaks seed 002's frames and nothing else, at a broker of ours."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView, WorkerRow
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.options import Options
from tests.helpers.processes import WAIT, free_endpoint, until

OPTIONS = Options(worker_expiry=0.4, ping_every=0.1, probe_deadline=WAIT)


class Plain:
    """The seed's worker: PINGs while it is idle, is silent while it works."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.ROUTING_ID, b"plain")
        self.socket.rcvtimeo = int(WAIT * 1000)
        self.socket.connect(endpoint)

    def say(self, word: bytes) -> None:
        self.socket.send_multipart([b"", word])

    def hear(self) -> bytes:
        """The next message; every one has the empty frame before it."""
        empty, word = self.socket.recv_multipart()
        assert empty == b""
        return word

    def job(self) -> bytes:
        """PING until a job comes."""
        while (word := self.hear()) == b"PONG":
            self.say(b"PING")
        return word


@pytest.fixture
def lab() -> Iterator[LiveLab]:
    with LiveLab(SYSTEMS["pingpong"], OPTIONS, bind=(free_endpoint(),), workers=0) as lab:
        assert lab.wait_linked(WAIT)
        yield lab
        assert lab.health() == ((), lab.health().loop_lag, 0)


@pytest.fixture
def plain(lab: LiveLab) -> Iterator[Plain]:
    with zmq.Context() as context:
        made = Plain(context, lab.endpoints[0])
        yield made
        made.socket.close(0)


def broker(lab: LiveLab) -> BrokerView:
    view: BrokerView = lab._ask("broker", "broker")
    return view


def row(lab: LiveLab) -> WorkerRow:
    (found,) = broker(lab).workers
    return found


def test_it_joins_works_and_is_sent_away_in_the_seeds_frames(lab: LiveLab, plain: Plain) -> None:
    plain.say(b"READY")
    assert plain.hear() == b"PONG"
    plain.say(b"PING")
    assert plain.hear() == b"PONG"
    lab.run(BulkSpec("ping", 20, timeout=WAIT))
    for _ in range(20):
        assert plain.job() == b"ping"
        plain.say(b"ping")
    assert lab.wait_run(WAIT)
    assert (lab.report()["verdict"], lab.report()["succeeded"]) == ("pass", 20)
    assert (row(lab).key, row(lab).done, row(lab).violations) == (b"plain", 20, 0)
    lab.stop_worker(b"plain")
    assert plain.job() == b"EXIT"


def test_its_silence_while_it_works_is_no_expiry_and_its_silence_when_idle_is(lab: LiveLab, plain: Plain) -> None:
    plain.say(b"READY")
    assert plain.hear() == b"PONG"
    lab.run(BulkSpec("data", 1, size=5, timeout=WAIT))
    assert plain.job() == b"data 5"
    until(lambda: row(lab).state == "silent", "the silence of a busy worker")
    plain.say(bytes(5))
    assert lab.wait_run(WAIT)
    assert lab.report()["verdict"] == "pass"
    until(lambda: not broker(lab).workers or row(lab).state == "lost", "the expiry of an idle worker")
    assert dict(broker(lab).counters)["re-deliveries"] == 0
    plain.say(b"PING")  # without a READY: it is back
    until(lambda: [found.state for found in broker(lab).workers] == ["ready"], "its return")


def test_a_broker_that_is_not_ours_is_the_same_to_our_worker() -> None:
    endpoint = free_endpoint()
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.linger, router.rcvtimeo = 0, int(WAIT * 1000)
        router.bind(endpoint)
        with LiveLab(SYSTEM, OPTIONS, connect=endpoint, workers=1, broker=False, client=False):
            worker, *ready = router.recv_multipart()
            assert ready == [b"", b"READY"]
            router.send_multipart([worker, b"", b"PONG"])
            assert router.recv_multipart() == [worker, b"", b"PING"]
            router.send_multipart([worker, b"", b"PONG"])
            router.send_multipart([worker, b"", b"a job of theirs"])
            while (heard := router.recv_multipart()) == [worker, b"", b"PING"]:
                router.send_multipart([worker, b"", b"PONG"])
            assert heard == [worker, b"", b"a job of theirs"], "our worker gives a job that it does not know back"
