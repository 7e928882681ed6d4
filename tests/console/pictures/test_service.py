"""What is told of a pair's failovers."""

from __future__ import annotations

from typing import Any

from console import units
from console.pictures.service import KEPT, Service
from engine.catalogue import SYSTEMS
from engine.feed import Fact
from engine.labs.sandbox import Sandbox
from engine.parts.view import BrokerView


def view(serving: bool) -> BrokerView:
    with Sandbox(SYSTEMS["roundrobin"], workers=0) as stage:
        stage.advance(1.0)
        broker = stage.sight().broker
    assert broker is not None
    return broker._replace(serving=serving)


def event(at: float) -> tuple[Any, ...]:
    return (Fact(1, at, "broker", "info", "something", b""),)


def at(seconds: float) -> str:
    return units.time_of_day(seconds)


def test_a_failover_is_told_until_the_primary_serves_and_after_that_too() -> None:
    serves, waits, service = view(True), view(False), Service()
    assert service.update({}, ()) == ""
    assert service.update({"broker": serves, "fallback": waits}, event(0)) == ""
    assert service.update({"fallback": waits}, event(60)) == f"primary gone {at(60)} · nobody serves yet"
    history = f"primary gone {at(60)} · fallback serves since {at(63)}"
    assert service.update({"fallback": serves}, event(63)) == history
    assert service.update({"fallback": serves}, event(600)) == history, "it stays"
    assert service.update({"broker": waits, "fallback": serves}, event(700)) == f"fallback serves since {at(63)}"
    assert service.update({"broker": serves, "fallback": waits}, event(800)) == f"primary serves again since {at(800)}"
    assert service.told == (
        f"{at(60)} primary gone",
        f"{at(63)} fallback took over",
        f"{at(800)} primary serves again",
    )
    for _ in range(KEPT):
        service.update({"fallback": serves}, event(900))
        service.update({"broker": serves, "fallback": waits}, event(901))
    assert len(service.told) == KEPT, "a few are kept"


def test_one_that_served_when_we_came_has_no_time() -> None:
    service = Service()
    assert service.update({"fallback": view(True)}, event(5)) == "fallback serves"
    assert service.update({"broker": view(True)}, event(6)) == f"primary serves again since {at(6)}"
    assert Service().update({"broker": view(True)}, event(6)) == "", "no pair, no history"
