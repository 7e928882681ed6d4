"""What is bound beside a broker's own sockets: its control socket, over ipc and over tcp with keys, and its metrics.

Strangers speak nearly its words, nearly ZMTP, or nothing at all: over ipc as this user; over tcp as a viewer, and
without a key; over HTTP where metrics are. Disk queues have no broker: there it is a pipeline's ipc and metrics.
"""

from __future__ import annotations

import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgpack
import psutil
import zmq

from engine.core import Socket
from engine.drive.control.place import place, place_of_root
from engine.drive.control.wire import Message, pack
from engine.drive.security import keys
from tests.chaos.children import Child, Children
from tests.helpers.mutator import Mutator
from tests.helpers.processes import WAIT, free_endpoint, until
from tests.hostile.strangers import Strangers

GROWN = 32 * 2**20  # bytes that strangers may cost a process for good
LINES = 500  # of its log, likewise
QUEUES = "diskqueue"
WORDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hello", {}),
    ("status", {"Brief": True}),
    ("look", {"Instance": "", "Since": 0, "Facts": 0, "Page": 0, "Pool": False}),
    ("tap", {"Tap": "t", "After": 0, "End": False}),
    ("tap", {"Tap": "t", "After": 0, "End": True}),
    ("order", {"Name": "register", "Args": msgpack.packb([])}),
    ("order", {"Name": "slow", "Args": msgpack.packb([0.0])}),
    ("order", {"Name": "operate", "Args": msgpack.packb(["trace", [["filter", "w1"]]])}),
    ("order", {"Name": "withdraw", "Args": msgpack.packb([b"c1"])}),
    ("order", {"Name": "pause_stage", "Args": msgpack.packb(["s1"])}),
    ("jobs", {}),
    ("tasks", {"JobId": 1, "Failed": False, "After": 0}),
    ("hold", {"JobId": 1}),
    ("pair", {}),
    ("clock", {}),
    ("legs", {"Client": b"c"}),
    ("minutes", {}),
)
HTTP = (
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /metrics?name[]=roundhouse_slots HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
)


class Besieged(NamedTuple):
    """How it went. ``counts``: of the control socket, as ``hello`` tells them."""

    messages: int
    connections: int
    counts: dict[str, int]
    grown: int  # bytes that the process has grown by
    said: int  # lines of its log
    scraped: bool  # whether metrics are served afterwards
    troubles: str

    @property
    def right(self) -> bool:
        """Whether the process lived, answered afterwards, and nothing grew beyond its bound."""
        counted = self.counts.get("requests", 0) > 0 and self.counts.get("unreadable", 0) > 0
        return counted and self.scraped and not self.troubles and self.grown < GROWN and self.said < LINES


def besiege(name: str, folder: Path, seed: int, messages: int) -> Besieged:
    """So many messages at each endpoint, and a tenth as many raw connections. The folder's name is to be short."""
    random = Random(f"{name} {seed}")
    mutator = Mutator([[pack("ask", Message(7, word, fields))] for word, fields in WORDS], random)
    endpoint, over_tcp, metrics = (free_endpoint() for _ in range(3))
    control = folder / "roundhouse"
    viewer = _keys(control)
    with Children(folder, {}) as children:
        if name == QUEUES:
            child, at = _pipeline(children, folder, metrics), place_of_root(control, str(folder / "root"))
            over_tcp = ""
        else:
            given = ("--bind", endpoint, "--control", over_tcp, "--metrics", metrics.removeprefix("tcp://"))
            child = children.roundhouse("broker", "--system", name, "--curve", "depot", *given)
            at = place(control, endpoint)
        until(lambda: not child.alive or (at.exists() and "metrics are at" in child.err), f"{name}: {child.err}")
        ipc = Strangers((Socket("router", bind=(f"ipc://{at}",)),), lambda _: mutator, random)
        tcp = Strangers((Socket("router", bind=(over_tcp,)),) if over_tcp else (), lambda _: mutator, random, viewer)
        web = Strangers((), lambda _: mutator, random)

        def all_of_them(n: int) -> None:
            ipc.all(n)
            tcp.all(n)
            web.pour(metrics, lambda: _request(mutator, random), n // 10)

        all_of_them(messages // 4)  # what it keeps once is no growth
        process = psutil.Process(child.pid)
        before = process.memory_info().rss
        all_of_them(messages)
        counts = _counts(f"ipc://{at}", lambda dealer: None)
        if over_tcp:
            assert _counts(over_tcp, viewer), "the viewer is not served"
        url = f"http://{metrics.removeprefix('tcp://')}/metrics"
        with urllib.request.urlopen(url, timeout=WAIT) as answer:
            scraped = b"roundhouse_build_info" in answer.read()
        grown = process.memory_info().rss - before if child.alive else 0
        dead = "died" if " died" in child.err else ""
        troubles = child.trouble or (dead and child.err[-1000:])
        if child.alive:  # a pipeline that is killed leaves its drivers behind
            child.signal(signal.SIGTERM)
            child.ended()
    said = child.err.count("\n")
    strangers = (ipc, tcp, web)
    told, knocked = sum(one.messages for one in strangers), sum(one.connections for one in strangers)
    return Besieged(told, knocked, counts, grown, said, scraped, troubles)


def _keys(folder: Path) -> Callable[[zmq.Socket[bytes]], None]:
    """Keys of a broker and of a viewer in a configuration's folder; what sets the viewer's."""
    made = folder / "keys"
    made.mkdir(parents=True, mode=0o700)
    for path in (folder, made):
        path.chmod(0o700)
    for who, role in (("depot", "broker"), ("v1", "viewer")):
        keys.authorize(made, keys.make(made, who, role)._replace(secret=""))
    own, server = keys.own(made, "v1"), keys.own(made, "depot")

    def set_up(dealer: zmq.Socket[bytes]) -> None:
        dealer.set(zmq.CURVE_SECRETKEY, keys.curve(own.secret))
        dealer.set(zmq.CURVE_PUBLICKEY, keys.curve(own.public))
        dealer.set(zmq.CURVE_SERVERKEY, keys.curve(server.public))

    return set_up


def _pipeline(children: Children, folder: Path, metrics: str) -> Child:
    """One stage, which waits for documents until it is ended."""
    root, at = str(folder / "root"), metrics.removeprefix("tcp://")
    return children.roundhouse("pipeline", "run", "--root", root, "--stage", "only=1:upper", "--metrics", at)


def _request(mutator: Mutator, random: Random) -> bytes:
    """Something like HTTP."""
    match random.randrange(4):
        case 0:
            return random.choice(HTTP)
        case 1:
            spoilt = bytearray(random.choice(HTTP))
            spoilt[random.randrange(len(spoilt))] ^= 1 << random.randrange(8)
            return bytes(spoilt)
        case 2:
            return b"GET /metrics HTTP/1.1\r\n" + b"".join(
                b"X-%d: y\r\n" % n for n in range(random.choice((1, 99, 999)))
            )
        case _:
            return b"".join(mutator())


def _counts(endpoint: str, set_up: Callable[[zmq.Socket[bytes]], None]) -> dict[str, int]:
    """What the control socket has counted; empty where it does not answer."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.linger, dealer.rcvtimeo = 0, int(WAIT * 1000)
        set_up(dealer)
        dealer.connect(endpoint)
        dealer.send(pack("ask", Message(1, "hello", {})))
        counts: dict[str, int] = msgpack.unpackb(dealer.recv())["counts"]
        return counts
