"""Alerts over statuses that follow each other, under a clock of the test."""

from __future__ import annotations

from typing import Any

import pytest

from engine.alerts.rules import DEFAULTS, Rule
from engine.alerts.watch import LONGEST, Change, Watch
from engine.errors import Refused
from tests.helpers.statuses import a_queue_status, a_status

RULE = Rule("backlog", "backlog", "warning", above=100, clear=80, seconds=10)
STATUS = a_status()


def at(backlog: int) -> dict[str, Any]:
    return {**STATUS, "backlog": backlog}


def states(changes: list[Change]) -> list[tuple[str, str]]:
    return [(change.before, change.state) for change in changes]


def test_it_fires_after_so_long_and_clears_below_the_lower_bound() -> None:
    watch = Watch([RULE], 0.0)
    assert watch.look(at(100), 1.0) == []
    assert states(watch.look(at(101), 2.0)) == [("cleared", "pending")]
    assert watch.look(at(90), 11.9) == []
    assert states(changes := watch.look(at(90), 12.0)) == [("pending", "firing")]
    assert changes[0].text == "backlog: tasks in the backlog: 90 (above 100)"
    assert watch.look(at(81), 13.0) == []
    assert states(watch.look(at(80), 14.0)) == [("firing", "cleared")]
    assert watch.rows(14.0) == []


def test_a_short_peak_does_not_fire() -> None:
    watch = Watch([RULE], 0.0)
    watch.look(at(500), 1.0)
    assert states(watch.look(at(0), 5.0)) == [("pending", "cleared")]
    assert states(watch.look(at(500), 6.0)) == [("cleared", "pending")]
    assert watch.look(at(500), 12.0) == []


def test_it_is_acknowledged_until_it_clears() -> None:
    watch = Watch([RULE._replace(seconds=0.0)], 0.0)
    with pytest.raises(Refused, match="backlog does not fire: it is cleared"):
        watch.acknowledge("backlog", 0.0)
    assert states(watch.look(at(500), 1.0)) == [("cleared", "firing")]
    assert watch.acknowledge("backlog", 2.0).state == "acknowledged"
    assert watch.look(at(600), 3.0) == []
    (row,) = watch.rows(5.0)
    assert (row["name"], row["state"], row["value"], row["since_s"]) == ("backlog", "acknowledged", 600.0, 3.0)
    assert states(watch.look(at(0), 6.0)) == [("acknowledged", "cleared")]
    assert states(watch.look(at(500), 7.0)) == [("cleared", "firing")]


def test_a_silence_ends_by_itself_and_then_it_fires_at_once() -> None:
    watch = Watch([RULE], 0.0)
    watch.silence("backlog", 60.0, 0.0)
    assert watch.look(at(500), 1.0) == [] and watch.look(at(500), 59.0) == []
    assert states(watch.look(at(500), 60.0)) == [("silenced", "firing")]
    watch.silence("backlog", 60.0, 61.0)
    assert watch.silence("backlog", 0, 62.0).state == "cleared"
    assert states(watch.look(at(500), 63.0)) == [("cleared", "firing")]
    with pytest.raises(Refused, match="there is no alert x"):
        watch.silence("x", 1.0, 0.0)
    with pytest.raises(Refused, match="a silence lasts"):
        watch.silence("backlog", LONGEST + 1, 0.0)


def test_other_rules_leave_the_same_ones_as_they_are() -> None:
    other = Rule("few", "workers", "critical", below=100)
    watch = Watch([RULE._replace(seconds=0.0), other], 0.0)
    watch.look(at(500), 1.0)
    watch.acknowledge("backlog", 1.0)
    watch.replace([RULE._replace(seconds=0.0), other._replace(below=1)], 2.0)
    assert {alert.rule.name: alert.state for alert in watch.alerts()} == {"backlog": "acknowledged", "few": "cleared"}


def test_those_that_fire_are_first_and_critical_ones_before_all() -> None:
    rules = [RULE, RULE._replace(name="w", seconds=0.0), RULE._replace(name="c", seconds=0.0, severity="critical")]
    watch = Watch(rules, 0.0)
    watch.look(at(500), 1.0)
    assert [alert.rule.name for alert in watch.alerts()] == ["c", "w", "backlog"]


def test_the_built_in_rules_are_quiet_where_all_is_well_and_know_a_broker_without_workers() -> None:
    for well in (a_status(), a_queue_status()):
        watch = Watch(DEFAULTS, 0.0)
        assert watch.look(well, 1.0) == [] and watch.look(well, 100.0) == []
    watch = Watch(DEFAULTS, 0.0)
    watch.look(a_status(0), 1.0)
    assert [change.rule.name for change in watch.look(a_status(0), 61.0)] == ["no_workers"]
