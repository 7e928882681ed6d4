from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.limits import NONCES, decimal


@given(st.integers(0, 10**19), st.integers(0, 10**19), st.integers(0, 10**19))
def test_a_number_within_its_bounds_is_read_and_another_is_not(value: int, a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    assert decimal(b"%d" % value, low, high) == (value if low <= value <= high else None)


@given(st.binary(max_size=24))
def test_any_bytes_give_a_number_or_none(text: bytes) -> None:
    value = decimal(text, 0, 10**20)
    if value is None:
        assert not (0 < len(text) <= 20 and all(48 <= byte <= 57 for byte in text))
    else:
        assert text.lstrip(b"0") == (b"%d" % value if value else b"")


@pytest.mark.parametrize(
    "text", [b"", b"-1", b"+1", b" 1", b"1 ", b"1_0", b"1.0", b"0x1", b"x", b"\xb2", b"\xd9\xa1", b"1" * 21]
)
def test_what_python_would_read_or_choke_on_is_refused(text: bytes) -> None:
    assert decimal(text, -(10**30), 10**30) is None


def test_bounds_are_inclusive_and_leading_zeros_are_digits() -> None:
    assert [decimal(b"%d" % n, 2, 4) for n in range(1, 6)] == [None, 2, 3, 4, None]
    assert decimal(b"007", 0, 9) == 7


def test_pools_of_a_thousand_in_two_processes_hardly_ever_meet() -> None:
    """Up to a million, as the original draws them, two of a pool of 1,000 that nobody compares meet in 39 of 100."""
    assert 1_000 * 1_000 / NONCES < 1e-5 and len(b"%d" % NONCES) < 20
    assert 1 - math.exp(-1_000 * 1_000 / 2 / 1_000_000) == pytest.approx(0.39, abs=0.01)
