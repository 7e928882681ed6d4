"""What a scene is when nothing is said."""

from __future__ import annotations

from engine.catalogue import SYSTEMS
from engine.sim.explore.scene import Scene


def test_the_usual_scene_of_each_system() -> None:
    for system in SYSTEMS.values():
        scene = Scene(system)
        assert (scene.workers, scene.clients, scene.tasks, scene.bounds.rounds) == (2, 1, 2, 3)
        assert scene.settings == system.options(**system.explored.options)
        assert 0 < scene.heartbeat < 10


def test_options_of_ones_own() -> None:
    system = next(iter(SYSTEMS.values()))
    options = system.options(heartbeat=0.5)
    scene = Scene(system, options=options)
    assert scene.settings is options and scene.heartbeat == 0.5
