"""docs/seeds.md: every statement of a seed names where it is true and the test that holds it."""

from __future__ import annotations

import re
from itertools import count

import pytest

from tests.test_architecture import ROOT, defined

PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.splitlines()
    if re.match(r"\| 00\d\.", line)
]
"""number, statement, source, what shows it, test"""
NAMED = re.compile(r"`((?:console|engine|tests|docs)/[\w./-]+)(?:::([\w.]+))?`")


def test_the_statements_are_numbered_without_a_gap() -> None:
    for seed in ("000", "001", "002", "003", "004"):
        numbers = [row[0] for row in ROWS if row[0].startswith(seed)]
        assert numbers == [f"{seed}.{number}" for number, _ in zip(count(1), numbers, strict=False)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_statement_has_a_source_a_place_and_a_test(row: list[str]) -> None:
    number, statement, source, seen, test = row
    assert statement and seen, number
    for path, name in NAMED.findall(source) + NAMED.findall(test):
        assert (ROOT / path).is_file(), f"{number}: there is no {path}"
        assert not name or defined(ROOT / path, name), f"{number}: {path} defines no {name}"
    tests = NAMED.findall(test)
    assert all(path.startswith("tests/") and (not name or name.startswith("test_")) for path, name in tests), number
    assert tests or test.startswith("ruling:"), f"{number} has neither a test nor a ruling"
    assert NAMED.findall(source) or test.startswith("ruling:"), f"{number} names no source"
