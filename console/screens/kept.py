"""The kept runs in a table: one of them in words and charts, two of them compared, all of them exported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from console import keys, units
from console.host import Host
from console.pictures.bridge import Picture, Run
from console.pictures.rows import failed_of, figure
from console.screens.compared import name_of, open_comparison, readable
from console.screens.layer import Layer
from console.screens.page import Page
from console.text import clean, fit
from console.widgets.ink import Parts
from console.widgets.keybar import KeyBar
from console.widgets.runs import badge, mark
from console.widgets.table import Column, Table
from engine.files import personal
from engine.runs.export import to_csv
from engine.runs.record import run_id, to_json, way
from engine.runs.summary import summary

LABEL = 10  # cells of the first word of a line in a summary
LOUD = {"failed": "bad", "missed": "warn", "stopped": "warn"}  # first words of lines that are not as they should be


def _text(key: str) -> Column[Run]:
    return Column(
        key,
        key,
        8,
        lambda run: str(run.get(key) or ""),
        lambda run, _, w: [(fit(clean(str(run.get(key) or "")), w), "text")],
    )


def _figure(name: str, title: str, width: int, need: int, *path: str) -> Column[Run]:
    def draw(run: Run, _: float, cells: int) -> Parts:
        value = figure(run, *path)
        text = units.latency(value) if path[0].endswith("_us") else units.short(value)
        return [(fit(text, cells, right=True), "text")]

    return Column(name, title, width, lambda run: figure(run, *path), draw, need=need, right=True, falling=True)


def started(run: Run) -> str:
    """When it began, to the second, with its offset."""
    text = clean(str(run.get("started_at", "")))
    return (text[:19] + text[26:] if text[19:20] == "." else text).replace("T", " ", 1)


def began(run: Run) -> float:
    """When it began in seconds since 1970: local times repeat an hour a year. 0 where it is not told."""
    try:
        return datetime.fromisoformat(str(run.get("started_at"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _draw_failed(run: Run, _: float, cells: int) -> Parts:
    n = failed_of(run)
    return [(fit(units.short(n) if n else "·", cells, right=True), "bad bold" if n else "faint")]


def _draw_verdict(run: Run, _: float, cells: int) -> Parts:
    sign, ink = mark(run.get("verdict"))
    word = badge(run.get("verdict"))[0][0]
    return [(fit(f"{sign}{word.strip()}", cells), ink)]


COLUMNS: tuple[Column[Run], ...] = (
    Column("started", "  started", 8, began, lambda run, _, w: [(fit(started(run), w), "label")], need=3, falling=True),
    _text("verdict")._replace(width=9, draw=_draw_verdict, need=9),
    _text("kind")._replace(width=5, need=8),
    _figure("n", "n", 7, 7, "requested"),
    _figure("ok", "ok", 7, 5, "succeeded"),
    Column("fail", "fail", 5, failed_of, _draw_failed, need=6, right=True, falling=True),
    _figure("rate", "rate/s", 7, 4, "rate_per_s"),
    _figure("p50", "p50", 6, 2, "service_us", "p50"),
    _figure("p95", "p95", 6, 0, "service_us", "p95"),
    _figure("p99", "p99", 6, 2, "service_us", "p99"),
    _figure("max", "max", 6, 0, "service_us", "max"),
    _text("system")._replace(width=12, need=1),
    _text("transport")._replace(width=9, need=-1),
    _text("lane")._replace(width=6, need=-2),
)


class Kept(Layer):
    """Every kept run in a line. The first one that is chosen to be compared is A, and stays that for others."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *keys.bindings((*keys.BACK, *keys.KEPT)),
    ]
    app: Host

    def __init__(self, runs: Sequence[Run]) -> None:
        super().__init__()
        self._runs = runs
        self._a: Run | None = None
        self._columns = (COLUMNS[0]._replace(width=27, draw=self._draw_started), *COLUMNS[1:])

    def compose(self) -> ComposeResult:
        """The table and the key bar."""
        places = {id(run): place for place, run in enumerate(self._runs)}
        yield Table(self._columns, lambda run: places[id(run)], empty="no runs yet", id="kept")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        """Newest first."""
        table = self._table
        table.border_title = "kept runs"
        table.set_rows(self._runs)
        table.sort_by(self._columns[0], reverse=True)
        table.focus()

    @property
    def _table(self) -> Table[Run]:
        found: Table[Run] = self.query_one("#kept", Table)
        return found

    def show(self, picture: Picture) -> None:
        """The list is that of the moment in which it was opened; the id of the chosen run stands below it."""
        chosen = self._table.cursor
        told = [name_of(self._runs[chosen])] if chosen is not None else []
        if self._a is not None:
            here = chosen is not None and self._runs[chosen] is self._a
            told.append("A: c on another one compares" if here else f"c compares with A, {name_of(self._a)}")
        self._table.border_subtitle = Content(f" {' · '.join(told)} " if told else "")

    def _draw_started(self, run: Run, _: float, cells: int) -> Parts:
        return [("A " if run is self._a else "  ", "accent bold"), (fit(started(run), cells - 2), "label")]

    def action_back(self) -> None:
        """Go back to the main screen."""
        self.dismiss()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._table.sort_next()

    def action_sort_reverse(self) -> None:
        """Reverse the sort order."""
        if self._table.sort_column is not None:
            self._table.sort_by(self._table.sort_column, not self._table.reverse)

    def action_open(self) -> None:
        """One run in full."""
        run = self._table.chosen()
        if run is not None:
            self.app.push_screen(Page(f"run · {clean(str(run.get('started_at', '')))}", run_page(run)))

    def action_compare(self) -> None:
        """The chosen run is the one before; where there is one already, it is the one after."""
        run = self._table.chosen()
        if run is None:
            self.app.say("there is no run to compare", "warn")
        elif not name_of(run):
            self.app.say("this one is no whole run: it has no figures to compare", "bad")
        elif self._a is None or run is self._a:
            self._a = run if self._a is None else None
            self._table.redraw()
            self.app.tick()
        else:
            open_comparison(self.app, [name_of(self._a), name_of(run)], self._runs)

    def action_export(self) -> None:
        """All of them, for other programs. A file is named after the newest run in it."""
        runs = readable(self._runs)
        if not runs:
            self.app.say("there is nothing to export", "warn")
            return
        folder = self.app.settings.state_folder / "exports"
        name = f"runs-to-{max(map(run_id, runs))}"
        try:
            personal.keep(folder / f"{name}.csv", to_csv(runs).encode())
            personal.keep(folder / f"{name}.json", to_json(runs).encode())
        except OSError as error:
            self.app.say(f"the runs can not be exported: {error}", "bad")
        else:
            self.app.say(f"{units.several(len(runs), 'run')} in {folder / name}.csv and .json", "good")

    def on_table_chosen(self) -> None:
        """A double click."""
        self.action_open()


