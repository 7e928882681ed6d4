"""Shows the ``terms`` of snapshots, a protocol's own names and values, as columns and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from console import units
from console.pictures.rows import Shown, natural
from console.text import clean, fit
from console.widgets.ink import Parts, cells
from console.widgets.table import Column
from engine.core import NEVER

Terms = Sequence[tuple[str, str]]

_NAME = 16  # cells of the names on the left, at least
_WIDEST = 28


def term(terms: Terms, name: str) -> str:
    """One of them; empty where it is not there."""
    return next((value for key, value in terms if key == name), "")


def lines_of(terms: Terms) -> list[Parts]:
    """A line each: the name, the value."""
    width = min(_WIDEST, max([_NAME, *(len(name) + 2 for name, _ in terms)]))
    return [[(fit(clean(name), width), "label"), (clean(value), "text")] for name, value in terms]


def column(
    name: str,
    title: str,
    width: int,
    need: int,
    ink: Callable[[str], str] = lambda value: "text",
    *,
    right: bool = False,
    term_name: str = "",
) -> Column[Shown]:
    """A column of the worker table that shows one term, ``term_name`` or that of the column's own name."""

    def value(row: Shown) -> str:
        return term(row.worker.terms, term_name or name)

    def draw(row: Shown, now: float, wide: int) -> Parts:
        text = value(row)
        return [(fit(clean(text), wide, right), ink(text))]

    return Column(name, title, width, lambda row: natural(value(row)), draw, need=need, right=right)


def countdown(lost_at: float, now: float) -> tuple[str, str]:
    """The time until silence has its consequence, and its ink."""
    if lost_at == NEVER:
        return "–", "faint"
    left = max(0.0, lost_at - now)
    return units.age(left), "warn" if left < 1 else "text"


def titled(title: str, lines: Iterable[Parts]) -> list[Parts]:
    """Lines under a title, with a blank one behind."""
    return [[(title, "accent bold")], *lines, []]


def beside(left: Sequence[Parts], right: Sequence[Parts], width: int) -> list[Parts]:
    """Two blocks next to each other, or under one another where there is no room for both."""
    widest = max((cells(line) for line in left), default=0)
    if widest + 3 + max((cells(line) for line in right), default=0) > width:
        return [*left, *right]
    lines: list[Parts] = []
    for place in range(max(len(left), len(right))):
        first = left[place] if place < len(left) else []
        second = right[place] if place < len(right) else []
        lines.append([*first, (" " * (widest + 3 - cells(first)), "text"), *second])
    return lines
