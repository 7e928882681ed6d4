"""What rules measure."""

from __future__ import annotations

from typing import Any

import pytest

from engine.alerts.measures import MEASURES
from tests.helpers.statuses import a_queue_status, a_status

TOTALS = {"workers": 5, "alive": 3, "lost": 2}
HEALTH = {"dead": ["x"], "loop_lag_s": 0.75}


@pytest.mark.parametrize(
    ("name", "changes", "value"),
    [
        ("workers", {"totals": TOTALS}, 3.0),
        ("workers", {"totals": TOTALS, "role": "worker"}, None),
        ("workers", {"totals": TOTALS, "serving": False}, None),
        ("lost_workers", {"totals": TOTALS}, 2.0),
        ("backlog", {"backlog": 17}, 17.0),
        ("backlog", {"backlog": None}, None),
        ("oldest", {"oldest_s": 2.5}, 2.5),
        ("failed", {"rates": {"failed_share": 0.125}}, 12.5),
        ("failed", {"rates": None}, None),
        ("failed", {"rates": {"failed_share": None}}, None),
        ("loop_lag", {"health": HEALTH}, 0.75),
        ("dead_threads", {"health": HEALTH}, 1.0),
        ("unbalanced", {"ledger": {"balanced": False}}, 1.0),
        ("unbalanced", {"ledger": {"balanced": True}}, 0.0),
        ("unbalanced", {"ledger": {"balanced": None}}, None),
        ("unbalanced", {"ledger": None}, None),
        ("disk_free", {"disk": {"free_share": 0.04}}, 4.0),
        ("disk_free", {"disk": None}, None),
        ("unkept", {"unkept": ["a", "b"]}, 2.0),
        ("stopped_stages", {}, None),
        ("store_trouble", {"store": {"trouble": ""}}, 0.0),
        ("store_trouble", {"store": {"trouble": "full"}}, 1.0),
        ("store_trouble", {"store": {"trouble": "", "shared": {"leader": "n1"}}}, 0.0),
        ("store_trouble", {"store": {"trouble": "", "shared": {"leader": ""}}}, 1.0),
        ("store_behind", {"store": {"trouble": "", "shared": {"behind": ["n2"]}}}, 1.0),
        ("store_behind", {"store": {"trouble": "", "shared": None}}, None),
        ("store_used", {"store": {"trouble": "", "shared": {"used_share": 0.25}}}, 25.0),
        ("store_used", {"store": {"trouble": ""}}, None),
    ],
)
def test_a_measure(name: str, changes: dict[str, Any], value: float | None) -> None:
    assert MEASURES[name].of(a_status(**changes)) == value


def test_what_is_wrong_with_a_shared_store_is_said() -> None:
    status = a_status(store={"trouble": "full", "shared": {"leader": "", "behind": ["n2", "n3"]}})
    assert MEASURES["store_trouble"].why(status) == ["full", "its queue has no leader"]
    assert MEASURES["store_behind"].why(status) == ["n2", "n3"]


def test_drivers_are_missed_only_where_some_are_wanted() -> None:
    assert MEASURES["workers"].of(a_queue_status()) == 5.0
    assert MEASURES["workers"].of(a_queue_status(counters={"wanted_drivers": 0})) is None
    assert MEASURES["stopped_stages"].of(a_queue_status()) == 0.0


def test_every_measure_takes_every_status() -> None:
    for status in (a_status(0), a_queue_status(), a_status(rates=None, ledger=None, disk=None)):
        for measure in MEASURES.values():
            assert measure.of(status) is None or isinstance(measure.of(status), float)
