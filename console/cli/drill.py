"""Runs a drill without a screen: in virtual time, where a minute takes about a second, or on real processes."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from console import units
from console.cli.signals import Interrupted, Signals
from console.cli.streams import STDOUT, deliver, result
from console.text import clean
from engine.faults import real
from engine.faults.drill import Outcome, Report, document, play
from engine.faults.script import Drill, read_drill
from engine.settings.tomlfile import Problem, Wrong

MARKS = {True: "✓", False: "✗"}  # a sign, so that nothing is said by colour alone


def drill(options: Namespace) -> int:
    """Play a script and print what came of it: 0 where it passed, else 1. Raises ``engine.settings.tomlfile.Wrong``."""
    script = read_drill(options.file)
    if options.real:
        if wrong := real.problems(script):
            raise Wrong([Problem(str(options.file), text) for text in wrong])
        return _real(script, options)
    report = play(script, options.seed)
    return _tell(words(report), document(report), options, report.passed)


def _real(script: Drill, options: Namespace) -> int:
    with Signals() as signals:
        try:
            with signals.reading():
                played = real.play(script)
        except Interrupted:
            return signals.status(1)
    return _tell(real_words(played), real.document(played), options, played.passed)


def _tell(text: str, found: dict[str, Any], options: Namespace, passed: bool) -> int:
    if options.json != STDOUT:
        result(text)
    written = options.json is None or deliver(json.dumps(found, indent=2) + "\n", options.json)
    return 0 if passed and written else 1


def words(report: Report) -> str:
    """A report for people: a line for each act, and under a fault one for each promise with the time that it took."""
    rows = _acts(report, f", seed {report.seed}")
    promises = [one.kept for outcome in report.outcomes for one in outcome.promises]
    rows += ["", f"promises  {sum(promises)} of {len(promises)} held"]
    return _verdict(rows, report.passed)


def real_words(played: real.Real) -> str:
    """A report on real processes: a line for each act, then what their history and the books of the store say."""
    rows = _acts(played.report, ", on real processes")
    judged, counts = played.judged, played.counts
    ends = ", ".join(f"{n:,} {kind}" for kind, n in judged.ends) or "none ended"
    rows += ["", f"history   {units.several(judged.tasks, 'task')}: {ends}; {judged.again:,} executed again"]
    rows += [f"wrong     {text}" for text in judged.wrong[: real.SHOWN]]
    if len(judged.wrong) > real.SHOWN:
        rows.append(f"wrong     and {len(judged.wrong) - real.SHOWN:,} more")
    rows.append(f"store     {counts.accepted:,} accepted, {counts.succeeded:,} succeeded, {counts.waiting:,} waiting")
    rows[-1] += "" if counts.balanced else "; its books do not balance"
    return _verdict(rows, played.passed)


def _acts(report: Report, how: str) -> list[str]:
    drill = report.drill
    crew = drill.crew
    size = ", ".join(f"{stage.name} {stage.workers}" for stage in crew.stages)
    size = size or f"{units.several(crew.workers, 'worker')} of {units.several(crew.slots, 'slot')}"
    rows = [f"drill     {clean(drill.name)}", f"system    {drill.system.name}, {size}{how}", ""]
    for outcome in report.outcomes:
        rows += _rows(outcome)
    return rows + [f"stopped   {clean(text)}" for text in report.dead]


def _verdict(rows: list[str], passed: bool) -> str:
    return "\n".join([*rows, f"verdict   {'PASS' if passed else 'FAIL'}"]) + "\n"


def _rows(outcome: Outcome) -> list[str]:
    act = outcome.act
    rows = [f"{act.at:8.2f}  {MARKS[outcome.ok]} {act.kind:<5}  {clean(act.text)}: {clean(outcome.words)}"]
    for one in outcome.promises:
        after = "open at the end" if one.after is None else f"{one.after:.2f} s"
        rows.append(f"{'':8}  {'':9}{MARKS[one.kept]} {clean(one.text)} · {after}")
    return rows
