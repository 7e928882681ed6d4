"""The ledger, always on the screen: sent = ok + failed + in flight + queued + dropped."""

from __future__ import annotations

from textual.strip import Strip

from console import units
from console.pictures.bridge import Picture
from console.pictures.governor import SLOWEST
from console.pictures.rows import failures
from console.text import fit
from console.widgets.ink import Panel, Parts, first_that_fits, spread, values
from engine.parts.view import LedgerView

_SLOW = 0.75 / SLOWEST  # refreshes a second below which the screen does not keep up, calm as it may be
_LAG = 0.1  # seconds from which the engine's lag is a warning


def equation(ledger: LedgerView, terse: bool = False) -> Parts:
    """Both sides of the ledger, and whether they agree."""
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


def brief(ledger: LedgerView) -> Parts:
    """The shortest form: whether the sides agree, and what failed."""
    failed = failures(ledger)
    verdict = (" ✓ ", "good") if ledger.balanced else (" × DOES NOT BALANCE ", "bad bold reverse")
    return [
        verdict,
        *values(
            [
                ("sent", units.short(ledger.sent), "text bold"),
                ("ok", units.short(ledger.succeeded), "good"),
                ("fail", units.short(failed), "bad" if failed else "text"),
            ]
        ),
    ]


class Ledger(Panel):
    """One line: the ledger, and how well the screen and the engine keep up."""

    _picture: Picture | None

    def draw(self, width: int, height: int) -> list[Strip]:
        """One line."""
        picture = self._picture
        if picture is None:
            return []
        if picture.ledger is None:
            return [self.line([(" ledger ", "label"), ("nothing sent yet", "faint")], width)]
        slow = picture.hertz < _SLOW
        pace: Parts = [(f"{picture.hertz:.1f} Hz", "warn" if slow else "label")]
        late = "warn" if picture.lag > _LAG else "label"
        pace += [(" · lag", "faint"), (fit(units.duration(picture.lag * 1e6), 6, right=True), late), (" ", "text")]
        titles: list[Parts] = [[(f" {picture.books[0]}'s ledger ", "label")], [(" ledger ", "label")]]
        full, terse = equation(picture.ledger), equation(picture.ledger, terse=True)
        blank: Parts = [(" ", "text")]
        lines = [*([*title, *full] for title in titles), [*blank, *full], [*blank, *terse], brief(picture.ledger)]
        choices = [spread(line, pace, width) for line in lines[: 3 if not slow else 4]] + lines
        return [self.line(first_that_fits(choices, width), width)]
