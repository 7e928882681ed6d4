"""What stays on the disk: the kept runs, and where everything is."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from console.cli.streams import result, tell
from console.text import clean
from engine.history import History
from engine.load import RunRecord, duration, run_id, summary
from engine.schema import Misfit, nearest
from engine.settings import Paths


def runs(options: Namespace) -> int:
    """List the kept runs, oldest first, or show the one that is named; 2 where there is no such run."""
    history = History(Paths.of_user().runs)
    return show(history, options.id) if options.id else table(history)


def table(history: History) -> int:
    """A line for each run; files that are none are named on stderr."""
    found, skipped = history.list()
    head = ("run", "started", "system", "kind", "success", "of", "rate/s", "p50", "p99", "verdict")
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
        run["kind"],
        f"{run['succeeded']:,}",
        f"{run['requested']:,}",
        f"{run['rate_per_s']:,.0f}",
        duration(run["service_us"]["p50"]),
        duration(run["service_us"]["p99"]),
        run["verdict"],
    )


def show(history: History, name: str) -> int:
    """One run in words."""
    try:
        run = history.load(name)
    except (OSError, Misfit) as error:
        known = [run_id(run) for run in history.list()[0]]
        reason = "no such run" if isinstance(error, FileNotFoundError) else str(error)
        tell(f"runs {clean(name)!r}: {clean(reason)}{nearest(name, known)}")
        return 2
    versions = "  ".join(f"{what} {which}" for what, which in run["versions"].items())
    result(f"run       {name}\nstarted   {run['started_at']}\nsystem    {run['system']} over {run['transport']}\n")
    result(f"versions  {versions}\n\n{summary(run)}")
    return 0


def paths() -> int:
    """Every file and folder that is used, whether it is there yet or not."""
    for name, path in asdict(Paths.of_user()).items():
        result(f"{name:<8}  {path}\n")
    return 0
