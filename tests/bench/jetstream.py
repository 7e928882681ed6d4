"""Two brokers that share a backlog in NATS JetStream beside one, each with workers of its own.

Each broker has a client of its own, and a client alone sends to the first one: that one puts all tasks and answers all.
Where tasks take no time, the processor of this machine is the limit, which all processes share. Where a task takes its
worker ``SERVICE`` seconds, the limit is the slots of all workers, because each broker leases for its own.

``python -m tests.bench.jetstream ENDPOINT SLOTS SECONDS`` is such a worker.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from tests.bench.figures import Run, range_of, ranking, ranking_head, ratio, rounds, table
from tests.bench.peers import Foul
from tests.bench.stage import CONSOLE, PATIENCE, PYTHON, Child, Stage, run_of
from tests.helpers.natsserver import MISSING, Server, program

ONE, TWO, TWO_BY_ONE = "1 broker", "2 brokers, a client each", "2 brokers, 1 client"
WINDOW = 1000  # of each client
SERVICE = 0.02  # seconds, where the slots are the limit
LIMITS = {"processor": (0.0, 40), "slots": (SERVICE, 10)}  # seconds of a task, slots of each of WORKERS workers
WORKERS = 2  # of each broker


def house(stage: Stage, url: str, brokers: int, service: float, slots: int) -> list[str]:
    """So many brokers with a backlog and their workers; where each is."""
    endpoints = [stage.endpoint("tcp") for _ in range(brokers)]
    for endpoint in endpoints:
        stage.start(*CONSOLE, "broker", "--bind", endpoint, "--backlog", url, "--control", "none")
        stage.start(PYTHON, "-m", "tests.bench.jetstream", endpoint, str(slots), str(service))
    return endpoints


def sender(stage: Stage, url: str, endpoints: list[str]) -> Callable[[int], Run]:
    """Runs of a client at each of these brokers at once, which share the tasks."""

    def contend(n: int) -> Run:
        share = n // len(endpoints)
        command = (*CONSOLE, "bulkping", str(share), "--in-flight", str(WINDOW), "--json", "-", "--backlog", url)
        clients = [stage.launch(*command, "--timeout", "60", "--connect", one) for one in endpoints]
        runs = [_ended(client) for client in clients]
        slowest = min(run.rate for run in runs)
        return Run(slowest * len(runs), max(run.p50 for run in runs), max(run.p99 for run in runs))

    return contend


def _ended(client: Child) -> Run:
    out, _ = client.communicate(timeout=10 * PATIENCE)
    if client.returncode:
        raise Foul(f"a client ended with status {client.returncode}: {out[-500:]}")
    return run_of(json.loads(out))


def section(quick: bool) -> None:
    """A table for each limit."""
    if program() is None:
        print(f"\n  jetstream: {MISSING}")
        return
    for number, (limit, (service, slots)) in enumerate(LIMITS.items()):
        with Stage() as stage, Server(stage.folder / "nats") as server:
            urls = [f"{server.url}/{name}{number}" for name in ("one", "two")]
            alone = house(stage, urls[0], 1, service, slots)
            both = house(stage, urls[1], 2, service, slots)
            contenders = {
                ONE: sender(stage, urls[0], alone),
                TWO: sender(stage, urls[1], both),
                TWO_BY_ONE: sender(stage, urls[1], both[:1]),
            }
            found = rounds(contenders, 0.5 if quick else 2.0, 1000)
        words = f"{WORKERS} workers of {slots} slots at each broker, a task takes them {service * 1e3:g} ms"
        table(f"Limit: {limit}. {words}", ranking_head((ONE,), ()), ranking(found, (ONE,), ()))
        for name in (TWO, TWO_BY_ONE):
            times = f"{ratio(found[name], found[ONE]):.2f} times"
            print(f"  {name}: {times} as many tasks a second as {ONE} ({range_of(found[name], found[ONE])})")


def main() -> None:
    """Work until stdin ends."""
    endpoint, slots, seconds = sys.argv[1:]
    system = SYSTEMS["roundrobin"]
    with LiveLab(
        system, system.options(), connect=endpoint, workers=WORKERS, slots=int(slots), broker=False, client=False
    ) as lab:
        if float(seconds):
            lab.slow(float(seconds))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
