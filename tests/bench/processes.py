"""Everything in one process, as ``roundhouse`` runs, beside broker, workers and client in processes of their own.

Both are the installed program with its own peers, ten workers of ten slots, and both pass the same number of tasks.
"""

from __future__ import annotations

from tests.bench.figures import Contend, ranking, ranking_head, rounds, table
from tests.bench.stage import CONSOLE, NONE, Settings, Stage

CREW = {"pool_workers": "10", "pool_slots": "10"}
WINDOWS = (100, 1000)
LANES = {"seed's wire": "false", "packed": "true"}
REFERENCE = "own processes"


def lane_of(packed: str) -> dict[str, str]:
    """The setting that chooses it."""
    return {"roundrobin_packed": packed}


def apart(stage: Stage, packed: str, more: Settings = NONE) -> str:
    """A broker, with ``more`` settings, and ten workers in a process each; where a client finds them."""
    endpoint = stage.endpoint("tcp")
    lane = lane_of(packed)
    stage.start(*CONSOLE, "broker", "--bind", endpoint, settings={**lane, **more})
    stage.start(*CONSOLE, "worker", "--connect", endpoint, "--count", "10", "--slots", "10", settings=lane)
    return endpoint


def pinger(stage: Stage, window: int, more: tuple[str, ...], settings: dict[str, str]) -> Contend:
    """Runs of ours for one cell."""
    return lambda n: stage.bulkping(n, window, *more, settings=settings)


def section(quick: bool) -> None:
    """A table."""
    rows = []
    for lane, packed in LANES.items():
        with Stage() as stage:
            endpoint = apart(stage, packed)
            for window in WINDOWS[:1] if quick else WINDOWS:
                contenders = {
                    "one process": pinger(stage, window, (), CREW | lane_of(packed)),
                    REFERENCE: pinger(stage, window, ("--connect", endpoint), lane_of(packed)),
                }
                found = rounds(contenders, 0.2 if quick else 1.0, 1000)
                rows += ranking(found, (REFERENCE,), (lane, str(window)))
    table(
        "One process and several, our own peers; tcp between processes, inproc inside one",
        ranking_head((REFERENCE,), ("lane", "window")),
        rows,
    )
