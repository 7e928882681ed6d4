"""The books, always on the screen: sent = ok + failed + in flight + queued + dropped."""

from __future__ import annotations

from textual.strip import Strip

from console import units
from console.bridge import HERTZ, Picture
from console.rows import failures
from console.widgets.ink import Panel, Parts, first_that_fits, spread
from engine.parts.view import LedgerView

_LAG = 0.1  # seconds from which the engine's lag is a warning


def equation(ledger: LedgerView, terse: bool = False) -> Parts:
    """Both sides and whether they agree."""
    number = units.short if terse else units.count
    failed = failures(ledger)
    ends = [
        ("ok", ledger.succeeded, "good"),
        ("fail" if terse else "failed", failed, "bad" if failed else "text"),
        ("out" if terse else "in flight", ledger.in_flight, "text"),
        ("queued", ledger.queued, "text"),
        ("drop" if terse else "dropped", ledger.dropped, "warn" if ledger.dropped else "text"),
    ]
    ink = "text bold" if ledger.balanced else "bad bold"
    parts: Parts = [("sent ", "label"), (number(ledger.sent), ink)]
    for place, (name, value, colour) in enumerate(ends):
        sign = " + " if place else " = " if ledger.balanced else " ≠ "
        parts += [(sign, "faint" if ledger.balanced else "bad bold"), (f"{name} ", "label"), (number(value), colour)]
    verdict = ("  ✓", "good") if ledger.balanced else ("  × DOES NOT BALANCE ", "bad bold reverse")
    return [*parts, verdict]


class Ledger(Panel):
    """One line: the books, and how well the screen and the engine keep up."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._picture: Picture | None = None

    def show(self, picture: Picture) -> None:
        """Show a picture."""
        self._picture = picture
        self.redraw()

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        picture = self._picture
        if picture is None:
            return []
        if picture.ledger is None:
            return [self.line([(" ledger ", "label"), ("nothing sent yet", "faint")], width)]
        slow = picture.hertz < HERTZ * 0.75
        pace: Parts = [("screen ", "faint"), (f"{picture.hertz:.1f} Hz", "warn" if slow else "label")]
        late = "warn" if picture.lag > _LAG else "label"
        pace += [("  engine lag ", "faint"), (units.duration(picture.lag * 1e6).rjust(5), late), (" ", "text")]
        title: Parts = [(" ledger ", "label")]
        full, terse = equation(picture.ledger), equation(picture.ledger, terse=True)
        line = first_that_fits([[*title, *full], [(" ", "text"), *full], [(" ", "text"), *terse], terse], width)
        return [self.line(spread(line, pace, width), width)]
