"""Every row of docs/security.md names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[str]:
    lines = (ROOT / "docs/security.md").read_text().splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith("| who ")]


def test_every_row_of_the_security_tables_names_a_test_that_exists() -> None:
    wrong = []
    for row in rows():
        named = NAMED.findall(row)
        if not named:
            wrong.append(f"names no test: {row}")
        for path, name in named:
            file = ROOT / path
            functions = ast.walk(ast.parse(file.read_text())) if file.exists() else ()
            if not any(isinstance(node, ast.FunctionDef) and node.name == name for node in functions):
                wrong.append(f"no such test: {path}::{name}")
    assert not wrong, "\n".join(wrong)
