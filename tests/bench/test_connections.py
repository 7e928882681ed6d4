"""The processor time of a run is told by thread, its ratio by round, and memory without what ten workers cost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.bench.connections import PLANS, WIRE, Cost, Plan, cost, memory, rows_of
from tests.bench.figures import RUNS


def house(workers: int, *costs: Cost, joined: int = 0, loaded: int = 0) -> Any:
    return SimpleNamespace(plan=Plan(workers, WIRE, "10"), costs=[*costs], joined=joined, loaded=loaded)


def test_the_broker_is_its_busiest_thread_and_connections_are_all_of_libzmqs() -> None:
    before = {("1", "python"): 5_000, ("2", "python"): 1_000, ("3", "ZMQbg/IO/0"): 2_000}
    after = {
        ("1", "python"): 6_000,
        ("2", "python"): 41_000,
        ("3", "ZMQbg/IO/0"): 12_000,
        ("4", "ZMQbg/IO/1"): 10_000,
        ("5", "ZMQbg/Reaper"): 3_000,
    }
    assert cost(before, after, 10) == Cost(4.0, 2.0)


def test_ratios_are_those_of_the_rounds_that_count() -> None:
    ten = house(10, Cost(100.0, 100.0), *[Cost(6.0, 4.0)] * (RUNS - 1), Cost(12.0, 8.0))
    many = house(1000, Cost(1.0, 1.0), *[Cost(12.0, 8.0)] * (RUNS - 1), Cost(18.0, 12.0))
    assert rows_of(100, {"10": ten, "1,000": many}, {"10": 40_000.0, "1,000": 20_000.0}) == [
        ["10", "100", "40,000", "6.00", "4.00", "10.0", "1.00", "1.00–1.00"],
        ["1,000", "100", "20,000", "12.0", "8.00", "20.0", "2.00", "1.50–2.00"],
    ]


def test_what_ten_workers_cost_is_left_out() -> None:
    houses = {"10": house(10, joined=4096, loaded=8192), "1,000": house(1010, joined=2_052_096, loaded=4_104_192)}
    assert memory(houses) == [["1,000", "2.00", "4.00"]]


def test_who_is_compared_with_ten_workers_takes_the_same_lane() -> None:
    for plan in PLANS.values():
        base = PLANS[plan.base]
        assert base.workers == 10 and base.modes[1:] == plan.modes[1:]
