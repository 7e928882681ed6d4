"""What ``explore`` is asked for."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.arguments import read_arguments
from console.cli.explorearguments import faults

Capture = pytest.CaptureFixture[str]


def test_all_of_it(tmp_path: Path) -> None:
    line = f"explore --scene {__file__} --faults kill,lose --depth 9 --states 8 --seconds 0.5 --journal {tmp_path}/j"
    options = read_arguments(line.split()).options
    assert (options.scene, options.faults, options.journal) == (Path(__file__), ("kill", "lose"), tmp_path / "j")
    assert (options.depth, options.states, options.seconds) == (9, 8, 0.5)


def test_nothing() -> None:
    options = read_arguments(["explore"]).options
    assert options.scene is options.faults is options.depth is options.json is None


def test_faults_are_known() -> None:
    assert faults("none") == () and faults(" kill , cut ") == ("kill", "cut")
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean kill"):
        faults("kil")


@pytest.mark.parametrize(
    "line", ["explore x", "explore --depth 0", "explore --faults kil", "explore --scene nosuch", "explore --seconds -1"]
)
def test_wrong_usage(line: str, capsys: Capture) -> None:
    assert main(line.split()) == 2
    assert "roundhouse explore --help" in capsys.readouterr().err
