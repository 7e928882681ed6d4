from __future__ import annotations

from typing import Any

import pytest

from engine.settings.pools import NamedPool, read_pools


def test_pools_with_names_and_the_one_without() -> None:
    tables: list[Any] = [{"workers": 3}, {"name": "slow", "workers": 5, "slots": 2, "transport": "tcp"}, {"name": "b"}]
    assert read_pools(tables) == ([NamedPool("slow", 5, 2, "tcp"), NamedPool("b")], {"workers": 3}, [])
    assert read_pools([]) == ([], {}, [])


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([{"name": "Slow"}], "'Slow': expected a name of small letters"),
        ([{"name": 3}], "3: "),
        ([{"name": "a", "slot": 2}], "slot: no such key; did you mean slots?"),
        ([{"name": "a", "slots": 0}], "from 1"),
        ([{"name": "a", "transport": "udp"}], "udp"),
        ([{"name": "a"}, {"name": "a"}], "two pools have this name"),
        ([{}, {}], "two pools have no name"),
    ],
)
def test_what_is_wrong_is_named(tables: list[Any], words: str) -> None:
    _, _, (problem,) = read_pools(tables)
    assert words in problem
