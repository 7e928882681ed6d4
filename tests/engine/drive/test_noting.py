"""What a core notes of one order."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Note, Send
from engine.drive.noting import noted


class Taps:
    """A node whose only core says this whenever it is told something."""

    def __init__(self) -> None:
        self.taps: tuple[Any, ...] = ()

    def names(self) -> list[str]:
        return ["core"]

    def hand(self) -> None:
        for tap in self.taps:
            tap("node", "core", 0.0, None, [Note("info", "done"), Send([b"x"]), Note("warn", "but", b"w")])


def test_notes_of_one_order_and_nothing_after_it() -> None:
    node = Taps()
    assert noted(node, "core", node.hand) == [Note("info", "done"), Note("warn", "but", b"w")]
    assert noted(node, "core", lambda: None) == [] and node.taps == ()
    assert noted(node, "nobody", node.hand) is None


def test_an_error_of_the_core_leaves_no_tap_behind() -> None:
    node = Taps()
    with pytest.raises(ZeroDivisionError):
        noted(node, "core", lambda: divmod(1, 0) and None)
    assert node.taps == ()
