"""The first line and the books of a pipeline: fed = published + failed twice + waiting + working."""

from __future__ import annotations

from textual.strip import Strip

from console import units
from console.pictures.queuebridge import QueuePicture, badge
from console.pictures.samples import HERTZ
from console.text import clean
from console.widgets.identity import IdentityBar, several_parts
from console.widgets.ink import Panel, Parts, first_that_fits, spread, values


class QueueIdentity(IdentityBar):
    """What this is, how it is, where it lies; how fast, how many were given up, how long."""

    _picture: QueuePicture | None

    def __init__(self, system: str, root: str, demonstration: bool, readonly: bool, *, id: str | None = None) -> None:
        super().__init__(system, readonly, id=id)
        self._where = "demonstration" if demonstration else clean(root)
        self._root = clean(root)

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        picture = self._picture
        if picture is None:
            return []
        name, state = self._front(*badge(picture, self._paused))
        several = several_parts(self._others)
        system: Parts = [*several, (f"  {self._system}", "label")]
        where: Parts = [(f"  {self._where}", "text")]
        root: Parts = [(f"  {self._root}", "label")] if self._root != self._where else []
        rate: Parts = [(units.short(picture.rate), "text bold"), (" docs/s", "label")]
        lost = picture.books.failed_twice
        fails: Parts = [(f"  {units.short(lost)}", "bad bold" if lost else "label"), (" failed twice", "label")]
        up: Parts = [("  up ", "label"), (units.clock(picture.up), "text"), (" ", "text")]
        full = [*rate, *fails, *up]
        choices = [
            spread([*name, *state, *system, *where, *root], full, width),
            spread([*name, *state, *system, *where], full, width),
            spread([*name, *state, *system], full, width),
            spread([*name[:1], *state, *system], full, width),
            spread([*name[:1], *state, *several], full, width) if several else [],
            spread([*name, *state], full, width),
            spread([*name[:1], *state, *several], [*rate, *fails, (" ", "text")], width) if several else [],
            spread([*name[:1], *state], [*rate, *fails, (" ", "text")], width),
            spread([*name[:1], *state], [*rate, (" ", "text")], width),
        ]
        return [self.line(first_that_fits(filter(None, choices), width), width)]


def equation(picture: QueuePicture, terse: bool = False) -> Parts:
    """Both sides. What others have put in or taken out is a term of its own once it is sure."""
    number = units.short if terse else units.count
    books, gone = picture.books, picture.difference
    terms = [
        ("out" if terse else "published", books.published, "good"),
        ("twice" if terse else "failed twice", books.failed_twice, "bad" if books.failed_twice else "text"),
        ("wait" if terse else "waiting", books.waiting, "text"),
        ("work" if terse else "working", books.working, "text"),
    ]
    if gone > 0:
        terms.append(("taken out by others", gone, "warn"))
    parts: Parts = [("fed ", "label"), (number(picture.fed), "text bold")]
    if gone < 0:
        parts += [(" + ", "faint"), ("by others ", "label"), (number(-gone), "text bold")]
    for place, (name, value, ink) in enumerate(terms):
        parts += [(" + " if place else " = ", "faint"), (f"{name} ", "label"), (number(value), ink)]
    return [*parts, ("  ✓", "good") if picture.balanced else ("  ~ on the move", "label")]


class QueueLedger(Panel):
    """One line, always on the screen."""

    _picture: QueuePicture | None

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        picture = self._picture
        if picture is None:
            return []
        pace: Parts = [(f"{picture.hertz:.1f} Hz ", "warn" if picture.hertz < HERTZ * 0.75 else "label")]
        full, terse = equation(picture), equation(picture, terse=True)
        books = picture.books
        brief = values(
            [
                (" fed", units.short(picture.fed), "text bold"),
                ("out", units.short(books.published), "good"),
                ("twice", units.short(books.failed_twice), "bad" if books.failed_twice else "text"),
            ]
        )
        title: Parts = [(" ledger ", "label")]
        blank: Parts = [(" ", "text")]
        choices = [spread([*title, *full], pace, width), [*title, *full], [*blank, *full], [*blank, *terse], brief]
        return [self.line(first_that_fits(choices, width), width)]
