"""A recording is given what an operator could give, and nothing beyond it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import CATALOGUE, SYSTEMS
from engine.journal.codec import Unreadable
from engine.labs.limits import judge_order, judge_seat, options_of
from engine.parts.bulk import BulkSpec
from engine.parts.orders import ClockSet, Drain, Inspect, Leave, Slots, Slow, StopRun
from engine.protocols.conversation import ORDERS
from engine.protocols.conversation.frontend import CancelJob, StopWorkers, Submit
from engine.protocols.conversation.messages import Description

JOB = Description(0, "a", 1, "/", "/", "true")


@pytest.mark.parametrize(
    "order",
    [
        BulkSpec("ping", 100_000_000, 0, 1_000_000, None, 3600.0),
        BulkSpec("data", 100, 1024, 10, 5.0, 0.5),
        BulkSpec("ping", 1, tracked=False),
        Slow(0.0),
        Slots(1),
        ClockSet(1.8e9),
        Submit(JOB, 2),
        Drain(b"w"),
        Inspect(None),
        Leave(),
        StopRun(),
        StopWorkers(0),
        CancelJob(7),
    ],
)
def test_what_an_operator_can_order_is_replayed(order: object) -> None:
    judge_order(order, ORDERS)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (BulkSpec("ping", 10**12), "n: expected a whole number from 1 to 100,000,000, got 1000000000000"),
        (BulkSpec("ping", 0), "n: expected"),
        (BulkSpec("ping", 10, 0, 10**9), "in_flight: expected"),
        (BulkSpec("data", 10, 10**9), "size: expected"),
        (BulkSpec("ping", 10, timeout=-1.0), "timeout: expected"),
        (BulkSpec("ping", 10, rate=float("nan")), "rate: nan tasks a second"),
        (BulkSpec("ping", 10, rate=1e300), "rate: 1e\\+300 tasks a second"),
        (BulkSpec("ping", 100_000_000, tracked=False), "100,000,000 tasks of 0 bytes at once"),
        (BulkSpec("data", 1_000_000, 2_000_000, 1_000_000), "1,000,000 tasks of 2,000,000 bytes at once"),
        (BulkSpec("ping", "many"), "a field of another type"),  # type: ignore[arg-type]
        (Slots(0), "0 slots"),
        (Slots(True), "True slots"),
        (Slow(1e300), "slow by 1e\\+300 s"),
        (Slow(float("nan")), "slow by nan s"),
        (ClockSet(float("inf")), "to no time"),
        (Submit(JOB._replace(num_tasks=0)), "an order Submit: no tasks"),
        (Submit(5), "an order Submit with a field of another type"),  # type: ignore[arg-type]
        (Drain(5), "Drain with a field of another type"),  # type: ignore[arg-type]
    ],
)
def test_what_nobody_can_order_is_not(order: object, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        judge_order(order, ORDERS)


@pytest.mark.parametrize("system", CATALOGUE.values(), ids=list(CATALOGUE))
def test_settings_of_a_recording_are_those_of_a_configuration(system: Any) -> None:
    assert options_of(system.options, {}) == system.options()
    with pytest.raises(Unreadable, match="option 'nosuch' is not known here"):
        options_of(system.options, {"nosuch": 1})


def test_a_setting_beyond_its_bounds_is_named() -> None:
    made = SYSTEMS["roundrobin"].options
    assert options_of(made, {"heartbeat": 1}).heartbeat == 1.0
    with pytest.raises(Unreadable, match="option max_deliveries: expected a whole number from 1 to 1,000"):
        options_of(made, {"max_deliveries": 10**15})


@pytest.mark.parametrize(
    ("role", "args", "world"),
    [
        ("broker", [["tcp://127.0.0.1:1", "inproc://x"]], {"wall_offset": 1.8e9}),
        ("worker", ["inproc://x", 7, 100_000], {"saved": None}),
        ("client", ["inproc://x", 7], {"saved": b"x", "wall_offset": 1}),
        ("driver", [[], 0.0], {}),
    ],
)
def test_a_seat_as_it_is_made_here(role: str, args: list[Any], world: dict[str, Any]) -> None:
    judge_seat(role, args, world)


@pytest.mark.parametrize(
    ("role", "args", "world"),
    [
        ("payload", [], {}),
        ("options", [], {}),
        ("broker", [], {}),
        ("broker", ["tcp://x"], {}),
        ("broker", [["tcp://x"] * 1000], {}),
        ("broker", [["x" * 10_000]], {}),
        ("worker", ["inproc://x", 7, 10**12], {}),
        ("worker", ["inproc://x", 7, True], {}),
        ("client", [5, 7], {}),
        ("client", ["inproc://x", 7], {"saved": "text"}),
        ("client", ["inproc://x", 7], {"wall_offset": float("nan")}),
    ],
)
def test_a_seat_that_nobody_makes(role: str, args: list[Any], world: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        judge_seat(role, args, world)
