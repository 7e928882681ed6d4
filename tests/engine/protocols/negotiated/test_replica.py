from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.inflight import Task
from engine.parts.limits import MAX_FRAME, MAX_ID, MAX_ROUTING_ID
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import replica
from engine.protocols.negotiated.config import Config
from engine.protocols.negotiated.dispatcher import Dispatcher, Op
from tests.helpers.examples import examples

CONFIG = Config(1, 1.0, 30.0, ())
SERVICES = ("x", "y", "z")

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(("join", "leave", "unreachable", "accept", "give", "reply", "back", "withdraw", "give up")),
        st.integers(0, 5),
        st.integers(0, 5),
    )
)


def state(dispatcher: Dispatcher, kept: frozenset[bytes] = frozenset()) -> Any:
    """All of a dispatcher that a fallback must have; ``kept``: workers whose place among the ready ones is not told."""
    workers = {key: (member.services, member.slots, member.free) for key, member in dispatcher.members.items()}
    held = {key: [(task.key, task.attempt) for task in dispatcher.in_flight.of(key)] for key in dispatcher.members}
    queues = {
        name: (
            [(task.key, task.attempt, task.message) for task in (*queue.suspects.waiting, *queue.backlog)],
            [key for key in queue.ready if key not in kept],
            queue.held,
        )
        for name, queue in dispatcher.queues.items()
    }
    owners = {
        client: (set(owner.tasks), owner.waiting, owner.size, owner.services)
        for client, owner in dispatcher.owners.items()
    }
    return workers, held, queues, owners


def step(dispatcher: Dispatcher, act: str, a: int, b: int, serial: int) -> None:
    key = b"w%d" % a
    member = dispatcher.members.get(key)
    match act:
        case "join":
            dispatcher.join(key, SERVICES[: 1 + b % 3], max(1 + b, dispatcher.in_flight.held(key)), 0.0)
        case "leave" if member is not None:
            for task in reversed(dispatcher.leave(key, 2.0)):
                dispatcher.requeue(task) if task.attempt < 3 else dispatcher.end(task)
        case "unreachable" if member is not None:
            for task in reversed(dispatcher.leave(key, 2.0)):
                dispatcher.undelivered(task)
                dispatcher.requeue(task)
        case "give up":
            for name in list(dispatcher.unoffered):
                dispatcher.give_up(name, 9.0)
        case "accept":
            dispatcher.accept(Task((b"c%d" % b, b"%d" % serial), SERVICES[a % 3], [b"body" * b], 0.0))
        case "give" if SERVICES[a % 3] in dispatcher.queues:
            dispatcher.give_suspects([name for name in SERVICES if name in dispatcher.queues][: 1 + b % 3], 1.0)
            dispatcher.give(dispatcher.queues[SERVICES[a % 3]], 1.0)
        case "reply" | "back" if member is not None and dispatcher.in_flight.held(key):
            held = list(dispatcher.in_flight.of(key))
            task = held[b % len(held)]
            dispatcher.take(key, task.key)
            dispatcher.end(task) if act == "reply" else dispatcher.requeue(task)
        case "withdraw":
            dispatcher.withdraw([b"c%d" % a, b"c%d" % b])


def followed(dispatcher: Dispatcher, bodies: list[bytes], copy: Dispatcher | None = None) -> Dispatcher:
    copy = Dispatcher() if copy is None else copy
    for body in bodies:
        ops = replica.decode(body)
        assert ops is not None
        for op in ops:
            assert op[0] == "x" or replica.follow(copy, op, 2.0), op
        copy.check()
    return copy


@examples(150, derandomize=True, database=None)
@given(steps, steps)
def test_a_desk_that_is_told_the_same_is_the_same(before: list[Step], after: list[Step]) -> None:
    """Begun at any moment with the whole dispatcher, followed from then on."""
    dispatcher = Dispatcher()
    for i, (act, a, b) in enumerate(before):
        step(dispatcher, act, a, b, i)
    copy = followed(dispatcher, list(replica.encode(replica.whole(dispatcher, CONFIG))))
    assert state(copy)[:2] == state(dispatcher)[:2]
    dispatcher.log = []
    for i, (act, a, b) in enumerate(after):
        step(dispatcher, act, a, b, len(before) + i)
        dispatcher.check()
    followed(dispatcher, list(replica.encode(dispatcher.log)), copy)
    empty: Any = ([], [], 0)
    kept = frozenset(key for queue in dispatcher.queues.values() for key in queue.suspects.kept)
    wanted, got = state(dispatcher), state(copy, kept)
    assert got[:2] == wanted[:2]
    for name in SERVICES:  # a service without anything is not worth telling
        assert got[2].get(name, empty) == wanted[2].get(name, empty), name


