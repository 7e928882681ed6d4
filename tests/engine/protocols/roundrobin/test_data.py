from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.roundrobin import data

HEAD = b"2R\x08" + bytes(8)


def record(offset: int, n: int, payload: bytes | None = None) -> bytes:
    return offset.to_bytes(4, "little", signed=True) + n.to_bytes(4, "little", signed=True) + (payload or b"\x01" * n)


@given(st.integers(1, 5000), st.integers(0, 2**31 - 1))
def test_what_is_made_is_right_and_nothing_else_is(size: int, seed: int) -> None:
    made = data.make(size, 7, data.Dice(seed))
    assert data.wrong(made, size) is None
    assert data.wrong(made, size + 1) == data.wrong(made, size - 1) == "wrong sum"
    assert made[:3] == b"2R\x08" and int.from_bytes(made[3:11], "little") == 7


def test_one_seed_makes_one_stream() -> None:
    assert data.make(4096, 1, data.Dice(5)) == data.make(4096, 1, data.Dice(5)) != data.make(4096, 1, data.Dice(6))


def test_1024_bytes_come_in_a_few_records_as_the_originals() -> None:
    """Fact sheet: 2 to 5 records, 1051 to 1075 bytes were seen; one record is possible, and so are more."""
    dice = data.Dice(1)
    sizes = [len(data.make(1024, 1, dice)) for _ in range(1000)]
    assert all((size - 11 - 1024) % 8 == 0 for size in sizes)
    assert sorted(sizes)[100] >= 1051 and sorted(sizes)[900] <= 1075


def test_an_aborted_stream_is_not_a_stream() -> None:
    assert data.abort(3) == b"1R\x08\x03" + bytes(7)
    assert data.wrong(data.abort(3), 1024) == "stream not finished"


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (HEAD + record(0, 3), None),
        (HEAD + record(1021, 3), None),
        (HEAD + record(0, 1) + record(1022, 2), None),
        (b"", "not a raw stream packet"),
        (HEAD[:-1], "not a raw stream packet"),
        (b"2Z\x08" + bytes(8) + record(0, 3), "not a raw stream packet"),
        (b"2R\x04" + bytes(8) + record(0, 3), "not a raw stream packet"),
        (b"0R\x08" + bytes(8) + record(0, 3), "stream not finished"),
        (HEAD, "wrong sum"),
        (HEAD + record(0, 2), "wrong sum"),
        (HEAD + record(0, 3) + b"\x01", "record cut short"),
        (HEAD + record(0, 3)[:-1], "payload is not all 0x01"),
        (HEAD + record(0, 3, b"\x01\x02\x01"), "payload is not all 0x01"),
        (HEAD + record(-1, 3), "offset or length out of range"),
        (HEAD + record(1022, 3), "offset or length out of range"),
        (HEAD + record(0, -3), "offset or length out of range"),
        (HEAD + record(0, 0) + record(0, 3), "offset or length out of range"),
        (HEAD + record(0, 2**31 - 1, b"\x01"), "offset or length out of range"),
    ],
)
def test_every_byte_is_looked_at(packet: bytes, reason: str | None) -> None:
    assert data.wrong(packet, 3) == reason


@given(st.binary(max_size=64), st.booleans())
def test_any_bytes_are_judged(packet: bytes, headed: bool) -> None:
    data.wrong(HEAD + packet if headed else packet, 3)
