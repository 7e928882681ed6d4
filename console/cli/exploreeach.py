"""Walks a scene with every kind of fault alone, each in a process of its own, and tells what was covered by all.

The rules of this file:

- Two processes run side by side where the machine has two cores. A process gives its memory back at its end.
- Each writes the report that ``--json`` writes for one kind; all that is told is read from these.
- A signal is passed on: whoever walks ends, and writes what was covered until then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from signal import SIGINT
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from console.cli.explorearguments import NONE
from console.cli.explorewords import covered
from console.cli.signals import Signals
from console.cli.streams import STDOUT, Progress, deliver, result, tell
from engine.errors import Refused
from engine.sim.explore.coverage import Rows, summed
from engine.sim.explore.scene import Fault

BROKERS = (NONE, *get_args(Fault))
"""The kinds that a broker's system is walked with, in their order."""
MOST = 2  # processes
PAUSE = 0.1  # seconds between two looks at the processes
WIDE = 11  # cells of the name of a kind

Command = Callable[[str, Path], list[str]]
"""The command line that walks one kind and writes its report to a file."""
Shown = Callable[[str, str, Sequence[str]], list[str]]
"""The lines that show what is wrong: of a kind, what it is, and its course."""


Unreached = Mapping[tuple[str, str, str], str]
"""Why small scenes never walk a row, by its machine, state and event."""


class Kind(NamedTuple):
    """What came of one kind. ``report``: as in ``roundhouse.explore/1``, None where its process wrote none; ``cpu``:
    seconds; ``broke``: what a process without a report said.
    """

    kind: str
    report: dict[str, Any] | None
    cpu: float
    broke: str = ""


def run(
    options: Namespace,
    head: Sequence[str],
    kinds: Sequence[str],
    system: str,
    clock: Callable[[], float],
    shown: Shown,
    unreached: Unreached,
) -> int:
    """Walk each kind: 0 where everything held, 1 where something did not. ``head``: first lines of what is told.
    ``system``: its name, where no scene is given. Raises Refused.
    """
    if getattr(options, "journal", None) is not None:
        raise Refused("explore: --journal records one walk; name one of the kinds with --faults")
    line, began = Progress("explore"), clock()
    processes = min(MOST, os.cpu_count() or 1)
    with Signals() as signals:
        found = side_by_side(kinds, command(options, system), signals, processes, line.line)
        line.clear()
    if options.json != STDOUT:
        missing = [kind for kind in kinds if kind not in {one.kind for one in found}]
        result(words(head, found, clock() - began, missing, shown, unreached))
    for one in found:
        if one.report is None:
            tell(f"explore: {one.kind} broke off: {one.broke or 'its process said nothing'}")
    reports = [one.report | {"cpu_s": round(one.cpu, 3)} for one in found if one.report is not None]
    written = options.json is None or deliver(json.dumps(reports, indent=2) + "\n", options.json)
    held = all(one.report is not None and not one.report["violations"] for one in found)
    return signals.status(0 if written and held else 1)


def command(options: Namespace, system: str) -> Command:
    """How a process is called that walks one kind, with the same scene and bounds."""
    words = [sys.executable, "-P", "-m", "console", "explore", "--parent", str(os.getpid())]
    words += ["--system", system] if options.scene is None else ["--scene", str(options.scene)]
    for name in ("depth", "states", "seconds"):
        if getattr(options, name):
            words += [f"--{name}", str(getattr(options, name))]
    return lambda kind, into: [*words, "--faults", kind, "--json", str(into)]


class Child:
    """A process that walks one kind. ``into``: where it writes its report."""

    def __init__(self, kind: str, words: Sequence[str], into: Path) -> None:
        self.kind, self._into = kind, into
        self._said = into.with_name(f"{into.name}.said")
        with self._said.open("wb") as said:
            nothing = subprocess.DEVNULL
            self.process = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=said, process_group=0)

    def ended(self, wait: bool = False) -> Kind | None:
        """What came of it; None while it walks."""
        pid, status, used = os.wait4(self.process.pid, 0 if wait else os.WNOHANG)
        if pid == 0:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        said = self._said.read_text("utf-8", "replace").strip().splitlines()
        cpu = used.ru_utime + used.ru_stime
        try:
            return Kind(self.kind, json.loads(self._into.read_text("utf-8")), cpu)
        except (OSError, ValueError):
            return Kind(self.kind, None, cpu, said[-1] if said else f"exit status {self.process.returncode}")


