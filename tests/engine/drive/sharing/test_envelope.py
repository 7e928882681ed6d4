"""Wrapped messages: what goes in comes out in order, within bounds, and nothing else comes in."""

from __future__ import annotations

from random import Random
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Frames
from engine.drive.sharing import envelope
from engine.drive.sharing.envelope import BATCH, MAGIC, MAX_BATCH, SMALL, is_batch, unwrap, wrap
from engine.parts.limits import MAX_FRAMES, MAX_ROUTING_ID
from tests.helpers.mutator import Mutator

names = st.binary(min_size=1, max_size=MAX_ROUTING_ID)
frames = st.binary(max_size=40) | st.sampled_from((b"x" * SMALL, b"x" * (SMALL + 1)))
messages = st.builds(lambda name, rest: [name, *rest], names, st.lists(frames, max_size=4))


def through(some: list[Frames]) -> list[Frames]:
    found: list[Frames] = []
    for wrapped, inner in wrap(some):
        assert unwrap(wrapped) == inner and is_batch(wrapped) == (len(wrapped) == 1)
        assert len(wrapped) > 1 or (len(wrapped[0]) <= MAX_BATCH and len(inner) <= BATCH)
        found += inner
    return found


def test_what_each_form_looks_like() -> None:
    assert list(wrap([])) == []
    two = [[b"w1", b"a", b""], [b"w2"]]
    assert list(wrap(two)) == [([b"RHS1\x92\x93\xc4\x02w1\xc4\x01a\xc4\x00\x91\xc4\x02w2"], two)]
    large = [b"w1", b"", b"x" * SMALL, b"y"]
    assert list(wrap([large])) == [([b"RHS1", *large], [large])]


@given(st.lists(messages, max_size=12))
def test_everything_comes_out_in_order(some: list[Frames]) -> None:
    assert through(some) == some


@pytest.mark.parametrize("size", [0, 1, 5000, SMALL])
def test_a_batch_is_full_by_number_or_by_bytes(size: int) -> None:
    some = [[b"i" * MAX_ROUTING_ID, *[b""] * (MAX_FRAMES - 1), b"x" * size]] * (BATCH + 1)
    assert through(some) == some
    assert len(list(wrap(some))) == 2 if size < 2 else len(list(wrap(some))) > 1


def test_what_is_large_keeps_its_place() -> None:
    large = [b"w", b"x" * (SMALL + 1)]
    some = [[b"w", b"1"], large, [b"w", b"2"], [b"v", b"3"]]
    assert [inner for _, inner in wrap(some)] == [some[:1], [large], some[2:]]


NO_BINARIES: tuple[Any, ...] = ("", 1, None, True, 1.5, [], {}, [b"x"])
WRONG: dict[str, list[Frames]] = {
    "batch too long": [[MAGIC + b"x" * MAX_BATCH]],
    "unreadable batch": [
        [MAGIC],
        [MAGIC + b"\xc1"],
        [MAGIC + b"\x91\x92\xc4\x01a"],
        [MAGIC + b"\x91\x91\xa1a"],
        [MAGIC + b"\x91\x91\xc4\x01a\x00"],
        [MAGIC + b"\x91\x81\x01\x01"],
        [MAGIC + b"\x91" * 5000],
        [MAGIC + b"\xdd\xff\xff\xff\xff"],
        [MAGIC + msgpack.packb([[b"w"]] * (BATCH + 1))],
        [MAGIC + msgpack.packb([[b"w"] * (BATCH + 1)])],
        [MAGIC + msgpack.packb([[[]] * BATCH] * BATCH)],
    ],
    "no batch of messages": [[MAGIC + b"\x90"], [MAGIC + b"\x01"], [MAGIC + b"\x80"], [MAGIC + b"\xc4\x00"]],
    "wrong number of frames in a wrapped message": [
        [MAGIC + msgpack.packb([[]])],
        [MAGIC + msgpack.packb([[b"w"], []])],
        [MAGIC + msgpack.packb([b"w"])],
        [MAGIC + msgpack.packb([[b"w"] * (MAX_FRAMES + 2)])],
        [MAGIC, *[b"w"] * (MAX_FRAMES + 2)],
    ],
    "a frame of a wrapped message is no binary": [[MAGIC + msgpack.packb([[b"w", wrong]])] for wrong in NO_BINARIES],
    "routing id of a wrong length": [
        [MAGIC + msgpack.packb([[b"", b"x"]])],
        [MAGIC + msgpack.packb([[b"w", b"x"], [b"i" * (MAX_ROUTING_ID + 1), b"x"]])],
        [MAGIC, b"", b"x"],
    ],
    "nothing behind the routing id": [[MAGIC, b"w"]],
    "not wrapped": [[b"RHS2", b"w", b"x"], [b"", b"w", b"x"], [MAGIC + b"\x91", b"w", b"x"]],
}


@pytest.mark.parametrize(("why", "wrong"), [(why, one) for why, some in WRONG.items() for one in some])
def test_what_is_wrong_is_wrong_as_a_whole(why: str, wrong: Frames) -> None:
    assert unwrap(wrong) == why


def test_the_most_that_is_allowed_passes() -> None:
    most = [[b"i" * MAX_ROUTING_ID, *[b""] * MAX_FRAMES]] * BATCH
    assert through(most) == most


def test_garbage_is_refused_or_read_within_bounds() -> None:
    random = Random(4)
    valid = [wrapped for wrapped, _ in wrap([[b"w%d" % n, b"x" * n] for n in range(9)] + [[b"w", b"x" * (SMALL + 1)]])]
    mutate = Mutator(valid, random)
    read: list[Any] = [unwrap(mutate()) for _ in range(3000)]
    for found in read:
        assert type(found) is str or all(
            0 < len(message) <= MAX_FRAMES + 1 and set(map(type, message)) == {bytes} for message in found
        )
    kinds = {found if type(found) is str else "read" for found in read}
    assert {"read", "unreadable batch", "not wrapped"} <= kinds


def test_few_bytes_do_not_take_long_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound on all arrays a megabyte of empty ones would be made one by one."""
    counted: list[int] = []

    def unpack(body: bytes, most: int, **limits: int) -> Any:
        counted.append(most)
        return []

    monkeypatch.setattr(envelope, "unpack", unpack)
    unwrap([MAGIC + b"\x90" * 5000])
    assert counted == [BATCH + 1]
