"""The packed frame: what goes in comes out, and nothing else comes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Frames
from engine.parts.limits import MAX_FRAME, MAX_FRAMES, MAX_ID, MAX_ROUTING_ID
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed

ID, C, W = b"12345678", b"client", b"worker"
PING: Frames = [wire.TRACKEXEC, ID, wire.APP_PING]
STREAM: Frames = [wire.TRACKEXEC, b"1234", wire.APP_STREAM, wire.STREAM_NAME, b"1024"]
READERS: dict[bytes, Callable[[bytes], Any]] = {
    packed.TASKS: packed.read_tasks,
    packed.DELIVERIES: packed.read_deliveries,
    packed.ANSWERS: packed.read_answers,
    packed.RESULTS: packed.read_results,
}

idents = st.binary(min_size=1, max_size=MAX_ID)
names = st.binary(min_size=1, max_size=MAX_ROUTING_ID)
commands = st.binary(min_size=1, max_size=1).filter(lambda app: app not in wire.BROKERS_OWN)
tasks = st.builds(
    lambda command, ident, app, more: [command, ident, app, *more],
    st.sampled_from(wire.EXECUTE),
    idents,
    commands,
    st.lists(st.binary(max_size=20), max_size=4),
)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=8)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.binary(max_size=2), inner, max_size=2),
    max_leaves=20,
)


def flat(rows: Any) -> list[Any]:
    return [value for row in rows for value in row]


def test_what_each_kind_looks_like() -> None:
    assert packed.tasks([PING]) == b"RHP1T\x91\x93\xc4\x01\x04\xc4\x0812345678\xc4\x01\x01"
    assert packed.deliveries([C, PING]) == b"RHP1D\x92\xc4\x06client\x93\xc4\x01\x04\xc4\x0812345678\xc4\x01\x01"
    assert packed.answers([C, ID, True]) == b"RHP1A\x93\xc4\x06client\xc4\x0812345678\xc3"
    assert packed.results([ID, W, None]) == b"RHP1R\x93\xc4\x0812345678\xc4\x06worker\xc0"


@given(st.lists(tasks, min_size=1, max_size=packed.BATCH))
def test_tasks_come_out_as_they_went_in(batch: list[Frames]) -> None:
    assert packed.read_tasks(packed.tasks(batch)) == batch


@given(st.lists(st.tuples(names, tasks), min_size=1, max_size=packed.BATCH))
def test_deliveries_come_out_as_they_went_in(batch: list[tuple[bytes, Frames]]) -> None:
    assert packed.read_deliveries(packed.deliveries(flat(batch))) == batch


@given(
    st.lists(st.tuples(names, idents, st.sampled_from([None, True]) | st.binary()), min_size=1, max_size=packed.BATCH)
)
def test_answers_come_out_as_they_went_in(batch: list[packed.Answer]) -> None:
    assert packed.read_answers(packed.answers(flat(batch))) == batch


@given(st.lists(st.tuples(idents, names, st.none() | st.binary()), min_size=1, max_size=packed.BATCH))
def test_results_come_out_as_they_went_in(batch: list[packed.Result]) -> None:
    assert packed.read_results(packed.results(flat(batch))) == batch


def test_the_largest_batch_of_what_fits_is_within_every_bound() -> None:
    name, ident, full = b"n" * MAX_ROUTING_ID, b"i" * MAX_ID, b"x" * packed.SMALL
    task = [wire.TRACKEXEC, ident, wire.APP_STREAM, *[b"x" * 600] * (MAX_FRAMES - 7)]
    assert packed.fits(task)
    for frame in (
        packed.tasks([task] * packed.BATCH),
        packed.deliveries([name, task] * packed.BATCH),
        packed.answers([name, ident, full] * packed.BATCH),
        packed.results([ident, name, full] * packed.BATCH),
    ):
        assert len(frame) <= packed.MAX_PACKED < MAX_FRAME
        assert len(READERS[packed.kind(frame)](frame)) == packed.BATCH


def test_what_is_large_does_not_fit() -> None:
    assert packed.fits(PING) and packed.fits(STREAM)
    assert not packed.fits([*PING, b"x" * packed.SMALL])


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        (packed.TASKS, [], "wrong number of tasks"),
        (packed.TASKS, [PING] * (packed.BATCH + 1), "wrong number of tasks"),
        (packed.TASKS, {}, "unreadable packed frame"),
        (packed.TASKS, 7, "unreadable packed frame"),
        (packed.TASKS, [PING[:2]], "not a task"),
        (packed.TASKS, [PING, "ping"], "unreadable packed frame"),
        (packed.TASKS, [b"ping"], "not a task"),
        (packed.TASKS, [[wire.PING, ID, wire.APP_PING]], "not a task"),
        (packed.TASKS, [[3, ID, wire.APP_PING]], "not a task"),
        (packed.TASKS, [[wire.EXEC, b"", wire.APP_PING]], "not a task"),
        (packed.TASKS, [[wire.EXEC, b"i" * (MAX_ID + 1), wire.APP_PING]], "not a task"),
        (packed.TASKS, [[wire.EXEC, None, wire.APP_PING]], "not a task"),
        (packed.TASKS, [[wire.EXEC, ID, b"\1\1"]], "not a task"),
        (packed.TASKS, [[wire.EXEC, ID, []]], "not a task"),
        (packed.TASKS, [[wire.EXEC, ID, wire.APP_REGISTER, b"10"]], "not a task"),
        (packed.TASKS, [[wire.EXEC, ID, wire.APP_INCREMENT]], "not a task"),
        (packed.TASKS, [[*STREAM, 1024]], "not a task"),
        (packed.TASKS, [[*PING, *[b""] * (MAX_FRAMES - 6)]], "not a task"),
        (packed.DELIVERIES, [C], "wrong number of tasks"),
        (packed.DELIVERIES, [b"", PING], "bad address"),
        (packed.DELIVERIES, [b"c" * (MAX_ROUTING_ID + 1), PING], "bad address"),
        (packed.DELIVERIES, [1, PING], "bad address"),
        (packed.DELIVERIES, [C, None], "not a task"),
        (packed.ANSWERS, [C, ID], "wrong number of tasks"),
        (packed.ANSWERS, [None, ID, True], "bad address"),
        (packed.ANSWERS, [C, b"", True], "id of a wrong length"),
        (packed.ANSWERS, [C, 1, True], "id of a wrong length"),
        (packed.ANSWERS, [C, ID, False], "not an answer"),
        (packed.ANSWERS, [C, ID, 1], "not an answer"),
        (packed.ANSWERS, [C, ID, float("nan")], "not an answer"),
        (packed.RESULTS, [ID, W, True], "not an answer"),
        (packed.RESULTS, [ID, b"", None], "bad address"),
        (packed.RESULTS, [b"", W, None], "id of a wrong length"),
    ],
)
def test_what_is_wrong_is_said(kind: bytes, body: Any, reason: str) -> None:
    assert READERS[kind](kind + msgpack.packb(body)) == reason


@pytest.mark.parametrize("kind", READERS)
def test_what_is_no_msgpack_or_too_much_of_it_is_refused(kind: bytes) -> None:
    read, body = READERS[kind], msgpack.packb([b"x"])
    deep = b"\x91" * 100_000
    for bad in (
        b"",
        b"\xc1",
        body + b"\0",
        body[:-1],
        deep,
        msgpack.packb(msgpack.Timestamp(1)),
        b"\xdd\xff\xff\xff\xff",
    ):
        assert read(kind + bad) == "unreadable packed frame", bad[:20]
    assert read(kind + b"\0" * packed.MAX_PACKED) == "frame too long"


def test_a_kind_is_told_by_its_head() -> None:
    assert [packed.kind(kind + b"...") for kind in READERS] == list(READERS)
    assert packed.kind(b"") == packed.kind(b"RHP") == packed.kind(b"LMQv100") == packed.kind(b"RHP2T") == b""
    assert packed.kind(b"RHP1") == b"RHP1" and packed.kind(b"RHP1Z...") == b"RHP1Z", "ours, and no kind that we know"


@given(st.sampled_from(list(READERS)), st.binary(max_size=40))
def test_any_bytes_are_taken(kind: bytes, body: bytes) -> None:
    found = READERS[kind](kind + body)
    assert isinstance(found, str) or 1 <= len(found) <= packed.BATCH


@given(st.sampled_from(list(READERS)), st.lists(anything, max_size=9) | anything)
def test_any_values_are_taken(kind: bytes, body: Any) -> None:
    found = READERS[kind](kind + msgpack.packb(body))
    assert isinstance(found, str) or 1 <= len(found) <= packed.BATCH
