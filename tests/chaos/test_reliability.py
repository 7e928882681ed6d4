"""docs/reliability.md tells of every fault that there is, and its rows name tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.chaos.course import LASTS, LONGER, SLACK, TAKEOVER
from tests.chaos.faults import faults_of
from tests.chaos.house import DURABLE, NAMES, PATIENCE, RATE, WINDOW
from tests.chaos.pair import NAME as PAIR

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (F\d+) \|.*$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("name", [*NAMES, DURABLE, PAIR])
def test_every_fault_is_described(name: str) -> None:
    for fault in faults_of(name):
        whose, _, what = fault.rpartition(" ")
        assert fault in TEXT or (f"… {what} |" in TEXT and "line" in whose), fault
    assert f"| {name} |" in TEXT


def test_its_numbers_are_those_of_the_harness() -> None:
    low, high = (0.5 * beats for beats in LASTS)
    assert f"for {low:.2f} to {high:.1f} s each, of a pair's brokers and their lines to {0.5 * LONGER[1]} s" in TEXT
    assert (
        f"a load of {RATE:.0f} tasks a second with {WINDOW} out at most, each with a patience of {PATIENCE:.0f} s"
        in (TEXT.replace("\n", " "))
    )
    assert f"{3 * 0.5 + SLACK} s here" in TEXT
    assert f"{(3 + TAKEOVER) * 0.5 + SLACK} s after faults of the primary" in TEXT


def test_every_failure_of_the_catalogue_names_tests_that_exist() -> None:
    rows = {row[1]: NAMED.findall(row[0]) for row in ROW.finditer(TEXT)}
    assert list(rows) == [f"F{number}" for number in range(1, 25)] and all(rows.values())
    for path, name in [one for named in rows.values() for one in named]:
        functions = ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        assert any(isinstance(one, ast.FunctionDef) and one.name == name for one in functions), f"{path}::{name}"
