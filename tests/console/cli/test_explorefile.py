"""Scenes from files, and everything wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.explorefile import read_scene
from engine.catalogue import SYSTEMS
from engine.settings.tomlfile import Wrong
from engine.sim.explore.scene import Bounds


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_scene(tmp_path: Path) -> None:
    text = """\
system = "negotiated"
workers = 1
tasks = 3
pair = true
faults = ["kill", "lose"]
outage = 2

[options]
heartbeat = 0.5

[bounds]
rounds = 2
states = 1000
"""
    scene = read_scene(written(tmp_path, text))
    assert (scene.name, scene.system, scene.pair) == ("small", SYSTEMS["negotiated"], True)
    assert (scene.workers, scene.tasks, scene.faults, scene.outage) == (1, 3, ("kill", "lose"), 2.0)
    assert scene.settings.heartbeat == 0.5 and scene.bounds == Bounds(rounds=2, states=1000)


def test_what_is_not_said_is_as_usual(tmp_path: Path) -> None:
    scene = read_scene(written(tmp_path, 'system = "pingpong"\n'))
    assert scene.workers == 2 and scene.options is None and scene.bounds == Bounds()


def test_all_that_is_wrong_is_named_with_its_line(tmp_path: Path) -> None:
    text = """\
system = "pingpong"
workerz = 1
tasks = 99
faults = ["kil"]
pair = true

[bounds]
rounds = 0
"""
    path = written(tmp_path, text)
    with pytest.raises(Wrong) as wrong:
        read_scene(path)
    assert [str(problem) for problem in wrong.value.problems] == [
        f"{path}:2: workerz: no such key; did you mean workers?",
        f"{path}:3: tasks: expected a whole number from 1 to 16, got 99",
        f"{path}:4: faults: expected one of lose, duplicate, spoil, kill, restart, freeze, cut, clock, leave, drain, "
        "got 'kil'; did you mean kill?",
        f"{path}:8: [bounds] rounds: expected a whole number from 1 to 20, got 0",
        f"{path}:5: pair: pingpong knows no pairs",
    ]


def test_a_scene_names_its_system(tmp_path: Path) -> None:
    for text, words in (
        ("workers = 1\n", "system is missing"),
        ('system = "x"\n', "system: expected one of roundrobin"),
        ('system = "pingpong"\nbounds = 3\n', "[bounds] is a table"),
        ('system = "pingpong"\noptions = 3\n', "[options] is a table"),
    ):
        with pytest.raises(Wrong) as wrong:
            read_scene(written(tmp_path, text))
        assert any(words in str(problem) for problem in wrong.value.problems)
