"""Each goal is the ratio of two contenders within its rounds, and what is sought depends on what runs."""

from __future__ import annotations

import pytest

from tests.bench import packed, reach
from tests.bench.brokers import Contender
from tests.bench.figures import RUNS, Run
from tests.bench.peers import Foul
from tests.bench.reach import PACKED, PYTHON, QUICK, WIRE, Goal, reached, row

ALL = [goal for goals in (WIRE, PACKED, PYTHON) for window in goals for goal in goals[window]]


def rated(rate: float, asked: list[int], lost: int = 0) -> Contender:
    """Does its tasks at one rate, all but so many."""

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        asked.append(window)
        return {"tasks": 10, "rate": rate, "p50_us": 1.0, "p99_us": 2.0}

    return Contender(ask, lambda: 10 * len(asked) - lost)


def test_a_window_s_rounds_have_the_contenders_that_its_goals_name() -> None:
    ours, proxy, other = list[int](), list[int](), list[int]()
    contenders = {"ours": rated(50.0, ours), "proxy": rated(100.0, proxy), "other": rated(25.0, other)}
    goals = {
        100: (Goal("a", "ours", "proxy", (1.0, 1.0, 1.0)),),
        1000: (Goal("b", "other", "proxy", (1.0, 1.0, 1.0)),),
    }
    assert [one[:2] for one in reached(contenders, goals, QUICK)] == [["a", "0.500"], ["b", "0.250"]]
    assert {*ours} == {100} and {*other} == {1000} and {*proxy} == {100, 1000}


def test_a_task_that_no_worker_did_is_a_foul() -> None:
    contenders = {"ours": rated(50.0, [], lost=1), "proxy": rated(100.0, [])}
    with pytest.raises(Foul, match="ours"):
        list(reached(contenders, {100: (Goal("a", "ours", "proxy", (1.0, 1.0, 1.0)),)}, QUICK))


PURE, NATIVE, COMPILED = ("pure", "Python", "0.360"), ("native", "Python", "0.500"), ("native", "compiled", "0.640")


@pytest.mark.parametrize(("pump", "how", "sought"), [PURE, NATIVE, COMPILED])
def test_what_is_sought_is_that_of_what_runs(monkeypatch: pytest.MonkeyPatch, pump: str, how: str, sought: str) -> None:
    monkeypatch.setattr(reach, "PUMP", type("Pump", (), {"name": pump}))
    monkeypatch.setattr(reach, "cores", lambda: how)
    runs = [Run(30.0)] * RUNS
    assert row("a", runs, [Run(60.0)] * RUNS, (0.36, 0.5, 0.64)) == ["a", "0.500", "0.500–0.500", sought]


def test_every_goal_is_between_contenders_that_there_are() -> None:
    there = {*packed.CREWS, packed.PROXY, "ours", reach.PROXY, reach.NATS}
    assert {name for goal in ALL for name in (goal.of, goal.to)} <= there
    assert len({goal.name for goal in ALL}) == len(ALL)
