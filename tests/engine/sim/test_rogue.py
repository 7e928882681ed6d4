"""A peer that says what it was told to."""

from __future__ import annotations

from engine.core import Received, Woken
from engine.sim.rogue import EVERY, Rogue, rogue
from engine.sim.world import World
from tests.helpers.toys import Probe, router

HERE = "tcp://here:1"


def test_it_says_everything_once_in_order_and_nothing_else() -> None:
    world, broker = World(), Probe(lambda frames: [frames[0], b"what?"])
    world.add("broker", router(broker, HERE))
    said = [[b"", b"one"], [b"two"], [b"", b"", b"three"]]
    world.add("rogue", rogue(said, HERE, b"R"))
    world.run(10.0)
    assert broker.got == [[b"R", *frames] for frames in said]
    assert world.picture("rogue") == (10.0, 3)
    assert said == [[b"", b"one"], [b"two"], [b"", b"", b"three"]]


def test_what_it_hears_and_an_early_wake_change_nothing() -> None:
    core = Rogue([[b"x"], [b"y"]])
    assert core.handle(Received([[b"hello"]]), 0.0) == []
    assert core.handle(Woken(), 0.0) == []
    assert core.sent == 0
    core.check()
    assert EVERY > 0.0
