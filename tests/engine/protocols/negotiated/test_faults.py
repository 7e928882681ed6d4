"""The faults that only this system knows: what they promise, and what they do to a scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.errors import Refused
from engine.parts.fault import Aim, Fault
from engine.parts.orders import ClockSet
from engine.protocols.negotiated.faults import FAULTS
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.promises import times

WALL, TAKEOVER = FAULTS


class Scene:
    """Notes what is done to it."""

    def __init__(self, options: Options, names: list[str]) -> None:
        self.options, self.names, self.began = options, names, 1000.0
        self.world = self
        self.done: list[tuple[object, ...]] = []

    def workers(self) -> dict[str, bytes]:
        return {"worker-1": b"w"}

    def order(self, name: str, order: object) -> None:
        self.done.append((name, order))

    def kill(self, name: str) -> None:
        self.done.append(("kill", name))

    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None:
        self.done.append((seconds, act, *args))


def aim(scene: Scene, fault: Fault, *amounts: float) -> Aim:
    return Aim(
        scene, "worker-1", "w1", b"w", amounts or tuple(one.usual for one in fault.amounts), times(scene.options)
    )


def test_a_wall_clock_is_set_wrong_and_right_again_and_nothing_else() -> None:
    scene = Scene(Options(), ["broker"])
    made = WALL.make(aim(scene, WALL, 60.0, 10.0))
    assert scene.done == []
    made.deed()
    assert scene.done == [
        ("worker-1", ClockSet(1060.0)),
        (10.0, scene.order, "worker-1", ClockSet(1000.0)),
    ]


def test_a_takeover_kills_the_primary_and_nothing_else() -> None:
    scene = Scene(Options(fallback="tcp://127.0.0.1:1"), ["broker", "fallback"])
    TAKEOVER.make(aim(scene, TAKEOVER)).deed()
    assert scene.done == [("kill", "broker")]


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(Scene(Options(), ["broker", "fallback"]), id="no fallback in the options"),
        pytest.param(Scene(Options(fallback="tcp://127.0.0.1:1"), ["broker"]), id="the fallback is dead"),
    ],
)
def test_a_takeover_needs_a_fallback(scene: Scene) -> None:
    with pytest.raises(Refused, match=r"set negotiated\.fallback"):
        TAKEOVER.make(aim(scene, TAKEOVER))
