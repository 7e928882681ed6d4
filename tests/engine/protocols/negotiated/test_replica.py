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
from engine.protocols.negotiated.desk import Desk, Op
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


def state(desk: Desk, kept: frozenset[bytes] = frozenset()) -> Any:
    """All of a desk that a fallback must have; ``kept``: workers whose place among the ready ones is not told."""
    workers = {key: (member.services, member.slots, member.free) for key, member in desk.members.items()}
    held = {key: [(task.key, task.attempt) for task in desk.in_flight.of(key)] for key in desk.members}
    queues = {
        name: (
            [(task.key, task.attempt, task.message) for task in (*queue.suspects.waiting, *queue.backlog)],
            [key for key in queue.ready if key not in kept],
            queue.held,
        )
        for name, queue in desk.queues.items()
    }
    owners = {
        client: (set(owner.tasks), owner.waiting, owner.size, owner.services) for client, owner in desk.owners.items()
    }
    return workers, held, queues, owners


def step(desk: Desk, act: str, a: int, b: int, serial: int) -> None:
    key = b"w%d" % a
    member = desk.members.get(key)
    match act:
        case "join":
            desk.join(key, SERVICES[: 1 + b % 3], max(1 + b, desk.in_flight.held(key)), 0.0)
        case "leave" if member is not None:
            for task in reversed(desk.leave(key, 2.0)):
                desk.requeue(task) if task.attempt < 3 else desk.end(task)
        case "unreachable" if member is not None:
            for task in reversed(desk.leave(key, 2.0)):
                desk.undelivered(task)
                desk.requeue(task)
        case "give up":
            for name in list(desk.unoffered):
                desk.give_up(name, 9.0)
        case "accept":
            desk.accept(Task((b"c%d" % b, b"%d" % serial), SERVICES[a % 3], [b"body" * b], 0.0))
        case "give" if SERVICES[a % 3] in desk.queues:
            desk.give_suspects([name for name in SERVICES if name in desk.queues][: 1 + b % 3], 1.0)
            desk.give(desk.queues[SERVICES[a % 3]], 1.0)
        case "reply" | "back" if member is not None and desk.in_flight.held(key):
            held = list(desk.in_flight.of(key))
            task = held[b % len(held)]
            desk.take(key, task.key)
            desk.end(task) if act == "reply" else desk.requeue(task)
        case "withdraw":
            desk.withdraw([b"c%d" % a, b"c%d" % b])


def followed(desk: Desk, bodies: list[bytes], copy: Desk | None = None) -> Desk:
    copy = Desk() if copy is None else copy
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
    """Begun at any moment with the whole desk, followed from then on."""
    desk = Desk()
    for i, (act, a, b) in enumerate(before):
        step(desk, act, a, b, i)
    copy = followed(desk, list(replica.encode(replica.whole(desk, CONFIG))))
    assert state(copy)[:2] == state(desk)[:2]
    desk.log = []
    for i, (act, a, b) in enumerate(after):
        step(desk, act, a, b, len(before) + i)
        desk.check()
    followed(desk, list(replica.encode(desk.log)), copy)
    empty: Any = ([], [], 0)
    kept = frozenset(key for queue in desk.queues.values() for key in queue.suspects.kept)
    wanted, got = state(desk), state(copy, kept)
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
    desk = Desk()
    desk.join(b"a", ("x",), 2, 0.0)
    desk.join(b"b", ("x",), 1, 0.0)
    desk.members[b"b"].draining = True
    desk.drain(b"b")
    for i in (b"1", b"2", b"3"):
        desk.accept(Task((b"c", i), "x", [b""], 0.0))
    desk.give(desk.queues["x"], 0.0)
    desk.give(desk.queues["x"], 0.0)
    before = state(desk)
    assert not replica.follow(desk, op, 1.0)
    assert state(desk) == before
    desk.check()


def test_too_many_bytes_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica, "MAX_HELD", 10)
    desk = Desk()
    assert replica.follow(desk, ["a", b"c", b"1", "x", b"x" * 10, 0], 0.0)
    assert not replica.follow(desk, ["a", b"c", b"2", "x", b"x", 0], 0.0)


def test_withdrawals_are_sent_within_bounds() -> None:
    """Nobody's name is shorter than what a thousand of them must fit into."""
    ops: list[Op] = [["w", [b"%0255d" % i for i in range(1024)]]] * 9
    bodies = list(replica.encode(ops))
    assert len(bodies) > 1 and all(len(body) <= MAX_FRAME for body in bodies)
    assert [op for body in bodies for op in replica.decode(body) or []] == ops
