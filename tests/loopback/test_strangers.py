"""Another user of this machine at the ports of a conversation: who is not trusted runs nothing and is given nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.drive.security.users import name_of
from engine.protocols.conversation.endpoints import STREAM_OFFSET
from tests.helpers.processes import Processes, beside, free_endpoint, until
from tests.helpers.strangers import STRANGER, as_stranger, needs_stranger

pytestmark = needs_stranger

ZMTP = """
import socket, struct, sys
GREETING = b"\\xff\\0\\0\\0\\0\\0\\0\\0\\x01\\x7f\\x03\\0NULL".ljust(64, b"\\0")

def ready(kind, identity=b""):
    body = b"\\x05READY" + b"\\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind
    body += b"\\x08Identity" + struct.pack(">I", len(identity)) + identity
    return b"\\x04" + bytes([len(body)]) + body

def whole(peer, n):
    got = b""
    while len(got) < n:
        more = peer.recv(n - len(got))
        if not more:
            raise ConnectionError("closed")
        got += more
    return got

def frame(peer):
    flags, size = whole(peer, 2)
    return flags, whole(peer, size)
"""

WORKER = """
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    peer.sendall(GREETING + ready(b"DEALER", sys.argv[2].encode()))
    whole(peer, 64)
    frame(peer)
    peer.sendall(b"\\0\\0")  # the conversation's opening
    print("heard", frame(peer)[1].hex(), flush=True)
except (ConnectionError, OSError):
    print("cut off", flush=True)
"""

PLAIN = """
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    while True:
        got = peer.recv(12)
        if not got:
            raise ConnectionError("closed")
        print("heard", got.hex(), flush=True)
except (ConnectionError, OSError):
    print("cut off", flush=True)
"""

BROKER = """
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", flush=True)
while True:
    peer, _ = listener.accept()
    try:
        peer.settimeout(60)
        peer.sendall(GREETING)
        whole(peer, 64)
        peer.sendall(ready(b"ROUTER"))
        frame(peer)
        print("served", flush=True)
        for message in sys.argv[2:]:
            raw = bytes.fromhex(message)
            peer.sendall(b"\\0" + bytes([len(raw)]) + raw)
        while True:
            print("heard", frame(peer)[1].hex(), flush=True)
    except (ConnectionError, OSError):
        print("cut off", flush=True)
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as made:
        yield made


def port_of(endpoint: str) -> str:
    return endpoint.rpartition(":")[2]


@pytest.mark.parametrize(
    ("side", "code"), [(0, ZMTP + WORKER), (STREAM_OFFSET, "import socket, sys\n" + PLAIN)], ids=["zmq", "tcp"]
)
def test_a_strangers_worker_is_cut_off_by_the_broker(processes: Processes, side: int, code: str) -> None:
    endpoint = free_endpoint()
    broker = processes.start("broker", "--system", "conversation", "--bind", endpoint).ready()
    stranger = as_stranger(code, port_of(beside(endpoint, side)), "worker-1")
    out, _ = stranger.communicate(timeout=60)
    assert out == "cut off\n"
    until(lambda: f"a peer of {name_of(STRANGER)} was refused" in broker.err)
    assert f"--trust {STRANGER} admits it" in broker.err


def test_one_whom_the_operator_trusts_is_served(processes: Processes) -> None:
    endpoint = free_endpoint()
    trusted = ("--trust", str(STRANGER))
    broker = processes.start("broker", "--system", "conversation", "--bind", endpoint, *trusted).ready()
    stranger = as_stranger(ZMTP + WORKER, port_of(endpoint), "worker-1")
    out, _ = stranger.communicate(timeout=60)
    assert out == "heard 47c001000000000000000000\n" and broker.err == ""


def test_a_strangers_broker_on_a_squatted_port_is_refused_with_both_names(processes: Processes) -> None:
    endpoint = free_endpoint()
    messages = ("47c001000000000000000000", "47c001000000000001000000")
    with as_stranger(ZMTP + BROKER, port_of(endpoint), *messages) as stranger:
        try:
            assert stranger.stdout is not None and stranger.stdout.readline() == "ready\n"
            worker = processes.start("worker", "--system", "conversation", "--connect", endpoint, "--slots", "1")
            until(lambda: "nothing is taken from it" in worker.err)
        finally:
            stranger.kill()
        out = stranger.stdout.read()
    assert f"the broker at {endpoint} is of {name_of(STRANGER)}, and this worker of {name_of(0)}" in worker.err
    assert "heard" not in out and "served" not in out and not worker.out
    processes.start("broker", "--system", "conversation", "--bind", endpoint).ready()
    until(lambda: worker.out.startswith("ready 1 worker"), "the right broker's port is found again")
