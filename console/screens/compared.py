"""Two kept runs beside each other: what ``roundhouse compare`` prints, with the verdicts in colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.host import Host
from console.pictures.bridge import Run
from console.screens.page import Page
from console.text import clean
from console.widgets.ink import Parts, wrapped
from engine.runs.compare import BOUND, Comparison, compare, lines
from engine.runs.record import RunRecord, read, run_id
from engine.schema import Misfit, fit, nearest, parse

USUAL = 5.0  # percent: what counts as a regression where no bound is given
FRAME = 4  # cells beside the lines of a page

INKS = {"better": "good", "same": "label", "worse": "warn", "regression": "bad bold", "unknown": "label"}


def readable(runs: Iterable[Run]) -> list[RunRecord]:
    """The kept runs that are whole: they come from files."""
    found: list[RunRecord] = []
    for run in runs:
        try:
            found.append(read(run))
        except Misfit:
            continue  # it is in the list, with what can be shown of it, and has no figures that could be compared
    return found


def name_of(run: Run) -> str:
    """The id under which a run is kept; empty where it is none that has one."""
    whole = readable([run])
    return run_id(whole[0]) if whole else ""


def open_comparison(app: Host, names: Sequence[str], runs: Iterable[Run], bound: float = USUAL) -> None:
    """B against A, the two that are named; where one of them is not among ``runs`` that is told."""
    kept = readable(runs)
    by_name = {run_id(run): run for run in kept}
    for name in names:
        if name not in by_name:
            app.say(f"no kept run {clean(name)!r}{nearest(name, by_name)}", "bad")
            return
    a, b = (by_name[name] for name in names)
    found = compare(a, b, kept, bound)
    page = Page("B against A", [], lambda _: compared_lines(found, bound, app.size.width - FRAME))
    app.open_screen(page)


def compare_typed(app: Host, line: str, runs: Iterable[Run]) -> None:
    """``:compare A B [PERCENT]``."""
    words = line.split()
    if not 2 <= len(words) <= 3:
        app.say("compare needs the ids of two kept runs, and perhaps a bound in percent", "bad")
        return
    bound = USUAL
    if len(words) == 3:
        try:
            bound = fit(parse(words[2].removesuffix("%"), BOUND), BOUND)
        except Misfit as misfit:
            app.say(f"the bound: {clean(str(misfit))}", "bad")
            return
    open_comparison(app, words[:2], runs, bound)


def compared_lines(found: Comparison, bound: float, width: int) -> list[Parts]:
    """The lines of a comparison in so many cells."""
    text = lines(found, bound)
    first = next(place for place, line in enumerate(text) if not line) + 2  # below a blank line, and the head
    last = first + len(found.rows)
    inked: list[Parts] = [[(line, "text bold")] for line in text[: first - 1]]
    inked.append([(text[first - 1], "label")])
    for line, row in zip(text[first:last], found.rows, strict=True):
        inked.append([(line.removesuffix(row.verdict), "text"), (row.verdict, INKS[row.verdict])])
    inked.append([])
    for place, line in enumerate(text[last:]):
        inked += wrapped([], line, "warn" if place else "label", width)
    inked += [[], *([(line[:width], "text")] for line in found.shapes)] if found.shapes else []
    return inked
