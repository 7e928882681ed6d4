"""Frames, both ways: what is a message, and why the rest is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Frames
from engine.parts.limits import MAX_FRAME
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.messages import ID, PING, PONG, READY

ID7 = (7).to_bytes(ID, "little")
BIG = bytes(MAX_FRAME + 1)


def test_the_codes_are_the_seeds_in_ascii() -> None:
    assert (messages.READY, messages.PING, messages.PONG, messages.EXIT) == (b"READY", b"PING", b"PONG", b"EXIT")


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([b"w", b"", READY], READY),
        ([b"w", b"", PING], PING),
        ([b"w", b"", b"a result"], b"a result"),
        ([b"w", b"", b""], b""),
        ([], "not three frames"),
        ([b"w", b""], "not three frames"),
        ([b"w", b"", b"a", b"b"], "not three frames"),
        ([b"", b"", READY], "no routing id"),
        ([b"w", b"x", READY], "no empty delimiter"),
        ([b"w", b"", BIG], "body too large"),
    ],
)
def test_from_worker(frames: Frames, message: bytes | str) -> None:
    assert messages.from_worker(frames) == message


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([b"", PONG], PONG),
        ([b"", b"EXIT"], b"EXIT"),
        ([b"", b"a job"], b"a job"),
        ([b"", b""], b""),
        ([], "not two frames"),
        ([PONG], "not two frames"),
        ([b"x", PONG], "no empty delimiter"),
        ([b"", BIG], "body too large"),
    ],
)
def test_from_broker(frames: Frames, message: bytes | str) -> None:
    assert messages.from_broker(frames) == message


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([b"c", b"", ID7, b"job"], (ID7, b"job")),
        ([b"c", b"", ID7, b""], (ID7, b"")),
        ([b"c", b"", PING], (b"", PING)),
        ([b"c", b"", b"job"], "not a request"),
        ([b"c", b""], "not three or four frames"),
        ([b"c", b"", ID7, b"job", b""], "not three or four frames"),
        ([b"", b"", ID7, b"job"], "no routing id"),
        ([b"c", b"x", ID7, b"job"], "no empty delimiter"),
        ([b"c", b"", b"short", b"job"], "id not of 8 or 16 bytes"),
        ([b"c", b"", ID7, BIG], "job too large"),
    ],
)
def test_from_client(frames: Frames, message: tuple[bytes, bytes] | str) -> None:
    assert messages.from_client(frames) == message


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([b"", ID7, b"DONE", b"result"], (ID7, b"DONE", b"result")),
        ([b"", ID7, b"FULL", b"why"], (ID7, b"FULL", b"why")),
        ([b"", ID7, b"REFUSED", b"why"], (ID7, b"REFUSED", b"why")),
        ([b"", ID7, b"FAILED", b"why"], (ID7, b"FAILED", b"why")),
        ([b"", PONG], (b"", PONG, b"")),
        ([b"", b"READY"], "not a reply"),
        ([b"", ID7, b"DONE"], "not two or four frames"),
        ([b"x", PONG], "no empty delimiter"),
        ([b"", b"short", b"DONE", b""], "id not of 8 or 16 bytes"),
        ([b"", ID7, b"MAYBE", b""], "unknown status"),
        ([b"", ID7, b"DONE", BIG], "result too large"),
    ],
)
def test_to_client(frames: Frames, message: tuple[bytes, bytes, bytes] | str) -> None:
    assert messages.to_client(frames) == message


@given(st.lists(st.binary(max_size=9), max_size=6))
def test_every_parser_is_total(frames: Frames) -> None:
    for parser in (messages.from_worker, messages.from_broker, messages.from_client, messages.to_client):
        message = parser(frames)
        assert isinstance(message, str) == (not isinstance(message, bytes | tuple))
        if isinstance(message, str):
            assert message and message.isascii() and message.isprintable()


def test_ruling_3_names_the_bodies_that_cannot_be_told_from_commands() -> None:
    assert sorted(messages.NOT_A_JOB) == [b"EXIT", b"PONG"]
    assert sorted(messages.NOT_A_RESULT) == [b"PING", b"READY"]


@pytest.mark.parametrize(
    ("job", "kind", "result"),
    [
        (b"ping", "ping", b"ping"),
        (messages.data_job(3), "data", bytes(3)),
        (messages.data_job(0), "data", b""),
        (messages.data_job(MAX_FRAME), "data", bytes(MAX_FRAME)),
        (b"data %d" % (MAX_FRAME + 1), "job", b"data %d" % (MAX_FRAME + 1)),
        (b"data", "job", b"data"),
        (b"data -1", "job", b"data -1"),
        (b"data 1_0", "job", b"data 1_0"),
        (b"", "job", b""),
        (b"\xff\x00", "job", b"\xff\x00"),
    ],
)
def test_bodies(job: bytes, kind: str, result: bytes) -> None:
    assert messages.kind_of(job) == kind
    assert messages.result_of(job) == result


def test_a_ping_or_data_task_may_name_its_id() -> None:
    ident = bytes(range(16))
    job = messages.naming(b"ping", ident)
    assert messages.named(job) == ident and messages.kind_of(job) == "ping" and messages.result_of(job) == job
    job = messages.naming(messages.data_job(7), ident)
    assert messages.named(job) == ident and messages.kind_of(job) == "data" and messages.result_of(job) == bytes(7)
    for other in (b"ping", b"ping ", b"ping " + b"x" * 32, b"ping " + b"0" * 31, b"job " + b"0" * 32, b"\xff" * 37):
        assert messages.named(other) == b""
    assert messages.kind_of(b"ping me") == "job" and messages.kind_of(b"data x " + b"0" * 32) == "job"
