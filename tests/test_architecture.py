"""The documents that describe the source name what is there: every path, every class and function."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = re.compile(r"`((?:console|engine|tests|docs|themes)/[\w./]*|pyproject\.toml)(?:::([\w.]+))?`")
REFERENCES = sorted(set(NAMED.findall(ARCHITECTURE)))


def defined(path: Path, name: str) -> bool:
    """Whether a file defines this name: ``function``, ``CONSTANT``, ``Class`` or ``Class.method``."""
    body = statements(path)
    for part in name.split("."):
        found = [node for node in body if part in names(node)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


@cache
def statements(path: Path) -> list[ast.stmt]:
    """The top of a source file, parsed once."""
    return ast.parse(path.read_text()).body


def names(node: ast.stmt) -> list[str]:
    """The names that one statement defines."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def test_the_description_names_many_places() -> None:
    assert len(REFERENCES) > 50


@pytest.mark.parametrize(("path", "name"), REFERENCES)
def test_what_the_architecture_names_is_in_the_source(path: str, name: str) -> None:
    assert (ROOT / path).exists(), path
    assert not name or defined(ROOT / path, name), f"{path} defines no {name}"


def test_a_name_that_is_not_there_is_found_out() -> None:
    core = ROOT / "engine" / "core.py"
    assert defined(core, "Core.handle") and defined(core, "MAIN") and defined(core, "Frames")
    assert not defined(core, "Core.pump") and not defined(core, "Nothing")


def test_the_tree_in_the_readme_is_that_of_the_source() -> None:
    section = (ROOT / "README.md").read_text().split("## The source, from the top", 1)[1]
    tree, folder, seen = section.split("```")[1], ROOT, 0
    for line in filter(str.strip, tree.splitlines()):
        if line[0] != " ":
            folder = ROOT
        entries = re.split(r"\s{2,}", line.strip(), maxsplit=1)[0]
        for entry in entries.split(", "):
            path = folder / entry
            assert path.exists(), f"README.md: {entry} is not in {folder.name}/"
            seen += 1
        if line[0] != " ":
            folder = ROOT / entries
    assert seen > 20


def test_the_glossary_is_in_order_and_gives_each_word_once() -> None:
    table = (ROOT / "docs" / "glossary.md").read_text().split("## The seeds' words")[0]
    words = re.findall(r"^\| \*\*(.+?)\*\*", table, re.M)
    assert len(words) > 50 and words == sorted(words) and len(words) == len(set(words))
