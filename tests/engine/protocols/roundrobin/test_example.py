"""The EXAMPLE of the seed, run as data: three cores back to back, every message compared."""

from __future__ import annotations

import re
from collections import Counter, deque

import pytest

from engine.core import Event, Exit, Frames, Ordered, Received, Send, Started, Woken
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Leave
from engine.protocols.roundrobin import SYSTEM, data
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.client import Client
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import SETTLE
from engine.protocols.roundrobin.worker import Worker
from tests.helpers.dialogues import TRANSCRIPTS, holds

EXAMPLE = TRANSCRIPTS / "roundrobin" / "example.txt"
MANY = 20  # messages: more are counted
AS_THE_ORIGINAL = Options(packed=False)
SEED = [
    "WORKER register", "SERVER workers", "CLIENT pingt", "CLIENT ping", "WORKER bulk", "SERVER workers",
    "CLIENT bulkping", "CLIENT bulkdata", "WORKER endbulk", "SERVER workers", "WORKER deregister", "SERVER workers",
    "WORKER quit", "SERVER quit", "CLIENT quit",
]  # fmt: skip


def shape(frame: bytes, names: dict[bytes, str]) -> str:
    if frame in names:
        return names[frame]
    if not frame:
        return '""'
    if frame == wire.VERSION:
        return "V"
    if len(frame) == 1:
        return f"{frame[0]:02X}"
    if re.fullmatch(rb"[0-9A-Z_]{2,}", frame):
        return f'"{frame.decode()}"'
    if len(frame) > 16:
        assert data.wrong(frame, 1024) is None
        return "DATA"
    return f"id{len(frame)}"


class Programs:
    """The seed's three programs on cores of ours; what one sends the other gets at once, in order.

    The peers are as the original's: they do not ask for the packed lane, and so the broker, which would agree, never
    uses it.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.broker = Broker(Options())
        self.client = Client(AS_THE_ORIGINAL)
        self.peers: dict[bytes, Client | Worker] = {}
        self.names: dict[bytes, str] = {}
        self.heard: list[str] = []
        self.wire: deque[tuple[bytes, bool, Frames]] = deque()  # peer, whether it is to the broker, frames
        self.open(b"tcp://127.0.0.1:6714:178484", "client", self.client)
        self.settle()
        self.heard.clear()

    def open(self, key: bytes, name: str, core: Client | Worker) -> None:
        self.peers[key], self.names[key] = core, name
        self.hand(key, Started())

    def worker(self, number: int) -> None:
        core = SYSTEM.worker(AS_THE_ORIGINAL, SYSTEM.endpoint, number, 10).core
        assert isinstance(core, Worker)
        self.open(f"{SYSTEM.endpoint}:{number}".encode(), "worker", core)

    def hand(self, key: bytes, event: Event) -> None:
        core = self.peers[key]
        for command in core.handle(event, self.now):
            if isinstance(command, Send):
                self.wire.append((key, True, command.frames))
            elif isinstance(command, Exit):
                del self.peers[key]
        core.check()

    def settle(self) -> None:
        """All that follows, and what the broker does when workers that have registered had the time that they take."""
        self.pass_on()
        self.now += SETTLE
        for command in self.broker.handle(Woken(), self.now):
            assert isinstance(command, Send)
            self.wire.append((command.frames[0], False, command.frames[1:]))
        self.pass_on()

    def pass_on(self) -> None:
        while self.wire:
            self.now += 0.0001
            peer, to_broker, frames = self.wire.popleft()
            ends = (self.names[peer], "broker") if to_broker else ("broker", self.names[peer])
            self.heard.append(" > ".join(ends) + " " + " ".join(shape(frame, self.names) for frame in frames))
            if not to_broker:
                self.hand(peer, Received([frames]))
                continue
            for command in self.broker.handle(Received([[peer, *frames]]), self.now):
                if isinstance(command, Send):
                    self.wire.append((command.frames[0], False, command.frames[1:]))
            self.broker.check()

    def give(self, line: str) -> None:
        raise AssertionError(line)

    def do(self, line: str) -> list[str]:
        """``PROMPT COMMAND``; the messages that follow, many of them as so many of each shape."""
        self.heard.clear()
        self.type(*line.split())
        if len(self.heard) <= MANY:
            return list(self.heard)
        return [f"{n} x {message}" for message, n in Counter(self.heard).items()]

    def shown(self, line: str) -> str:
        """``SERVER workers: …`` or ``CLIENT bulk: …``, as the program shows it."""
        if line.startswith("SERVER"):
            rows = self.broker.snapshot(self.now).workers
            slots, free = sum(row.slots for row in rows), sum(row.free for row in rows)
            return f"SERVER workers: {len(rows)} workers, {slots} slots, {free} free"
        run = self.client.snapshot(self.now).run
        assert run is not None
        return f"CLIENT bulk: {run.ledger.succeeded} of {run.spec.n} succeeded"

    def type(self, prompt: str, word: str, *rest: str) -> None:
        """Run a command."""
        client = next(iter(self.names))
        match prompt, word:
            case "WORKER", "register":
                self.worker(1)
            case "WORKER", "bulk":
                for number in range(2, 11):
                    self.worker(number)
            case "WORKER", "endbulk":
                for key in list(self.peers)[2:]:
                    self.hand(key, Ordered(Leave()))
            case "WORKER", "deregister":
                self.hand(list(self.peers)[1], Ordered(Leave()))
            case "CLIENT", "pingt":
                self.hand(client, Ordered(BulkSpec("ping", 1)))
            case "CLIENT", "ping":
                self.hand(client, Ordered(BulkSpec("ping", 1, tracked=False)))
            case "CLIENT", "bulkping":
                self.hand(client, Ordered(BulkSpec("ping", int(rest[0]), in_flight=10)))
            case "CLIENT", "bulkdata":
                self.hand(client, Ordered(BulkSpec("data", int(rest[0]), in_flight=int(rest[0]))))
            case _, "quit":
                return
            case _:
                pytest.fail(f"the seed has no {prompt} {word}")
        self.settle()


def test_the_transcript_is_the_seeds() -> None:
    """And ``ping``, which the seed mentions beside ``pingt``, and ``workers`` after each change."""
    typed = [
        line[2:].replace(":", "").split()
        for line in EXAMPLE.read_text(encoding="utf-8").splitlines()
        if line[:1] in "!?"
    ]
    assert [" ".join(words[:2]) for words in typed if words and words[:2] != ["CLIENT", "bulk"]] == SEED


def test_the_example_of_the_seed_command_by_command(rewrite: bool) -> None:
    programs = holds(EXAMPLE, 1, Programs, rewrite)
    assert isinstance(programs, Programs)
    view = programs.broker.snapshot(programs.now)
    assert view.ledger == (202, 202, (), 0, 0, 0)
    assert not any(n for _, n in view.counters)
