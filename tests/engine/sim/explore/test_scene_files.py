"""The scenes in docs/scenes are read, and begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.explorefile import read_scene
from engine.sim.explore.model import Model

ROOT = Path(__file__).parents[4]
SCENES = sorted((ROOT / "docs" / "scenes").glob("*.toml"))


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_a_scene_of_the_documents_begins(path: Path) -> None:
    scene = read_scene(path)
    model = Model(scene)
    state = model.begin()
    assert state.left == (1 if scene.faults else 0) and model.moves(state)
    assert path.read_text(encoding="utf-8").startswith("# Seed 00") or path.stem == "twice"


def test_each_scene_is_told_of() -> None:
    text = (ROOT / "docs" / "explore.md").read_text(encoding="utf-8")
    assert SCENES and [path.name for path in SCENES if path.name not in text] == []
