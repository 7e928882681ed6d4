"""Comparison of kept runs: ``compare A B``, and ``--baseline`` of a bulk run."""

from __future__ import annotations

from argparse import Namespace

from console.cli.kept import found
from console.cli.streams import STDOUT, result, tell
from engine.runs.compare import compare, lines, newest_like
from engine.runs.history import LAST, History
from engine.runs.record import RunRecord
from engine.settings.paths import Paths


def compare_kept(options: Namespace) -> int:
    """Print the table; 1 on a regression beyond ``--bound``, 2 where there is no such run."""
    history = History(Paths.of_user().runs)
    a, b = (found(history, name, "compare") for name in (options.a, options.b))
    if a is None or b is None:
        return 2
    text, regression = _table(history, a, b, options.bound)
    result(text)
    return 1 if regression else 0


def baseline_of(options: Namespace) -> tuple[RunRecord | None, bool]:
    """The kept run that ``--baseline`` names, and whether all is well: it is looked up before anything is run.

    ``last`` is looked up afterwards: the newest run with the same request.
    """
    name = getattr(options, "baseline", None)
    if name is None or name == LAST:
        return None, True
    run = found(History(Paths.of_user().runs), name, "--baseline")
    return run, run is not None


def against(baseline: RunRecord | None, run: RunRecord, options: Namespace) -> bool:
    """Print how a run that has ended compares, where that was asked; False on a regression beyond ``--bound``.

    With a bound, a run that nothing can be compared with has not passed: a gate that judges nothing must not stay open.
    The table goes to stderr where stdout is for the run's JSON.
    """
    name = getattr(options, "baseline", None)
    if name is None:
        return True
    history = History(Paths.of_user().runs)
    before = baseline or newest_like(run, history.list()[0])
    if before is None:
        tell("--baseline last: no kept run before this one is a repeat of it")
        return options.bound is None
    text, regression = _table(history, before, run, options.bound)
    if options.json == STDOUT:
        for line in text.splitlines():
            tell(line)
    else:
        result(f"\n{text}")
    return not regression


def _table(history: History, a: RunRecord, b: RunRecord, bound: float | None) -> tuple[str, bool]:
    of = compare(a, b, history.list()[0], bound)
    shapes = ["", *of.shapes] if of.shapes else []
    return "\n".join([*lines(of, bound), *shapes]) + "\n", of.regression
