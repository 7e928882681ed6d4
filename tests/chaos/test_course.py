"""One short chaos run of each system: killed, cut and frozen, everything comes right. Long runs judge how fast.

With ``ROUNDHOUSE_SLOW`` each system goes through all faults of these; without, through two of them.
"""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from engine.protocols.negotiated import Options
from engine.protocols.negotiated.promises import takeover
from tests.chaos.course import SLACK, TAKEOVER, Healing, Outcome, order, play
from tests.chaos.faults import faults_of
from tests.chaos.house import NAMES
from tests.chaos.pair import NAME as PAIR
from tests.chaos.table import line, table
from tests.helpers.examples import SLOW

SHORT = ("worker killed", "worker's line reset", "all lines frozen", "broker killed")
OF_A_PAIR = ("primary killed", "primary's line half-open", "fallback killed", "pair's line reset")
COURSES = [
    *((name, SHORT if SLOW else (SHORT[number], SHORT[number - 1])) for number, name in enumerate(NAMES)),
    (PAIR, OF_A_PAIR if SLOW else OF_A_PAIR[::3]),
]


@pytest.mark.parametrize(("name", "faults"), COURSES)
def test_everything_comes_right_after_each_fault(name: str, faults: tuple[str, ...]) -> None:
    outcomes = play(name, seed=1, seconds=0, faults=faults, heartbeat=0.2)
    assert [outcome.fault for outcome in outcomes] == list(faults)
    for outcome in outcomes:
        assert outcome.right, line(outcome)
        assert outcome.healing.slots is not None and outcome.healing.client is not None
        assert outcome.sent == outcome.succeeded + outcome.failed.total()
        assert outcome.twice == 0
    assert table(outcomes).count("\n") == len(faults) + 2


def test_the_same_seed_gives_the_same_faults() -> None:
    n = len(faults_of("pingpong"))
    first, again, other = (list(islice(order("pingpong", Random(seed)), 2 * n)) for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first[:n]) == sorted(first[n:]) == sorted(faults_of("pingpong"))


def test_what_has_not_come_right_is_told() -> None:
    never = Outcome("pingpong", "worker killed", 1.0, 2.5, Healing(workers=0.5, said="ready 0/1 free"))
    assert (never.right, never.quick) == (False, False)
    assert "slots never" in line(never) and "at the end: ready 0/1 free" in line(never)
    assert "| never | never |" in table([never])


def test_what_has_come_right_late_or_twice_is_told() -> None:
    late = Outcome("pingpong", "worker killed", 1.0, 2.5, Healing(well=3.0))
    assert (late.right, late.quick) == (True, False)
    assert "slower than 2.5 s" in line(late)
    twice = Outcome("pingpong", "worker killed", 1.0, 2.5, Healing(well=1.0), twice=1)
    assert (twice.right, twice.quick) == (False, True)
    wrong = Outcome("pingpong", "worker killed", 1.0, 2.5, Healing(well=1.0), balanced=False)
    assert not wrong.right and "NOT BALANCED" in line(wrong)


def test_what_a_takeover_is_given_is_what_its_promise_says() -> None:
    options = Options(heartbeat=0.5, silence=3, doubt=1.5)
    promised = max(promise.within for promise in takeover(options, 3))
    assert promised <= (3 + TAKEOVER) * 0.5 + SLACK <= promised + 1.0
