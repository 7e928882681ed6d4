from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from engine.labs.weight import weight


@dataclass
class Held:
    tasks: OrderedDict[int, float]
    of: type = OrderedDict


def test_what_would_be_copied_is_counted_and_what_is_shared_is_not() -> None:
    few, many = (weight(Held(OrderedDict((i, 0.5) for i in range(n))), 10**9) for n in (10, 10_000))
    assert few < 200 and 20_000 <= many < 100_000


def test_it_stops_counting_at_a_bound() -> None:
    deep: list[object] = []
    for _ in range(10_000):
        deep = [deep, [1, 2, 3]]
    assert 100 < weight(deep, 100) < 120


def test_a_circle_is_counted_once() -> None:
    circle: list[object] = []
    circle.append(circle)
    assert weight(circle, 1000) == 1
