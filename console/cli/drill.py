"""Runs a drill without a screen, in virtual time: a minute takes about a second."""

from __future__ import annotations

import json
from argparse import Namespace

from console import units
from console.cli.streams import STDOUT, deliver, result
from console.text import clean
from engine.faults.drill import Outcome, Report, document, play
from engine.faults.script import read_drill

MARKS = {True: "✓", False: "✗"}  # a sign, so that nothing is said by colour alone


def drill(options: Namespace) -> int:
    """Play a script and print what came of it: 0 where it passed, else 1. Raises ``engine.settings.Wrong``."""
    report = play(read_drill(options.file), options.seed)
    if options.json != STDOUT:
        result(words(report))
    text = json.dumps(document(report), indent=2) + "\n"
    written = options.json is None or deliver(text, options.json)
    return 0 if report.passed and written else 1


def words(report: Report) -> str:
    """A report for people: a line for each act, and under a fault one for each promise with the time that it took."""
    drill = report.drill
    crew = drill.crew
    size = ", ".join(f"{stage.name} {stage.workers}" for stage in crew.stages)
    size = size or f"{units.several(crew.workers, 'worker')} of {units.several(crew.slots, 'slot')}"
    rows = [f"drill     {clean(drill.name)}", f"system    {drill.system.name}, {size}, seed {report.seed}", ""]
    for outcome in report.outcomes:
        rows += _rows(outcome)
    rows += [f"stopped   {clean(text)}" for text in report.dead]
    promises = [one.kept for outcome in report.outcomes for one in outcome.promises]
    rows += ["", f"promises  {sum(promises)} of {len(promises)} held"]
    rows.append(f"verdict   {'PASS' if report.passed else 'FAIL'}")
    return "\n".join(rows) + "\n"


def _rows(outcome: Outcome) -> list[str]:
    act = outcome.act
    rows = [f"{act.at:8.2f}  {MARKS[outcome.ok]} {act.kind:<5}  {clean(act.text)}: {clean(outcome.words)}"]
    for one in outcome.promises:
        after = "open at the end" if one.after is None else f"{one.after:.2f} s"
        rows.append(f"{'':8}  {'':9}{MARKS[one.kept]} {clean(one.text)} · {after}")
    return rows
