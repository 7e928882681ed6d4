"""The packed lane beside libzmq's proxy that passes one frame a task: the least that a message can be.

With C peers on both sides, whose workers have a connection each or share one, and with Python ones: there ours are the
installed program's own client and workers, the proxy's are the plain loops of ``peers.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.bench import brokers
from tests.bench.brokers import Contender, Peers
from tests.bench.figures import ranking, ranking_head, rounds, table
from tests.bench.processes import apart, lane_of, pinger
from tests.bench.stage import CONSOLE, PEERS, Stage

PROXY = "zmq_proxy, one frame"
WINDOWS = (10, 100, 1000)
QUICK = (100,)


class Crew(NamedTuple):
    """Workers in C, of one process. ``shared``: all over one connection, else each has its own."""

    workers: int
    slots: int
    shared: bool = False


SMALL, SMALL_SHARED = "packed, 10 × 10 slots", "packed, 10 × 10 slots, one connection"
LARGE, LARGE_SHARED = "packed, 10 × 100 slots", "packed, 10 × 100 slots, one connection"
CREWS = {
    SMALL: Crew(10, 10),
    SMALL_SHARED: Crew(10, 10, shared=True),
    "packed, 1 × 100 slots": Crew(1, 100),
    LARGE: Crew(10, 100),
    LARGE_SHARED: Crew(10, 100, shared=True),
}


def ours(stage: Stage, peers: Peers, workers: int, slots: int, shared: bool = False) -> Contender:
    """Our broker with C peers on the packed lane."""
    endpoint = stage.endpoint("tcp")
    stage.start(*CONSOLE, "broker", "--bind", endpoint, settings=lane_of("true"))
    crew = stage.start(*peers, "riders" if shared else "packers", endpoint, str(workers), str(slots))

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        return stage.ask(*peers, "packed", endpoint, str(n), str(window), str(brokers.sized(payload)))

    return Contender(ask, lambda: int(stage.end(crew)))


def contenders(stage: Stage, zdrive: Peers) -> dict[str, Contender]:
    """All crews, and the proxy."""
    found = {name: ours(stage, zdrive, *crew) for name, crew in CREWS.items()}
    return found | {PROXY: brokers.proxy(stage, zdrive, "tcp", "one")}


def with_c_peers(quick: bool) -> None:
    """The first table."""
    with Stage() as stage:
        zdrive = stage.c_peers()
        if zdrive is None:
            print("\n  the packed lane with C peers is skipped: no C compiler, or pyzmq does not show its libzmq")
            return
        every = contenders(stage, zdrive) | {"seed's wire": brokers.ours(stage, zdrive, "tcp")}
        rows = []
        with brokers.counted(every) as contend:
            for window in QUICK if quick else WINDOWS:
                entered = {
                    name: run
                    for name, run in contend(window, brokers.PING).items()
                    if name not in CREWS or CREWS[name].workers * CREWS[name].slots <= max(window, 100)
                }
                found = rounds(entered, 0.05 if quick else 1.0, 1000)
                rows += ranking(found, (PROXY,), (str(window),))
    table("Packed lane, own processes, tcp, C peers (zdrive), 16 B", ranking_head((PROXY,), ("window",)), rows)


def with_python_peers(quick: bool) -> None:
    """The second one."""
    rows = []
    with Stage() as stage:
        endpoint = apart(stage, "true")
        proxy = brokers.proxy(stage, PEERS, "tcp", "one")
        with brokers.counted({PROXY: proxy}) as contend:
            for window in QUICK if quick else WINDOWS:
                packed = pinger(stage, window, ("--connect", endpoint), lane_of("true"))
                found = rounds(
                    {"packed": packed, **contend(window, brokers.PING)},
                    0.1 if quick else 1.0,
                    100 if window == 1 else 1000,
                )
                rows += ranking(found, (PROXY,), (str(window),))
    table("Packed lane, own processes, tcp, Python peers, 16 B", ranking_head((PROXY,), ("window",)), rows)


def section(quick: bool) -> None:
    """Both tables."""
    with_c_peers(quick)
    with_python_peers(quick)
