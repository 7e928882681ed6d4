"""What fits and what does not, and in which words."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypedDict

import pytest

from engine.schema import Misfit, OneOf, OptionalTcp, Range, describe, fit, nearest, parse

Small = Annotated[int, Range(1, 9)]


class Inner(TypedDict):
    n: int


class Outer(TypedDict):
    inner: Inner
    names: dict[str, Small]


@pytest.mark.parametrize(
    ("value", "wanted", "fitted"),
    [
        (3, int, 3),
        (3, float, 3.0),
        (True, bool, True),
        ("x y", str, "x y"),
        (None, float | None, None),
        (2, float | None, 2.0),
        (["a", "b"], tuple[str, ...], ("a", "b")),
        ({"a": 1}, dict[str, int], {"a": 1}),
        ("fast", Literal["fast", "slow"], "fast"),
        (9, Small, 9),
        ("b", Annotated[str, OneOf(("a", "b"))], "b"),
        ({"inner": {"n": 1, "new": 2}, "names": {}}, Outer, {"inner": {"n": 1}, "names": {}}),
    ],
)
def test_what_fits(value: object, wanted: Any, fitted: object) -> None:
    assert fit(value, wanted) == fitted
    assert type(fit(value, wanted)) is type(fitted)


@pytest.mark.parametrize(
    ("value", "wanted", "reason"),
    [
        ("3", int, "expected a whole number, got '3'"),
        (3.0, int, "expected a whole number, got 3.0"),
        (True, int, "expected a whole number, got True"),
        (True, float, "expected a number, got True"),
        (math.nan, float, "expected a number, got nan"),
        (math.inf, float, "expected a number, got inf"),
        (1, bool, "expected true or false, got 1"),
        ("a\x1b[2J", str, r"expected plain text, got 'a\x1b[2J'"),
        ("\u202egnp", str, r"expected plain text, got '\u202egnp'"),
        (None, int, "expected a whole number, got None"),
        ("x", float | None, "expected a number, got 'x'"),
        ("a", tuple[str, ...], "expected a list, each plain text, got 'a'"),
        ([1], tuple[str, ...], "expected plain text, got 1"),
        ([], dict, "expected a table, got []"),
        (0, Small, "expected a whole number from 1 to 9, got 0"),
        (10, Small, "expected a whole number from 1 to 9, got 10"),
        ("slwo", Literal["fast", "slow"], "expected one of fast, slow, got 'slwo'; did you mean slow?"),
        (["fast"], Literal["fast", "slow"], "expected one of fast, slow, got ['fast']"),
        ("roundrobbin", Annotated[str, OneOf(("roundrobin",))], "; did you mean roundrobin?"),
        ({"names": {}}, Outer, "inner is missing"),
        ({"inner": {"n": "x"}, "names": {}}, Outer, "inner.n: expected a whole number, got 'x'"),
        ({"inner": {"n": 1}, "names": {"a": 10}}, Outer, "names.a: expected a whole number from 1 to 9, got 10"),
        ({"inner": [], "names": {}}, Outer, "inner: expected a table, got []"),
        ("x" * 10_000, int, "..."),
        (10**400, float, "expected a number, got 1000"),
    ],
)
def test_what_does_not(value: object, wanted: Any, reason: str) -> None:
    with pytest.raises(Misfit) as caught:
        fit(value, wanted)
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "wanted", "value"),
    [
        ("3", int, 3),
        ("0.5", float, 0.5),
        ("three", int, "three"),
        ("Yes", bool, True),
        ("0", bool, False),
        ("maybe", bool, "maybe"),
        ("", int | None, None),
        ("7", Small, 7),
        ("a, b,", tuple[str, ...], ("a", "b")),
        ("x", str, "x"),
    ],
)
def test_text_is_read_as_what_it_stands_for(text: str, wanted: Any, value: object) -> None:
    assert parse(text, wanted) == value
    assert type(parse(text, wanted)) is type(value)


def test_types_in_words() -> None:
    assert describe(Small) == "a whole number from 1 to 9"
    assert describe(float | None) == "a number, or nothing"
    assert describe(Annotated[float, Range(0.001, 3600)]) == "a number from 0.001 to 3,600"


def test_only_a_near_word_is_suggested() -> None:
    assert nearest("wrkers", ["workers", "slots"]) == "; did you mean workers?"
    assert nearest("zzz", ["workers", "slots"]) == ""


def test_an_endpoint_over_tcp_or_none() -> None:
    assert fit("", OptionalTcp) == "" and fit("tcp://h:1", OptionalTcp) == "tcp://h:1"
    for wrong in ("ipc:///x", "tcp+plain://h:1", "tcp://h:0", "tcp://h"):
        with pytest.raises(Misfit, match=r"expected an endpoint like tcp://127.0.0.1:6714, or nothing"):
            fit(wrong, OptionalTcp)
