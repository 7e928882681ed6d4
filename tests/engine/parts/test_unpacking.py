from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.unpacking import UNREADABLE, unpack

plain = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text()
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def containers(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(containers, value.values()))
    return 1 + sum(map(containers, value)) if isinstance(value, list) else 0


@given(values)
def test_so_many_arrays_and_maps_are_read_and_not_one_more(value: Any) -> None:
    packed, n = msgpack.packb(value), containers(value)
    assert unpack(packed, n) == value
    if n:
        with pytest.raises(ValueError, match="too many"):
            unpack(packed, n - 1)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff"]
)
def test_what_can_not_be_read_raises_what_it_says(data: bytes) -> None:
    with pytest.raises(UNREADABLE):
        unpack(data, 10)


def test_what_stands_behind_the_value_is_told_with_it() -> None:
    with pytest.raises(msgpack.ExtraData) as caught:
        unpack(msgpack.packb([1]) + b"more", 10)
    assert caught.value.unpacked == [1]


def test_limits_are_those_of_msgpack() -> None:
    with pytest.raises(ValueError, match="exceeds"):
        unpack(msgpack.packb([1, 2, 3]), 10, max_array_len=2)


def test_values_are_bounded_beside_arrays() -> None:
    rows = [[1, 2, 3]] * 10
    assert unpack(msgpack.packb(rows), 11, values=40) == rows
    with pytest.raises(ValueError, match="too many values"):
        unpack(msgpack.packb(rows), 11, values=39)
    with pytest.raises(ValueError, match="exceeds"):
        unpack(b"\xdd\x00\x0f\x42\x40" * 100, 1000, values=1000)
