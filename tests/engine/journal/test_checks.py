"""Values whose fields are what they should be, and values that only look so."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Note, Ordered, Woken
from engine.journal.checks import fits
from engine.parts.orders import Leave
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Command, Event
from engine.protocols.diskqueue.operations import Done, Entry, List, Processed, Take
from engine.protocols.diskqueue.watchdog import Looked

GOOD: list[tuple[Any, Any]] = [
    (Woken(), Event),
    (Done(Take("/q", "a.ready", "a.1.working")), Event),
    (Done(List("/q"), entries=(Entry("a", 1, 2),), still=True), Event),
    (Ordered(Leave()), Event),
    (Looked(frozenset({"a"}), (("a", "1"),)), Looked),
    ([Note("warn", "text", b""), List("/q")], list[Command]),
    (DriverConfig("/a", "/b", "1"), DriverConfig),
    (1, float),
    (None, int | None),
    ((1, "a"), tuple[int, str]),
]
BAD: list[tuple[Any, Any]] = [
    (Done(5), Event),  # type: ignore[arg-type]
    (Done(Take("/q", "a", 7)), Event),  # type: ignore[arg-type]
    (Done(List("/q"), "nonsense"), Event),  # type: ignore[arg-type]
    (Done(List("/q"), [[]]), Event),  # type: ignore[arg-type]
    (Done(List("/q"), entries=(Entry("a", "b", 2),)), Event),  # type: ignore[arg-type]
    (Processed("done", None), Event),  # type: ignore[arg-type]
    ("woken", Event),
    (Looked(frozenset({1}), ()), Looked),  # type: ignore[arg-type]
    ([Note("loud", "text")], list[Command]),  # type: ignore[arg-type]
    ((), list[Command]),
    (DriverConfig("/a", "/b", "1", max_files="x"), DriverConfig),  # type: ignore[arg-type]
    (True, float),
    (True, int),
    ((1,), tuple[int, str]),
    (("a", 2), tuple[int, ...]),
    ("x", int | None),
]


@pytest.mark.parametrize(("value", "wanted"), GOOD, ids=repr)
def test_what_fits(value: object, wanted: Any) -> None:
    assert fits(value, wanted)


@pytest.mark.parametrize(("value", "wanted"), BAD, ids=repr)
def test_what_does_not(value: object, wanted: Any) -> None:
    assert not fits(value, wanted)


def test_nothing_at_all_is_a_tuple_of_nothing() -> None:
    assert fits((), tuple[()]) and not fits((1,), tuple[()])
