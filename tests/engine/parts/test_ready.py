from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.parts.ready import Ready


def test_nobody_is_first_where_nobody_is_ready() -> None:
    ready: Ready[str] = Ready()
    assert ready.first() is None and len(ready) == 0 and not list(ready)


def test_first_looks_and_takes_nothing() -> None:
    ready: Ready[str] = Ready()
    ready.put("a")
    assert (ready.first(), ready.first(), list(ready)) == ("a", "a", ["a"])


def test_last_is_whoever_was_put_last() -> None:
    ready: Ready[str] = Ready()
    assert ready.last() is None
    for worker in "aba":
        ready.put(worker)
    assert (ready.last(), list(ready)) == ("a", ["b", "a"])


def test_put_moves_to_the_end_wherever_it_stood() -> None:
    ready: Ready[str] = Ready()
    for worker in "abca":
        ready.put(worker)
    assert list(ready) == ["b", "c", "a"] and "a" in ready


def test_drop_takes_out_and_forgives_a_stranger() -> None:
    ready: Ready[str] = Ready()
    ready.put("a")
    ready.put("b")
    ready.drop("a")
    ready.drop("z")
    assert list(ready) == ["b"] and "a" not in ready and len(ready) == 1


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5))))
def test_it_is_the_list_that_the_seeds_scan(moves: list[tuple[bool, int]]) -> None:
    ready: Ready[int] = Ready()
    plain: list[int] = []
    for put, worker in moves:
        if worker in plain:
            plain.remove(worker)
        if put:
            plain.append(worker)
            ready.put(worker)
        else:
            ready.drop(worker)
        assert list(ready) == plain and ready.first() == (plain[0] if plain else None)
