"""Strangers on every endpoint of a broker, over plain TCP: its own peers do not notice, and it ends when it is told."""

from __future__ import annotations

import random
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from engine.parts.limits import MAX_FRAME, MAX_FRAMES
from engine.runs.load import from_json
from tests.helpers.processes import SIDES, Processes, beside, free_endpoint

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 1 + 31)  # ZMTP 3.0, no security
READY = b"\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
HELLO = GREETING + READY
SHORT, MORE, LONG = 0, 1, 2  # flags of a frame
STRANGERS = 40  # of each kind


def strangers() -> Iterator[bytes]:
    """What each of them says; the same ones every time."""
    chance = random.Random(1)
    for i in range(STRANGERS):
        yield chance.randbytes(chance.choice((1, 9, 64, 65, 5000)))
        yield HELLO[: 1 + i % (len(HELLO) - 1)]  # half a handshake
        yield HELLO + struct.pack(">BQ", LONG, (MAX_FRAME + 1, 2**32, 2**63)[i % 3]) + b"x"
        yield HELLO + bytes((MORE, 1, 0)) * (MAX_FRAMES * i) + bytes((SHORT, 0))  # many frames
        yield HELLO + bytes((MORE, 1, 0)) * 1000  # a message without an end
        yield HELLO + bytes((MORE, 0, SHORT, 4)) + b"PING"  # one who is answered, and reads nothing


@pytest.mark.parametrize("system", ["roundrobin", "conversation", "pingpong", "negotiated"])
def test_its_own_peers_do_not_notice_and_it_ends_when_it_is_told(system: str, tmp_path: Path) -> None:
    endpoint = free_endpoint()
    with ExitStack() as stack, Processes(tmp_path) as processes:
        broker = processes.start("broker", "--system", system, "--bind", endpoint).ready()
        worker = processes.start("worker", "--system", system, "--connect", endpoint, "--count", "2").ready()
        for side in SIDES:
            for words in strangers():
                host, port = beside(endpoint, side).removeprefix("tcp://").split(":")
                with suppress(ConnectionError):  # nothing is bound there, or it has hung up already
                    connection = stack.enter_context(socket.create_connection((host, int(port))))
                    connection.sendall(words)
        run = processes.run("bulkping", "200", "--system", system, "--connect", endpoint, "--json", "-")
        assert (run.ended(), from_json(run.out.encode())["succeeded"]) == (0, 200), run.err
        assert broker.alive and worker.alive
        broker.signal(signal.SIGTERM)
        assert broker.ended() == 128 + signal.SIGTERM, broker.err
        assert 0 < broker.err.count("violation") < 200, "nobody was heard, or a stranger can fill the log"
