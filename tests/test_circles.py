"""No circle of files and none of folders, type-only imports and tests included: each can be read after those that it
imports.
"""

from __future__ import annotations

import ast
import re
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORT = re.compile(r"^[ \t]*(from [\w.]+ import (\([^)]*\)|[\w, *]+)|import [\w., ]+)[ \t]*(#.*)?$", re.MULTILINE)
"""One statement: to parse these alone is much faster than to parse all files."""


def modules() -> dict[str, Path]:
    """Every module of the product and of its tests by its dotted name."""
    found = {}
    for top in ("engine", "console", "tests"):
        for path in (ROOT / top).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """What a file imports of them, at whatever depth of the file."""
    names: set[str] = set()
    statements = "\n".join(found[0].strip() for found in IMPORT.finditer(path.read_text(encoding="utf-8")))
    for node in ast.walk(ast.parse(statements)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.add(whole if whole in known else node.module)
    return names & known.keys()


def imports() -> dict[str, set[str]]:
    """What each module imports."""
    known = modules()
    assert "engine.core" in known
    return {name: imported(path, known) - {name} for name, path in known.items()}


def check(graph: dict[str, set[str]], what: str) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of {what}: {' -> '.join(error.args[1])}") from None


def folder(name: str) -> str:
    """The folder of a module right below the top; of a module that stands there itself, its own name."""
    return ".".join(name.split(".")[:2])


def test_no_files_import_each_other_in_a_circle() -> None:
    check(imports(), "files")


def test_no_folders_import_each_other_in_a_circle() -> None:
    """Single files beside the folders are none of them: the test above is for those."""
    every = imports()
    folders = {folder(name) for name in every if name.count(".") > 1}
    assert {"console.cli", "console.screens", "engine.labs", "tests.helpers", "tests.chaos"} <= folders
    graph: dict[str, set[str]] = {name: set() for name in folders}
    for name, others in every.items():
        if folder(name) in folders:
            graph[folder(name)] |= {folder(other) for other in others} & (folders - {folder(name)})
    check(graph, "folders")


def test_each_folder_of_the_engine_has_one_row_of_the_import_contract() -> None:
    """And each file beside the folders: what stands in no row may import anything."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    rows = [name for row in layers for name in row.split(" | ")]
    parts = {".".join(name.split(".")[:2]) for name in modules() if name.startswith("engine.")}
    assert len(layers) <= 13 and sorted(rows) == sorted({"console", *parts})
