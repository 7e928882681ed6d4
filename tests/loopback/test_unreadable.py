"""What no conversation can read, over plain TCP and over ZeroMQ: refused with its reason, nobody else is touched."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView
from engine.protocols.conversation.endpoints import STREAM_OFFSET
from engine.protocols.conversation.options import Options
from tests.helpers.processes import WAIT, Processes, beside, free_endpoint

EXPIRY = 3.0  # seconds: a busy machine may hold a worker up for one
MAGIC, OK, UPDATE, STRANGE, ERROR, BROKEN = 0xC047, 1, 3, 77, 5, 3
BAD = {
    "half a header": (struct.pack("<HHII", MAGIC, OK, 0, 1)[:7], "is silent"),
    "a huge length": (struct.pack("<HHII", MAGIC, UPDATE, 0, 0xFFFF_FFFF), "body too long"),
    "invalid msgpack": (struct.pack("<HHII", MAGIC, UPDATE, 0, 1) + b"\xc1", "unreadable update"),
    "an unknown type": (struct.pack("<HHII", MAGIC, STRANGE, 0, 0), "unknown message type"),
    "not the magic": (b"GET / HTTP/1.1\r\n", "wrong magic"),
}


def header(kind: int, arg0: int) -> bytes:
    return struct.pack("<HHII", MAGIC, kind, 0, arg0)


class Tcp:
    """A worker over plain TCP, greeted up to a point."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = beside(endpoint, STREAM_OFFSET).removeprefix("tcp://").partition(":")
        self.socket = socket.create_connection((host, int(port)), WAIT)
        assert self.hear() == header(OK, 0)

    def hear(self) -> bytes:
        raw = b""
        while len(raw) < 12 and (chunk := self.socket.recv(12 - len(raw))):
            raw += chunk
        return raw

    def say(self, raw: bytes) -> None:
        self.socket.sendall(raw)

    def refused(self) -> bool:
        """The broker closes the connection."""
        return self.hear() == b""

    def close(self) -> None:
        self.socket.close()


class Dealer:
    """A worker over ZeroMQ, greeted up to a point."""

    def __init__(self, endpoint: str) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.rcvtimeo, self.socket.linger = int(WAIT * 1000), 0
        self.socket.connect(endpoint)
        self.say(b"")
        assert self.hear() == header(OK, 0)

    def hear(self) -> bytes:
        return self.socket.recv()

    def say(self, raw: bytes) -> None:
        self.socket.send(raw)

    def refused(self) -> bool:
        """The broker says that this conversation is over."""
        said = self.hear()
        return said[:4] + bytes(4) + said[8:] == header(ERROR, BROKEN)  # its padding is a seal

    def close(self) -> None:
        self.socket.close()
        self.context.term()


def broker(lab: LiveLab) -> BrokerView:
    view: BrokerView = lab._ask("broker", "broker")
    return view


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LiveLab]:
    """A broker and client here, a worker in a process of its own."""
    endpoint, options = free_endpoint(), Options(heartbeat=0.2, expiry=EXPIRY)
    quick = {"ROUNDHOUSE_CONVERSATION_HEARTBEAT": "0.2", "ROUNDHOUSE_CONVERSATION_EXPIRY": str(EXPIRY)}
    system = SYSTEMS["conversation"]
    with LiveLab(system, options, bind=(endpoint,), workers=0) as lab, Processes(tmp_path, **quick) as processes:
        processes.start("worker", "--system", system.name, "--connect", endpoint, "--slots", "4").ready()
        yield lab
        assert lab.health().dead == ()


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("peer", [Tcp, Dealer])
def test_it_is_refused_and_nobody_else_is_touched(lab: LiveLab, peer: type[Tcp] | type[Dealer], bad: str) -> None:
    raw, reason = BAD[bad]
    (before,) = broker(lab).workers
    lab.run(BulkSpec("ping", 200, rate=1000.0, timeout=WAIT))
    stranger = peer(lab.endpoints[0])
    try:
        if bad != "half a header":  # of the greeting itself
            stranger.say(header(OK, 1))
            assert stranger.hear() == header(OK, 1)
        stranger.say(raw)
        while not stranger.refused():  # it may have been given a task before it was read
            pass
    finally:
        stranger.close()
    picture = broker(lab)
    assert reason in [incident.reason for incident in picture.incidents]
    (after,) = picture.workers
    assert (after.key, after.joined, after.violations) == (before.key, before.joined, 0)
    assert lab.wait_run(WAIT)
    assert (lab.report()["verdict"], lab.report()["succeeded"]) == ("pass", 200)
    assert [row.key for row in broker(lab).workers] == [before.key]
