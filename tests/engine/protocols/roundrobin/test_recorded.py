"""Sessions of the original programs, recorded on the wire, replayed against our cores.

Compared are whole messages, frame by frame, with these exceptions, each because two right brokers may differ in it:

- which worker gets a task: least recently used depends on the moment at which messages meet. The replay lets our
  choice answer for the recorded one, so a reply and its INCREMENT come from the worker that our broker chose;
  everything else in a delivery, and in a relayed reply all but the worker's name at the end, is compared.
- the order of messages to different peers. To one client the order is compared: it is that of the replies.
- our own heartbeats, which the original does not have: the replay sets them beyond the length of the sessions.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.core import Event, Frames, Received, Send, Started, Woken
from engine.protocols.roundrobin import data
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.worker import Worker

VECTORS = Path(__file__).parents[3] / "vectors"
SESSIONS = ["roundrobin-session.jsonl.gz", "roundrobin-idle.jsonl"]
AS_THE_ORIGINAL = Options(heartbeat=10_000.0, expiry=10_000.0)  # its workers are dead after 10,000 s of silence


class Message(NamedTuple):
    at: float
    to_broker: bool
    peer: bytes
    frames: Frames


def recorded(name: str) -> list[Message]:
    raw = (VECTORS / name).read_bytes()
    text = gzip.decompress(raw) if name.endswith(".gz") else raw
    return [
        Message(
            row["t"],
            row["direction"] == "peer->broker",
            row["identity"].encode(),
            [bytes.fromhex(frame) for frame in row["frames"]],
        )
        for row in map(json.loads, text.decode().splitlines())
    ]


class Replay:
    """Our broker in the place of the original's."""

    def __init__(self, messages: list[Message]) -> None:
        self.broker = Broker(AS_THE_ORIGINAL)
        self.sent: list[tuple[bytes, Frames]] = []
        self._debts: defaultdict[bytes, deque[bytes]] = defaultdict(deque)  # recorded worker → ours, per INCREMENT
        self._exec: deque[bytes] = deque()  # who of ours holds the EXEC tasks
        for message in messages:
            if message.to_broker:
                self._hand(Woken(), message.at)
                self._hand(Received([[self._as_ours(message), *message.frames]]), message.at)

    def _as_ours(self, message: Message) -> bytes:
        what = wire.at_broker([message.peer, *message.frames])
        if what is wire.REPLY:
            worker = self.broker.pool.tasks[(message.frames[0], message.frames[4])].worker
            self._debts[message.peer].append(worker)
            return worker
        if what is wire.RETURN:
            debts = self._debts[message.peer]
            return debts.popleft() if debts else self._exec.popleft()
        return message.peer

    def _hand(self, event: Event, now: float) -> None:
        for command in self.broker.handle(event, now):
            if isinstance(command, Send):
                to, *sent = command.frames
                self.sent.append((to, sent))
                if sent[2] == wire.EXEC:
                    self._exec.append(to)
        self.broker.check()


def to_peer(frames: Frames) -> wire.Is:
    what = wire.at_peer(frames)
    assert isinstance(what, wire.Is)
    return what


def compared(peer: bytes, frames: Frames) -> tuple[bytes, ...]:
    """A message of a broker without what two right brokers may choose."""
    match to_peer(frames):
        case wire.TASK:
            return tuple(frames)
        case wire.REPLY:
            return (peer, *frames[:-1])
        case _:
            return (peer, *frames)


@pytest.mark.parametrize("name", SESSIONS)
def test_our_broker_answers_the_original_peers_as_the_original_broker_did(name: str) -> None:
    messages = recorded(name)
    replay = Replay(messages)
    theirs = [(message.peer, message.frames) for message in messages if not message.to_broker]
    assert Counter(compared(*sent) for sent in replay.sent) == Counter(compared(*sent) for sent in theirs)
    assert replay.broker.violations.total == replay.broker.late == 0
    view = replay.broker.snapshot(messages[-1].at)
    assert view.ledger.balanced and view.ledger.sent == view.ledger.succeeded and view.ledger.sent > 0


