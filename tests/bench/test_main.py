"""What the benchmarks need is what the extra ``[bench]`` brings, and no tool of the tests."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

from tests.bench.stage import ROOT

OURS = {"tests", "engine", "console"}  # the last two need the program's own dependencies, which every extra has
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def imported(module: str) -> set[str]:
    """The names that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def needs(module: str, seen: set[str]) -> set[str]:
    """Packages of others that a module of the tests needs, by itself or through another."""
    if module in seen:
        return set()
    seen.add(module)
    found: set[str] = set()
    for name in imported(module):
        top = name.partition(".")[0]
        if top not in OURS | sys.stdlib_module_names:
            found.add(top)
        elif top == "tests" and ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file():
            found |= needs(name, seen)
    return found


def test_every_module_runs_with_the_extra_alone() -> None:
    extra = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["bench"]]
    wanted = {re.split(r"[^\w-]", line)[0] for line in extra}
    brought = {module for module, of in packages_distributions().items() if wanted.intersection(of)}
    modules = [path.stem for path in (ROOT / "tests" / "bench").glob("*.py") if not path.stem.startswith("test_")]
    assert {"__main__", "jetstream", "stage"} <= {*modules}
    lacking = {module: needs(f"tests.bench.{module}", set()) - brought for module in modules}
    assert {module: names for module, names in lacking.items() if names} == {}
