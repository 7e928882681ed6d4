"""The negotiated broker in processes of its own: a primary that is killed, codes as a plain DEALER peer sees them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.protocols.negotiated import Options
from tests.chaos.survivors import TASKS, attempt
from tests.helpers.processes import WAIT, Process, Processes, free_endpoint, until

SYSTEM = SYSTEMS["negotiated"]
# A busy machine may hold a broker up for a second.
QUICK: dict[str, Any] = {"heartbeat": 0.2, "silence": 15, "doubt": 3.0}


@pytest.fixture
def endpoint() -> str:
    return free_endpoint()


class Peer:
    """A plain DEALER that speaks for itself: command, msgpack header, body."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> None:
        self.socket = context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.ROUTING_ID, b"plain")
        self.socket.rcvtimeo = int(WAIT * 1000)
        self.socket.connect(endpoint)

    def ask(self, command: bytes, **header: Any) -> tuple[bytes, dict[str, Any]]:
        """Say something, and the next thing that is heard."""
        self.socket.send_multipart([command, msgpack.packb(header), b""])
        return self.hear()

    def hear(self) -> tuple[bytes, dict[str, Any]]:
        command, header, *_ = self.socket.recv_multipart()
        return command, msgpack.unpackb(header)

    def ready(self, **more: Any) -> tuple[bytes, dict[str, Any]]:
        header = {"services": ["plain"], "heartbeat_interval": 5.0, "time": time.time(), "config_version": 1}
        return self.ask(b"READY", **{**header, **more})


@pytest.fixture
def peer(tmp_path: Path, endpoint: str) -> Iterator[Peer]:
    """A peer of a broker in a process of its own."""
    with Processes(tmp_path) as processes, zmq.Context() as context:
        processes.start("broker", "--system", "negotiated", "--bind", endpoint).ready()
        made = Peer(context, endpoint)
        yield made
        made.socket.close(0)


def test_a_wrong_config_type_is_415(peer: Peer) -> None:
    command, header = peer.ask(b"CHECKCONFIG", config_type="yaml")
    assert (command, header["code"]) == (b"DISCONNECTERROR", 415)
    command, header = peer.ask(b"CHECKCONFIG", config_type="xml")
    assert (command, header["config_type"], header["config_version"]) == (b"CONFIG", "xml", 1)


def test_a_drifted_version_is_426_and_a_new_negotiation(peer: Peer) -> None:
    assert peer.ask(b"CHECKCONFIG", config_type="json")[0] == b"CONFIG"
    assert peer.ready()[0] == b"READYOK"
    assert peer.ask(b"PING", time=time.time(), config_version=1)[0] == b"PONG"
    heard = [peer.ask(b"PING", time=time.time(), config_version=7), peer.hear(), peer.hear()]
    assert sorted(command for command, _ in heard) == [b"DISCONNECTERROR", b"FORCENEGOTIATE", b"PONG"]
    commands = [command for command, _ in heard]
    assert commands.index(b"DISCONNECTERROR") < commands.index(b"FORCENEGOTIATE")
    assert [header["code"] for _, header in heard if "code" in header] == [426]
    assert peer.ask(b"CHECKCONFIG", config_type="json", config_version=7)[1]["config_version"] == 1


def test_a_wrong_clock_is_408_when_it_joins_and_when_it_beats(peer: Peer) -> None:
    command, header = peer.ready(time=time.time() - 3600)
    assert (command, header["code"]) == (b"DISCONNECTERROR", 408)
    assert peer.ask(b"CHECKCONFIG", config_type="json")[0] == b"CONFIG"
    assert peer.ready()[0] == b"READYOK"
    command, header = peer.ask(b"PING", time=time.time() + 3600, config_version=1)
    assert (command, header["code"]) == (b"DISCONNECTERROR", 408)
    assert peer.ask(b"PING", time=time.time(), config_version=1)[0] == b"FORCENEGOTIATE", "it was put out"


class Pair:
    """A primary and its fallback, and two workers, in processes of their own with one configuration."""

    def __init__(self, folder: Path) -> None:
        self.first, self.second = free_endpoint(), free_endpoint()
        self.options = Options(**QUICK, primary=self.first, fallback=self.second)
        where = {"primary": self.first, "fallback": self.second}
        environ = {f"ROUNDHOUSE_NEGOTIATED_{key}".upper(): str(value) for key, value in {**QUICK, **where}.items()}
        self.processes = Processes(folder, **environ)

    def broker(self, endpoint: str) -> Process:
        return self.processes.start("broker", "--system", "negotiated", "--bind", endpoint).ready()

    def worker(self) -> Process:
        return self.processes.start("worker", "--system", "negotiated", "--connect", self.first, "--slots", "4").ready()

    def client(self) -> LiveLab:
        return LiveLab(SYSTEM, self.options, connect=self.first, workers=0, broker=False)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    with made.processes:
        yield made


def succeeded(lab: LiveLab) -> int:
    view = lab.run_view()
    return view.ledger.succeeded if view is not None else 0


def test_a_primary_that_is_killed_under_load_loses_nothing(pair: Pair) -> None:
    primary = pair.broker(pair.first)
    fallback = pair.broker(pair.second)
    for _ in range(2):
        pair.worker()
    with pair.client() as lab:
        assert lab.wait_linked(WAIT)
        lab.run(BulkSpec("ping", 1000, rate=500.0, in_flight=50, timeout=WAIT))
        until(lambda: succeeded(lab) > 50, "the middle of the run")
        primary.kill()
        assert succeeded(lab) < 1000, "it was killed too late"
        assert lab.wait_run(WAIT)
        report = lab.report()
        assert (report["verdict"], report["succeeded"], report["failed"]) == ("pass", 1000, {})
        until(lambda: "the fallback serves" in fallback.err)
        again = pair.broker(pair.first)
        until(lambda: "the primary stands by" in again.err, "a primary that finds its fallback active and waits")
        lab.run(BulkSpec("ping", 100, timeout=WAIT))
        assert lab.wait_run(WAIT)
        assert lab.report()["verdict"] == "pass"


@pytest.mark.parametrize("number", range(2))
def test_three_of_four_workers_are_killed_and_each_task_is_answered(tmp_path: Path, number: int) -> None:
    """13.27: ``bulkping 10`` lost one task in each of ten tries; ``tests.chaos.survivors`` makes more."""
    assert attempt(tmp_path, "negotiated") == {"answered": TASKS}
