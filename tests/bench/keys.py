"""What keys cost: the same broker, workers and client over tcp, with CURVE and without, on either lane.

Each with its own processes, client and workers in Python. On the packed lane a message carries many tasks, which
share its encryption.
"""

from __future__ import annotations

from tests.bench.figures import Contend, Run, ranking, ranking_head, rounds, table
from tests.bench.stage import CONSOLE, Settings, Stage

WINDOW = 100
LANES = {"seed": "false", "packed": "true"}
ROLES = {"depot": "broker", "w": "worker", "c": "client"}


def keyed(name: str) -> Settings:
    """The settings of a process whose key this is."""
    return {"security_curve": name, "security_server_key": "depot"}


def contender(stage: Stage, packed: str, keys: bool) -> Contend:
    """A broker and its workers, up and running."""
    lane = {"roundrobin_packed": packed}
    broker, crew, client = ({**lane, **keyed(name)} if keys else lane for name in ROLES)
    endpoint = stage.endpoint("tcp")
    stage.start(*CONSOLE, "broker", "--bind", endpoint, settings=broker)
    stage.start(*CONSOLE, "worker", "--count", "10", "--connect", endpoint, settings=crew)

    def run(n: int) -> Run:
        return stage.bulkping(n, WINDOW, "--connect", endpoint, settings=client)

    return run


def section(quick: bool) -> None:
    """One table."""
    rows = []
    with Stage() as stage:
        for name, role in ROLES.items():
            stage.launch(*CONSOLE, "keys", "new", name, "--role", role).wait()
            stage.launch(*CONSOLE, "keys", "authorize", name).wait()
        for lane, packed in [*LANES.items()][: 1 if quick else None]:
            contenders = {"no keys": contender(stage, packed, False), "CURVE": contender(stage, packed, True)}
            found = rounds(contenders, 0.2 if quick else 1.0, 1000)
            rows += ranking(found, ("no keys",), (lane,))
    table("Keys, own processes, tcp, Python peers, 16 B, window 100", ranking_head(("no keys",), ("lane",)), rows)
