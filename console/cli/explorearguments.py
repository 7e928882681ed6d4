"""The arguments of ``roundhouse explore``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Annotated, Any

from console.cli.parsing import Parser
from console.readers import given, source, target, value
from engine.schema import Misfit, Range, fit

DEPTH = Annotated[int, Range(1, 1_000_000)]
STATES = Annotated[int, Range(1, 100_000_000)]
SECONDS = Annotated[float, Range(0.01, 1_000_000.0, "seconds")]
NONE, POWER = "none", "power"
EACH = ("each",)
"""Every kind alone, and nothing."""


def add_command(command: Callable[..., Parser], *parents: Any) -> None:
    """``explore``."""
    shown = (
        "roundhouse explore",
        "roundhouse explore --faults kill --journal found.journal",
        "roundhouse explore --faults each",
        "roundhouse explore --scene docs/scenes/twice.toml --json report.json",
    )
    words = "walk every order of events of a small scene, and check that no rule is broken"
    parser = command("explore", words, *parents, examples=shown)
    scene = source("the scene, in TOML")
    parser.add_argument("--scene", metavar="FILE", type=scene, help="what to walk (two workers, a client, two tasks)")
    kinds = f"what may go wrong once, at any moment, with commas between them; {NONE} for nothing, {POWER} for a disk,"
    parser.add_argument(
        "--faults", metavar="KINDS", type=faults, help=f"{kinds} {EACH[0]} for every kind alone (those of the scene)"
    )
    parser.add_argument("--depth", metavar="N", type=value(DEPTH), help="most moves from the beginning")
    parser.add_argument("--states", metavar="N", type=value(STATES), help="most states")
    parser.add_argument("--seconds", metavar="T", type=value(SECONDS), help="most seconds that it takes")
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)  # ends with this process
    recording = "record what is found wrong to a new file, for roundhouse replay"
    parser.add_argument("--journal", metavar="FILE", type=target, default=argparse.SUPPRESS, help=recording)


def faults(text: str) -> tuple[str, ...]:
    """Kinds of faults, each known."""
    if given(text).strip() == NONE:
        return ()
    if text.strip() == EACH[0]:
        return EACH
    from engine.sim.explore.scene import Fault

    try:
        return tuple(word if word == POWER else fit(word, Fault) for word in map(str.strip, text.split(",")))
    except Misfit as misfit:
        raise argparse.ArgumentTypeError(str(misfit)) from None
