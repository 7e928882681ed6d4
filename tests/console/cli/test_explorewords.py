"""What a walk comes to, in words; test_explore.py has whole reports."""

from __future__ import annotations

from dataclasses import replace

from console.cli import explorewords
from engine.catalogue import SYSTEMS
from engine.sim.explore.coverage import Rows
from engine.sim.explore.scene import Bounds, Scene
from engine.sim.explore.walk import Progress

SCENE = Scene(SYSTEMS["negotiated"])


def test_how_far_it_is() -> None:
    progress = Progress(1_000, 2_000, 7, 5)
    assert explorewords.in_words(progress, 2.0) == "1,000 states, depth 7, 500 states a second, 5 to be looked at"
    assert "0 states a second" in explorewords.in_words(progress, 0.0)


def test_who_is_there_and_what_goes_wrong() -> None:
    pair = replace(SCENE, pair=True, workers=1, faults=("kill", "cut"))
    assert explorewords.described(pair) == (
        "a pair of brokers, 1 worker of 1 slot, 1 client, 2 tasks each; 1 of kill, cut at any moment"
    )
    assert "2 wake-ups may overtake" in explorewords.bounded(replace(SCENE, bounds=Bounds(late=2)))


def test_rows_that_were_never_walked_are_named_as_far_as_there_is_room() -> None:
    never = tuple(("idle", f"event {number}") for number in range(8))
    first, second = explorewords.covered(Rows("Worker", (("idle", "PING"),), never), {})
    assert first == "rows      1 of 9 of Worker"
    assert second.startswith("          never idle: event 0; ") and second.endswith("idle: event 5 and 2 more")
    assert explorewords.covered(Rows("Worker", (("idle", "PING"),), ()), {}) == ["rows      1 of 1 of Worker"]
    known = {("Worker", "idle", f"event {number}"): "it takes two" for number in range(3)}
    lines = explorewords.covered(Rows("Worker", (), never[:4]), known)
    assert lines[1:] == ["          never idle: event 3", "          not in small scenes 3: it takes two"]
