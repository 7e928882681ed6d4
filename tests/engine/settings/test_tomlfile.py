"""On which line a key is, in bounded work."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from engine.settings.tomlfile import LONGEST, PARSED, key_lines


def test_lines_of_keys_through_every_way_to_write_them() -> None:
    text = '''\
# [not a table]
a = """
[nor this]
b = 1
"""
"quoted key" = 1
t.x = 1

[pool] # comment
workers = 1
inner = { deep = { deeper = 1 } }
slots = [
  [1, 2],  # ]
]
[[list]]
one = 1
[[list]]
two = 2
[deep.er.still]
k = 1
'''
    assert key_lines(text) == {
        ("a",): 2,
        ("quoted key",): 6,
        ("t",): 7,
        ("t", "x"): 7,
        ("pool",): 9,
        ("pool", "workers"): 10,
        ("pool", "inner"): 11,
        ("pool", "slots"): 12,
        ("list",): 15,
        ("list", "one"): 16,
        ("list", "two"): 18,
        ("deep",): 19,
        ("deep", "er"): 19,
    }


def test_no_line_is_told_after_an_endless_statement() -> None:
    long = "a = [\n" + "1,\n" * LONGEST + "]\n"
    assert key_lines(f"x = 1\n{long}b = 1") == {("x",): 1}


def test_a_file_that_is_long_in_few_statements_takes_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """255 KB of a hundred lines were parsed a hundred times: nine seconds."""
    parsed: list[int] = []
    real = tomllib.loads

    def loads(text: str) -> dict[str, Any]:
        parsed.append(len(text))
        return real(text)

    monkeypatch.setattr("engine.settings.tomlfile.tomllib.loads", loads)
    line = "1," * 1290 + "\n"
    lines = key_lines(f"x = 1\na = [\n{line * 98}]\n")
    assert lines[("x",)] == 1 and sum(parsed) <= PARSED