def test_messages_are_bounded() -> None:
    ops: list[Op] = [["l", b"w"]] * (2 * replica.CHUNK + 1)
    assert [len(replica.decode(body) or ()) for body in replica.encode(ops)] == [replica.CHUNK, replica.CHUNK, 1]
    large: list[Op] = [["a", b"c", b"%d" % i, "x", bytes(replica.CHUNK_BYTES // 2), 0] for i in range(5)]
    assert [len(replica.decode(body) or ()) for body in replica.encode(large)] == [2, 2, 1]
    assert list(replica.encode([])) == []


def test_the_largest_task_is_one_frame_between_brokers() -> None:
    """A larger frame ends the connection, and would for ever: the copy is sent again when it is there anew."""
    op: Op = ["a", bytes(MAX_ROUTING_ID), bytes(MAX_ID), "s" * 64, bytes(wire.MAX_BODY), 3]
    (body,) = replica.encode([op])
    assert len(body) <= MAX_FRAME and replica.decode(body) == [op]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        msgpack.packb({}),
        msgpack.packb([]),
        msgpack.packb([1]),
        msgpack.packb([[]]),
        msgpack.packb([["q"]]),
        msgpack.packb([[b"l", b"w"]]),
        msgpack.packb([["l", "w"]]),
        msgpack.packb([["l", b"w", 1]]),
        msgpack.packb([["j", b"w", ["x"], True]]),
        msgpack.packb([["l", b"w"]] * 1025),
    ],
)
def test_what_are_no_changes_is_none(body: bytes) -> None:
    assert replica.decode(body) is None


@pytest.mark.parametrize(
    "op",
    [
        ["j", b"w", ["a b"], 1],
        ["j", b"w", ["x"], 0],
        ["j", b"w" * 256, ["x"], 1],
        ["a", b"c" * 256, b"9", "x", b"", 0],
        ["a", b"c", b"9" * 65, "x", b"", 0],
        ["j", b"a", ["x"], 1],  # fewer slots than it holds
        ["l", b"w"],
        ["a", b"c", b"1", "x", b"", 0],  # is there
        ["a", b"c", b"9", "x y", b"", 0],
        ["a", b"c", b"9", "x", b"", -1],
        ["g", b"c", b"9", b"a"],
        ["g", b"c", b"3", b"w"],
        ["g", b"c", b"3", b"a"],  # no slot free
        ["r", b"c", b"9"],
        ["e", b"c", b"9"],
        ["o", "x", b"w"],
        ["o", "x", b"a"],
        ["o", "q", b"b"],
        ["w", [b"c", "c"]],
        ["x", b""],
    ],
)
def test_a_change_that_does_not_fit_is_not_made(op: Op) -> None:
    dispatcher = Dispatcher()
    dispatcher.join(b"a", ("x",), 2, 0.0)
    dispatcher.join(b"b", ("x",), 1, 0.0)
    dispatcher.members[b"b"].draining = True
    dispatcher.drain(b"b")
    for i in (b"1", b"2", b"3"):
        dispatcher.accept(Task((b"c", i), "x", [b""], 0.0))
    dispatcher.give(dispatcher.queues["x"], 0.0)
    dispatcher.give(dispatcher.queues["x"], 0.0)
    before = state(dispatcher)
    assert not replica.follow(dispatcher, op, 1.0)
    assert state(dispatcher) == before
    dispatcher.check()


def test_too_many_bytes_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "MAX_HELD", 10)
    dispatcher = Dispatcher()
    assert replica.follow(dispatcher, ["a", b"c", b"1", "x", b"x" * 10, 0], 0.0)
    assert not replica.follow(dispatcher, ["a", b"c", b"2", "x", b"x", 0], 0.0)


def test_withdrawals_are_sent_within_bounds() -> None:
    """Nobody's name is shorter than what a thousand of them must fit into."""
    ops: list[Op] = [["w", [b"%0255d" % i for i in range(1024)]]] * 9
    bodies = list(replica.encode(ops))
    assert len(bodies) > 1 and all(len(body) <= MAX_FRAME for body in bodies)
    assert [op for body in bodies for op in replica.decode(body) or []] == ops
