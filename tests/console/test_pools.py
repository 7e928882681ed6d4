from __future__ import annotations

import pytest

from console.pools import BULK, LIMIT, Wanted, read
from engine.labs import pool


def test_what_a_process_takes_is_what_the_engine_takes() -> None:
    assert (BULK, LIMIT) == (pool.BULK, pool.LIMIT)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", Wanted()),
        ("5", Wanted(5)),
        ("5 --slots 2 --name slow", Wanted(5, "slow", 2)),
        ("--name=far --transport=tcp 1,000", Wanted(1000, "far", None, "tcp")),
    ],
)
def test_pools_as_they_are_typed(text: str, wanted: Wanted) -> None:
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5 6", "one number of workers"),
        ("0", "from 1 to 20,000"),
        ("--slot 3", "bulk has no '--slot'"),
        ("--slots x", "--slots needs a number"),
        ("--transport udp", "inproc or tcp"),
    ],
)
def test_what_is_wrong_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(text)
