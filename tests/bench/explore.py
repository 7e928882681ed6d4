"""How many distinct states the model checker walks in a minute on one core, and what a state costs.

The scene is round robin's usual one with a worker killed at any moment, cut at so many states: the walk of all of it
takes longer, and the rate hardly changes. Time is the processor's, for one thread does it all.
"""

from __future__ import annotations

import time
from statistics import median

from engine.catalogue import SYSTEMS
from engine.sim.explore.model import Model
from engine.sim.explore.scene import Bounds, Scene
from engine.sim.explore.walk import Walk
from tests.bench.figures import RUNS, Run, digits, spread, table

WANTED = 300_000  # states a minute
STATES, FEW = 60_000, 10_000


def section(quick: bool) -> None:
    """A row for the scene without a fault, and one with."""
    rows = []
    most = FEW if quick else STATES
    for faults in ((), ("kill",)):
        runs = [walked(faults, most) for _ in range(2 if quick else RUNS)]
        rate = median(run.rate for run in runs)
        name = ", ".join(faults) or "nothing"
        share = f"{rate * 60 / WANTED:.2f}"
        cost = f"{1e6 / rate:,.0f}"
        rows.append([name, digits(rate * 60), share, cost, f"{spread(runs) * 100:.0f} %"])
    head = ["what goes wrong", "states a minute", f"÷ {WANTED:,}", "µs a state", "spread"]
    table(f"Model checker: round robin, 2 workers, 1 client, 2 tasks, up to {most:,} states", head, rows)


def walked(faults: tuple[str, ...], most: int) -> Run:
    """One walk of so many states."""
    system = next(iter(SYSTEMS.values()))
    scene = Scene(system, faults=faults, bounds=Bounds(states=most))  # type: ignore[arg-type]
    walk = Walk(Model(scene))
    began = time.process_time()
    walk.run()
    return Run(walk.progress.states / (time.process_time() - began))