def side_by_side(
    kinds: Sequence[str], command: Command, signals: Signals, most: int, told: Callable[[str], None]
) -> list[Kind]:
    """Walk each kind in a process, ``most`` of them at a time; what came of each, in their order. On a signal: of those
    that had begun.
    ``told``: how far it is.
    """
    todo, found, running = list(kinds), dict[str, Kind](), list[Child]()
    with TemporaryDirectory(prefix="roundhouse-explore-") as folder:
        try:
            while running or (todo and signals.caught is None):
                while todo and len(running) < most and signals.caught is None:
                    into = Path(folder, todo[0])
                    running.append(Child(todo[0], command(todo.pop(0), into), into))
                told(f"{len(found)} of {len(kinds)} kinds walked, now {', '.join(one.kind for one in running)}")
                if signals.wait(PAUSE):
                    break
                for one in list(running):
                    if (ended := one.ended()) is not None:
                        found[one.kind] = ended
                        running.remove(one)
            for one in running:
                one.process.send_signal(SIGINT)
            while running:
                ended = running[0].ended(wait=True)
                assert ended is not None
                running.pop(0)
                if ended.report is not None:  # else the signal came before it had begun
                    found[ended.kind] = ended
        finally:
            for one in running:  # only where something failed
                one.process.kill()
                one.process.wait()
    return [found[kind] for kind in kinds if kind in found]


def words(
    head: Sequence[str],
    found: Sequence[Kind],
    seconds: float,
    missing: Sequence[str] = (),
    shown: Shown = lambda kind, wrong, course: [wrong],
    unreached: Unreached = MappingProxyType({}),
) -> str:
    """A report for people. ``missing``: kinds whose walk never began."""
    rows = [*head, "", f"{'kind':<{WIDE}}{'states':>12}{'transitions':>13}{'depth':>7}{'CPU s':>9}"]
    reports = [one.report for one in found if one.report is not None]
    rows += [_row(one) for one in found]
    states, transitions = (sum(report[name] for report in reports) for name in ("states", "transitions"))
    cpu, deepest = sum(one.cpu for one in found), max((report["depth"] for report in reports), default=0)
    rows += [f"{'all':<{WIDE}}{states:>12,}{transitions:>13,}{deepest:>7}{cpu:>9.1f}  in {seconds:.1f} s"]
    rows += [line for one in coverage(reports) for line in covered(one, unreached)] + [""]
    for one in found:
        for wrong in one.report["violations"] if one.report is not None else ():
            rows += shown(one.kind, wrong["text"], wrong["course"])
    return "\n".join([*rows, f"verdict   {verdict(found, missing)}"]) + "\n"


def verdict(found: Sequence[Kind], missing: Sequence[str] = ()) -> str:
    """What all of it comes to."""
    wrong = [_named(one.kind) for one in found if one.report is None or one.report["violations"]]
    bounded = [_named(one.kind) for one in found if one.report is not None and one.report["bound"]]
    how = f"VIOLATED: {', '.join(wrong)}" if wrong else "held" if found else "nothing was walked"
    if bounded:
        how += f"; bounded: {', '.join(bounded)}"
    if missing:
        how += f"; not walked: {', '.join(map(_named, missing))}"
    return f"{how}, complete within these bounds" if how == "held" else how


def coverage(reports: Sequence[Mapping[str, Any]]) -> list[Rows]:
    """Of each state machine the rows that any of the walks reached, and those that none did."""
    return summed(
        [
            Rows(one["machine"], *(tuple(map(tuple, one[name])) for name in ("walked", "never")))
            for one in report["coverage"]
        ]
        for report in reports
    )


def _named(kind: str) -> str:
    return "nothing" if kind == NONE else kind


def _row(one: Kind) -> str:
    name = _named(one.kind)
    if one.report is None:
        return f"{name:<{WIDE}}{'-':>12}{'-':>13}{'-':>7}{one.cpu:>9.1f}  broke off"
    report = one.report
    how = f"held, bounded: ended by {report['bound']}" if report["bound"] else "held, complete"
    how = "VIOLATED" if report["violations"] else how
    figures = f"{report['states']:>12,}{report['transitions']:>13,}{report['depth']:>7,}{one.cpu:>9.1f}"
    return f"{name:<{WIDE}}{figures}  {how}"
