"""The versions that ``python -m tests.matrix`` runs are those that pyproject.toml names."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.helpers.interpreters import LOWEST, interpreters
from tests.matrix import __main__ as matrix

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def numbers(version: str) -> tuple[int, ...]:
    """``8.2`` and ``8.2.0`` are one version."""
    return (*map(int, version.split(".")), 0, 0)[:3]


def test_the_lowest_dependencies_are_those_of_pyproject() -> None:
    lines = (Path(__file__).parent / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    wanted = {}
    for requirement in PROJECT["dependencies"]:
        name, _, bounds = requirement.partition(">=")
        wanted[name] = numbers(bounds.partition(",")[0])
    assert {name: numbers(version) for name, version in pinned.items()} == wanted


def test_the_lowest_python_is_that_of_pyproject() -> None:
    assert PROJECT["requires-python"] == f">={LOWEST[0]}.{LOWEST[1]}"


def test_what_is_found_runs_once_for_each_minor_version_the_newest_first() -> None:
    minors = [one.minor for one in interpreters()]
    assert minors == sorted(set(minors), reverse=True)
    assert all(minor >= LOWEST for minor in minors)


def test_who_asks_for_help_waits_for_no_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["matrix", "--help"])
    monkeypatch.setattr(matrix, "interpreters", lambda: pytest.fail("it looks for interpreters"))
    assert matrix.main() == 0 and "PYTEST ARGUMENT" in capsys.readouterr().out
