"""One thing that can happen, as a value and in words."""

from __future__ import annotations

from typing import NamedTuple

UP, DOWN = 0, 1
"""Ways of a wire: to the broker, to the peer."""


class Move(NamedTuple):
    """``kind``: take, connect, wake, end, ask, tick (the clock goes on), or a fault. ``at``: a seat, or the place of a
    wire; ``how``: which of several ways.
    """

    kind: str
    at: int = 0
    how: int = 0


FAULTS = frozenset(("lose", "duplicate", "spoil", "kill", "restart", "freeze", "cut", "clock", "leave", "drain"))
"""Kinds of moves that are faults, or an operator's orders."""
