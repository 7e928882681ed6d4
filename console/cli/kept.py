"""The commands ``runs`` and ``paths``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from console.cli.streams import deliver, result, tell
from console.text import clean
from engine.drive.pump.chosen import cores, words
from engine.runs.export import to_csv
from engine.runs.history import History
from engine.runs.record import RunRecord, duration, run_id, to_json, way
from engine.runs.summary import summary
from engine.schema import Misfit, nearest
from engine.settings.paths import Paths


def runs(options: Namespace) -> int:
    """List the kept runs, oldest first, or show the one that is named; 2 where there is no such run.

    With ``--csv`` or ``--json`` they are written for other programs instead; 1 where that can not be.
    """
    history = History(Paths.of_user().runs)
    words = options.id[1:] if options.id[:1] == ["show"] else options.id
    if len(words) > 1 or (options.id and not words):
        tell(f"runs {clean(' '.join(options.id))}: name one run, by its id, the beginning of one, last, -1, -2 …")
        return 2
    name = words[0] if words else None
    if options.csv or options.json:
        return export(history, name, options)
    return show(history, name) if name else table(history)


def export(history: History, name: str | None, options: Namespace) -> int:
    """All kept runs, or the one that is named, as a file."""
    kept: list[RunRecord] = []
    if name:
        run = found(history, name, "runs")
        if run is None:
            return 2
        kept.append(run)
    else:
        kept, skipped = history.list()
        for line in skipped:
            tell(f"skipped {clean(line)}")
    if options.csv:
        written = deliver(to_csv(kept), options.csv, "--csv")
    else:
        written = deliver(to_json(kept[0]) if name else to_json(kept), options.json)
    return 0 if written else 1


def table(history: History) -> int:
    """A line for each run; files that are none are named on stderr."""
    found, skipped = history.list()
    head = ("run", "started", "system", "over", "lane", "kind", "success", "of", "rate/s", "p50", "p99", "verdict")
    rows = [head, *map(row, found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        result("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n")
    for line in skipped:
        tell(f"skipped {clean(line)}")
    return 0


def row(run: RunRecord) -> tuple[str, ...]:
    """One run in cells."""
    return (
        run_id(run),
        run["started_at"][:19] + run["started_at"][26:],
        clean(run["system"], 16),
        clean(run["transport"], 8),
        clean(run["lane"] or "–", 8),
        run["kind"],
        f"{run['succeeded']:,}",
        f"{run['requested']:,}",
        f"{run['rate_per_s']:,.0f}",
        measured(run["service_us"]["p50"]),
        measured(run["service_us"]["p99"]),
        run["verdict"],
    )


def measured(us: float) -> str:
    """A latency in a cell; no reply came back where it is 0, as of a ping that asks for none."""
    return duration(us) if us else "-"


def show(history: History, name: str) -> int:
    """One run in words."""
    run = found(history, name, "runs")
    if run is None:
        return 2
    versions = "  ".join(f"{what} {which}" for what, which in run["versions"].items())
    result(f"run       {run_id(run)}\nstarted   {run['started_at']}\nsystem    {clean(way(run))}\n")
    result(f"versions  {versions}\n\n")
    result(summary(run), inked=True)
    return 0


def found(history: History, name: str, asked: str) -> RunRecord | None:
    """The kept run of that name; None where there is none, and why is told. ``asked``: the word that asked for it."""
    try:
        return history.find(name)
    except (OSError, Misfit) as error:
        known = [run_id(run) for run in history.list()[0]]
        reason = "no such run" if isinstance(error, FileNotFoundError) else str(error)
        tell(f"{asked} {clean(name)!r}: {clean(reason)}{nearest(name, known)}")
        return None


def paths() -> int:
    """Every file and folder that is used, whether it is there yet or not, and which pump and cores run."""
    for name, path in asdict(Paths.of_user()).items():
        result(f"{name:<8}  {path}\n")
    result(f"{'pump':<8}  {words()}\n")
    result(f"{'cores':<8}  {cores()}\n")
    return 0
