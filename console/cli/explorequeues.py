"""Walks every interleaving of drivers of a disk queue, and tells what was covered."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence

from console.cli.explorearguments import NONE
from console.cli.exploretranscript import toml_documents, transcript
from console.cli.explorewords import Sheet, covered, shown
from console.cli.streams import STDOUT, deliver, result, tell
from console.pictures.course import drawn_documents
from engine.errors import Refused
from engine.sim.explore.documents import Documents, Walked, in_words, walk
from engine.sim.explore.report import SCHEMA, listed
from engine.sim.explore.walk import Progress

DOCUMENTS, DRIVERS = 2, 2
FAULTS = ("kill", "power")
USUAL = 5_000_000  # states
SCENE = f"{DRIVERS} drivers, {DOCUMENTS} documents"


def run(
    system: str, options: Namespace, clock: Callable[[], float], told: Callable[[Progress], str], sheet: Sheet
) -> int:
    """Walk: 0 where everything held, else 1. ``clock``: seconds; ``told``: why it is to end. Raises Refused."""
    fault = _fault(options)
    model, began = Documents(DOCUMENTS, fault), clock()

    def asked(progress: Progress) -> str:
        if options.seconds and clock() - began >= options.seconds:
            return f"{options.seconds:g} seconds"
        if options.depth and progress.depth >= options.depth:
            return f"a depth of {options.depth:,} moves"
        return told(progress)

    walked = walk(model, options.states or USUAL, asked)
    seconds = clock() - began
    if options.json != STDOUT:
        result(words(system, fault, model, walked, seconds, sheet))
    text = json.dumps(document(system, fault, model, walked, seconds), indent=2) + "\n"
    written = options.json is None or deliver(text, options.json)
    if getattr(options, "journal", None) is not None:
        tell("--journal: of disk queues only the course is told, there is no recording")
        return 2
    return 0 if written and not walked.wrong else 1


def _fault(options: Namespace) -> str:
    kinds: tuple[str, ...] = options.faults or ()
    if len(kinds) > 1 or not set(kinds) <= set(FAULTS):
        raise Refused(f"explore: of disk queues one of {', '.join(FAULTS)} may go wrong, got {', '.join(kinds)}")
    return kinds[0] if kinds else ""


def words(system: str, fault: str, model: Documents, walked: Walked, seconds: float, sheet: Sheet) -> str:
    """A report for people."""
    progress = walked.progress
    goes = f"{fault} once, at any moment" if fault else "nothing goes wrong"
    rows = [f"system    {system}", f"scene     {DRIVERS} drivers, {DOCUMENTS} documents; {goes}", ""]
    if walked.wrong:
        rows += violated(system, sheet, fault or NONE, walked.wrong, _course(model, walked))
    rows.append(
        f"walked    {progress.states:,} states, {progress.transitions:,} transitions, depth {progress.depth}, "
        f"in {seconds:.1f} s"
    )
    rows += [line for one in model.coverage() for line in covered(one, {})]
    how = f"bounded: ended by {walked.bound}" if walked.bound else "complete"
    how = "ended by a violation" if walked.wrong else how
    rows += ["", f"verdict   {'VIOLATED' if walked.wrong else 'held'}, {how}"]
    return "\n".join(rows) + "\n"


def violated(system: str, sheet: Sheet, kind: str, wrong: str, course: Sequence[str]) -> list[str]:
    """What is wrong, its course as a transcript, and as a ladder."""
    fault = "" if kind == NONE else kind
    lines = transcript(wrong, toml_documents(system, DOCUMENTS, fault), course)
    return shown(wrong, lines, drawn_documents(Documents(DOCUMENTS, fault), course, *sheet))


def _course(model: Documents, walked: Walked) -> list[str]:
    return [f"! {in_words(model, move)}" for move in walked.course]


def document(system: str, fault: str, model: Documents, walked: Walked, seconds: float) -> dict[str, object]:
    """The report for programs."""
    return {
        "schema": SCHEMA,
        "system": system,
        "scene": {"drivers": DRIVERS, "documents": DOCUMENTS, "faults": [fault] if fault else []},
        "states": walked.progress.states,
        "transitions": walked.progress.transitions,
        "depth": walked.progress.depth,
        "complete": not walked.bound and not walked.wrong,
        "bound": walked.bound,
        "violations": [{"text": walked.wrong, "course": _course(model, walked)}] if walked.wrong else [],
        "coverage": listed(model.coverage()),
        "elapsed_s": round(seconds, 3),
    }
