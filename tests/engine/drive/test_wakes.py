"""Whom a node wakes, and when."""

from __future__ import annotations

import pytest

from engine.core import NEVER, Seat
from engine.drive.hosted import HostedCore
from engine.drive.wakes import TOGETHER, Wakes
from tests.helpers.toys import Probe


def hosted(name: str, all_hosted: dict[str, HostedCore]) -> HostedCore:
    all_hosted[name] = HostedCore(name, Seat(Probe(), ()), lambda key, ok, result: None)
    return all_hosted[name]


def test_few_are_woken_at_their_own_times_and_never_before() -> None:
    all_hosted: dict[str, HostedCore] = {}
    wakes = Wakes(all_hosted)
    assert wakes.next() == NEVER and wakes.due(1e9) == ([], 0.0)
    late, early = hosted("late", all_hosted), hosted("early", all_hosted)
    wakes.put(late, 10.001)
    wakes.put(early, 10.0)
    assert wakes.next() == 10.0 and wakes.due(9.999) == ([], 0.0)
    assert wakes.due(10.0) == ([early], 0.0) and early.scheduled == NEVER and late.scheduled == 10.001
    assert wakes.due(10.501) == ([late], 0.5) and wakes.next() == NEVER


def test_one_that_moved_to_an_earlier_time_is_woken_once_and_one_that_is_gone_is_not() -> None:
    all_hosted: dict[str, HostedCore] = {}
    wakes = Wakes(all_hosted)
    moved, gone, other = (hosted(name, all_hosted) for name in ("moved", "gone", "other"))
    wakes.put(moved, 12.0)
    wakes.put(gone, 11.0)
    wakes.put(other, 12.0)
    wakes.put(moved, 10.0)
    hosted("gone", all_hosted)  # another of its name
    assert wakes.due(20.0) == ([moved, other], 10.0)
    wakes.put(moved, 21.0)
    assert wakes.due(21.0) == ([moved], 0.0)


def test_of_many_those_that_are_due_at_about_the_same_time_are_woken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.drive.wakes.MANY", 3)
    all_hosted: dict[str, HostedCore] = {}
    wakes = Wakes(all_hosted)
    four = [hosted(f"{number}", all_hosted) for number in range(4)]
    times = [16.001, 16.001 + 0.3 * TOGETHER, 16.001 + 0.6 * TOGETHER, 16.001 + 1.5 * TOGETHER]
    for one, at in zip(four, times, strict=True):
        wakes.put(one, at)
    first = wakes.next()
    assert times[2] <= first <= 16.001 + 1.01 * TOGETHER
    assert wakes.due(times[2])[0] == [] and wakes.due(first) == (four[:3], 0.0), "which is not late: they may wait"
    assert wakes.due(wakes.next()) == (four[3:], 0.0)
    wakes.put(four[0], 17.0)
    wakes.put(four[0], 16.9)
    assert wakes.due(18.0)[0] == four[:1]