def run_page(run: Run) -> list[Parts]:
    """What ``roundhouse runs show`` prints, in colours; of a file that is no whole run, its names and values."""
    what = f"{clean(str(run.get('kind', '')))} {units.count(int(figure(run, 'requested')))}"
    lines: list[Parts] = [[*badge(run.get("verdict")), (f"  {what}", "text bold")], []]
    whole = readable([run])
    if not whole:
        return lines + _fields(run)
    (record,) = whole
    versions = "  ".join(f"{of} {which}" for of, which in record["versions"].items())
    head = (
        ("run", run_id(record)),
        ("started", record["started_at"]),
        ("system", way(record)),
        ("versions", versions),
    )
    text = [*(f"{name:<10}{value}" for name, value in head), "", *summary(record).splitlines()]
    return lines + [_line(clean(line)) for line in text]


def _line(text: str) -> Parts:
    """A line of a summary: its first word in front, in its colour where it is one."""
    word, rest = text[:LABEL], text[LABEL:]
    return [(word, "label"), (rest, LOUD.get(word.strip(), "text"))]


def _fields(run: Run) -> list[Parts]:
    lines: list[Parts] = []
    for key, value in run.items():
        if isinstance(value, dict):
            lines += [[], [(clean(key), "accent")]]
            lines += [[("  " + fit(clean(str(k)), 16), "label"), (_value(key, v), "text")] for k, v in value.items()]
        else:
            lines.append([(fit(clean(key), 18), "label"), (_value(key, value), "text")])
    return lines


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return clean(value if isinstance(value, str) else json.dumps(value))
    if key.endswith("_us"):
        return units.duration(value)
    return units.count(value) if isinstance(value, int) else f"{value:,.3f}"
