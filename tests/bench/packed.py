"""The packed lane beside libzmq's proxy that passes one frame a task: the least that a message can be.

With C peers on both sides, and with Python ones: there ours are the installed program's own client and workers, the
proxy's are the plain loops of ``peers.py``.
"""

from __future__ import annotations

from tests.bench import brokers
from tests.bench.brokers import Contender, Peers
from tests.bench.figures import ranking, ranking_head, rounds, table
from tests.bench.processes import apart, lane_of, pinger
from tests.bench.stage import CONSOLE, PEERS, Stage

PROXY = "zmq_proxy, one frame"
WINDOWS = (10, 100, 1000)
QUICK = (100,)


def ours(stage: Stage, peers: Peers, workers: int, slots: int) -> Contender:
    """Our broker with C peers on the packed lane; every worker is a connection of its own."""
    endpoint = stage.endpoint("tcp")
    stage.start(*CONSOLE, "broker", "--bind", endpoint, settings=lane_of("true"))
    crew = stage.start(*peers, "packers", endpoint, str(workers), str(slots))

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        return stage.ask(*peers, "packed", endpoint, str(n), str(window), str(brokers.sized(payload)))

    return Contender(ask, lambda: int(stage.end(crew)))


def with_c_peers(quick: bool) -> None:
    """The first table."""
    with Stage() as stage:
        zdrive = stage.c_peers()
        if zdrive is None:
            print("\n  the packed lane with C peers is skipped: no C compiler, or pyzmq does not show its libzmq")
            return
        contenders = {
            "packed, 10 × 10 slots": ours(stage, zdrive, brokers.WORKERS, 10),
            "packed, 1 × 100 slots": ours(stage, zdrive, 1, 100),
            "seed's wire": brokers.ours(stage, zdrive, "tcp"),
            PROXY: brokers.proxy(stage, zdrive, "tcp", "one"),
        }
        rows = []
        with brokers.counted(contenders) as contend:
            for window in QUICK if quick else WINDOWS:
                found = rounds(contend(window, brokers.PING), 0.05 if quick else 1.0, 1000)
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