def test_replies_reach_the_client_in_the_order_in_which_workers_gave_them() -> None:
    messages = recorded(SESSIONS[0])
    given = [tuple(m.frames[1:]) for m in messages if m.to_broker and m.frames[0]]
    passed = [tuple(frames[:-1]) for _, frames in Replay(messages).sent if to_peer(frames) is wire.REPLY]
    assert passed == given and len(given) == 202


def test_until_messages_meet_tasks_even_go_to_the_same_worker() -> None:
    """The table's order is the original's: 39 tasks, over three rounds of ten workers, before its threads raced."""
    messages = recorded(SESSIONS[0])
    theirs = [(m.peer, m.frames) for m in messages if not m.to_broker and to_peer(m.frames) is wire.TASK]
    ours = [sent for sent in Replay(messages).sent if to_peer(sent[1]) is wire.TASK]
    assert ours[:39] == theirs[:39]


@pytest.mark.parametrize("name", SESSIONS)
def test_the_books_of_a_session(name: str) -> None:
    messages = recorded(name)
    broker = Replay(messages).broker
    leaves = any(message.frames[-2] == wire.APP_DEREGISTER for message in messages)
    assert all(row.free == row.slots == 10 for row in broker.snapshot(messages[-1].at).workers)
    assert len(broker.pool.workers) == (0 if leaves else 1) and not broker.pool.tasks and not broker.pool.lost


@pytest.mark.parametrize("name", SESSIONS)
def test_every_message_of_the_original_broker_is_known_to_our_peers(name: str) -> None:
    messages = recorded(name)
    kinds = Counter(to_peer(message.frames).value for message in messages if not message.to_broker)
    assert set(kinds) == {"link PONG", "reply to REGISTER", "task", "reply to a task"}


def test_every_stream_of_the_original_worker_is_right_by_our_checks() -> None:
    replies = [m.frames for m in recorded(SESSIONS[0]) if not m.to_broker and to_peer(m.frames) is wire.REPLY]
    packets = [frames[4] for frames in replies if len(frames) == 7]
    assert len(packets) == 101 and {data.wrong(packet, 1024) for packet in packets} == {None}
    assert (min(map(len, packets)), max(map(len, packets))) == (1051, 1075), "the fact sheet's figures"


@pytest.mark.parametrize("name", SESSIONS)
def test_our_worker_answers_the_original_broker_as_the_original_worker_did(name: str) -> None:
    """Compared: all but a worker's own counters, a stream's content, which is random but must be right, and order.

    The original works on several tasks at a time and overtakes itself; ours answers in the order of arrival.
    """
    messages = recorded(name)
    key = next(message.peer for message in messages if message.to_broker and message.frames[-2] == b"10")
    theirs = [message.frames for message in messages if message.to_broker and message.peer == key]
    worker = Worker(AS_THE_ORIGINAL, slots=10, seed=1)
    ours = [command.frames for command in worker.handle(Started(), 0.0) if isinstance(command, Send)]
    ping, register = ours[0][3], b""
    for message in messages:
        if message.to_broker or message.peer != key:
            continue
        frames = list(message.frames)
        if frames[2] == wire.PONG:
            frames[3] = ping
        elif to_peer(frames) is wire.JOINED:
            frames[3] = register
        for command in worker.handle(Received([frames]), message.at):
            if isinstance(command, Send):
                ours.append(command.frames)
                register = command.frames[3] if command.frames[4] == wire.APP_REGISTER else register
    assert worker.violations.total == 0
    shapes = [Counter(shape(frames) for frames in side if not is_own_time(frames)) for side in (ours, theirs)]
    assert shapes[0] == shapes[1]


def is_own_time(frames: Frames) -> bool:
    """Heartbeats follow each side's own clock, and the goodbye an operator's order, which a replay does not give."""
    return frames[2] == wire.PING or frames[-2] == wire.APP_DEREGISTER


def shape(frames: Frames) -> tuple[bytes, ...]:
    what = wire.at_broker([b"peer", *frames])
    if what is wire.REPLY and len(frames) == 7:
        assert data.wrong(frames[5], 1024) is None
        return (*frames[:5], b"right", b"")
    if what is wire.REPLY:
        return tuple(frames)
    return (*frames[:3], b"id%d" % len(frames[3]), *frames[4:])
