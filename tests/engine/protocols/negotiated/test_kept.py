"""What a peer keeps of its brokers."""

from __future__ import annotations

import json

import pytest

from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import kept
from engine.protocols.negotiated.config import MAX_BROKERS, Address, Config

ONE = Config(1, 1.0, 30.0, (Address("tcp://127.0.0.1:1", "tcp://127.0.0.1:2"),))
TWO = Config(2, 2.0, 20.0, ())


def test_there_and_back() -> None:
    both = {"tcp://a:1": ONE, "tcp://b:1": TWO}
    assert kept.decode(kept.encode(both)) == both
    assert kept.of(both, "tcp://b:1") == TWO and kept.of(both, "tcp://c:1") is None


def test_one_that_was_kept_without_its_broker_counts_for_any_until_a_broker_speaks() -> None:
    old = kept.decode(configs.encode(ONE, "json"))
    assert kept.of(old, "tcp://a:1") == ONE
    new = kept.added(old, "tcp://a:1", TWO)
    assert new == {"tcp://a:1": TWO} and kept.of(new, "tcp://b:1") is None


def test_the_newest_are_kept() -> None:
    found: kept.Kept = {}
    for i in range(kept.MOST + 1):
        found = kept.added(found, f"tcp://a:{i}", ONE)
    found = kept.added(found, "tcp://a:1", TWO)
    assert list(found) == [*(f"tcp://a:{i}" for i in range(2, kept.MOST + 1)), "tcp://a:1"]
    assert kept.decode(kept.encode(found)) == found


def test_the_largest_is_read_back() -> None:
    group = tuple(Address(f"tcp://{'x' * 230}:{i}", f"tcp://{'y' * 230}:{i}") for i in range(MAX_BROKERS))
    found = {f"tcp://a:{i}": Config(1, 1.0, 30.0, group) for i in range(kept.MOST)}
    assert kept.decode(kept.encode(found)) == found


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"\xff",
        b"[" * 10_000,
        b"[]",
        b"{}",
        b'{"kept": 1}',
        b'{"kept": [1, ["a"], ["a", 1], [1, {}], ["a", {}]]}',
        b" " * 2_000_000,
        json.dumps(
            {"kept": [["a", {"version": True, "heartbeat_interval": 1.0, "skew": 1.0, "brokers": []}]]}
        ).encode(),
    ],
)
def test_what_can_not_be_read_was_not_kept(data: bytes | None) -> None:
    assert kept.decode(data) == {}
