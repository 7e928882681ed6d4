"""Whose the tasks are: shares, silence, and books that agree with the tables."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.parts import owners as module
from engine.parts.owners import Has, Owners, share

T = 50.0


def test_a_share_is_a_tenth_or_a_thousand() -> None:
    assert [share(bound) for bound in (0, 10, 10_000, 1_000_000)] == [0, 10, 1_000, 100_000]


@pytest.fixture
def owners(monkeypatch: pytest.MonkeyPatch) -> Owners[int]:
    for name, value in (("LEAST", 4), ("BYTES", 100), ("KINDS", 2)):
        monkeypatch.setattr(module, name, value)
    return Owners(40, 20, 3.0)


def test_each_bound_has_its_words(owners: Owners[int]) -> None:
    assert owners.excess(b"c", 4, 100) == ""
    assert owners.excess(b"c", 5, 0) == "more than 4 tasks of one client may not wait"
    assert owners.excess(b"c", 0, 101) == "the jobs of one client may not have more than 100 bytes"
    owners.add(b"c", 1, 1, 50, T, kind=1)
    assert owners.excess(b"c", 4, 0) and owners.excess(b"c", 0, 51) and not owners.excess(b"c", 3, 50, kind=2)
    owners.add(b"c", 2, 0, 0, T, kind=2)
    assert owners.excess(b"c", 0, 0, kind=3) == "one client may not ask for more than 2 kinds of worker"
    assert owners.excess(b"c", 0, 0, kind=2) == ""
    for item in (3, 4):
        owners.add(b"c", item, 0, 0, T, kind=2)
    assert owners.excess(b"c", 0, 0, kind=2) == "one client may not have more than 4 jobs"
    assert owners.excess(b"d", 4, 100) == ""


def test_the_operator_has_no_bounds_and_is_never_gone(owners: Owners[int]) -> None:
    owners.add(b"", 1, 1_000, 1_000, T)
    assert owners.excess(b"", 10**9, 10**9, 7) == ""
    assert owners.silent(T + 1_000) == [] and not owners.gone(b"")
    owners.check(Counter({b"": 1_000}), Counter({b"": 1_000}), Counter({b"": 1}))


def test_who_is_silent_is_gone_once_and_back_when_heard(owners: Owners[int]) -> None:
    owners.add(b"c", 1, 2, 5, T)
    owners.heard(b"nobody", T)
    assert owners.silent(T + 2.9) == [] and owners.wake_at() <= T + 3
    assert owners.silent(T + 3) == [b"c"] and owners.gone(b"c")
    assert owners.silent(T + 9) == []
    owners.heard(b"c", T + 10)
    assert not owners.gone(b"c")
    owners.grace(5.0)
    assert owners.silent(T + 17) == [] and owners.silent(T + 18) == [b"c"]
    owners.check(Counter({b"c": 2}), Counter({b"c": 5}), Counter({b"c": 1}))


def test_who_has_nothing_is_not_kept(owners: Owners[int]) -> None:
    owners.add(b"c", 1, 2, 5, T)
    owners.wait(b"c", -1)
    assert (owners.of(b"c"), list(owners.all()), len(owners)) == ([1], [Has(b"c", 1, 1, 5)], 1)
    owners.wait(b"c", -1)
    owners.end(b"c", 1, 5)
    assert (owners.of(b"c"), list(owners.all()), len(owners), owners.gone(b"c")) == ([], [], 0, False)
    assert owners.silent(T + 9) == []
    owners.check(Counter(), Counter(), Counter())


def test_a_miscount_is_found(owners: Owners[int]) -> None:
    owners.add(b"c", 1, 1, 1, T)
    for wrong in (Counter({b"c": 2}), Counter[bytes]()):
        with pytest.raises(AssertionError):
            owners.check(wrong, Counter({b"c": 1}), Counter({b"c": 1}))
