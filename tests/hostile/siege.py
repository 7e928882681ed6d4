"""A broker in a process of its own with two workers, strangers at all its endpoints, and what it is like afterwards."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import psutil

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from tests.chaos.children import Children
from tests.chaos.house import quick
from tests.helpers.processes import WAIT, free_endpoint, until
from tests.helpers.session import corpus_of, mutators
from tests.hostile.strangers import Strangers

HEARTBEAT = 0.3
HONEST = 200  # tasks of a client afterwards
WORKERS, SLOTS = 2, 4
GROWN = 32 * 2**20  # bytes that strangers may cost a broker for good
LINES = 500  # of its log, likewise


class Siege(NamedTuple):
    """How it went."""

    messages: int
    connections: int
    refused: int  # messages that the broker counted as wrong
    grown: int  # bytes that the broker's process has grown by
    succeeded: int  # of the honest client's tasks
    balanced: bool
    said: int  # lines of its log
    troubles: str

    @property
    def right(self) -> bool:
        """Whether everybody lived, honest peers were served, and nothing grew beyond its bound."""
        served = self.succeeded == HONEST and self.balanced
        return served and not self.troubles and self.grown < GROWN and self.said < LINES


def besiege(name: str, folder: Path, seed: int, messages: int, pair: bool = False) -> Siege:
    """So many messages at each endpoint; raises AssertionError where the workers do not come home afterwards."""
    system, random = SYSTEMS[name], Random(f"{name} {seed}")
    endpoint, options = free_endpoint(), dict(quick(name, HEARTBEAT))
    if pair:
        options["fallback"] = free_endpoint()  # type: ignore[assignment]
    sockets = system.broker(system.options(**options), (endpoint,)).sockets
    of = mutators(system, corpus_of(system, time.time()), random)
    strangers = Strangers(sockets, lambda socket: of("broker", socket), random)
    variables = {f"ROUNDHOUSE_{name}_{key}".upper(): str(value) for key, value in options.items()}
    with Children(folder, variables) as children:
        broker = children.broker(name, endpoint, options)
        process = psutil.Process(broker.pid)
        more = ("--count", str(WORKERS), "--slots", str(SLOTS))
        worker = children.roundhouse("worker", "--system", name, "--connect", endpoint, *more)

        def home() -> bool:
            shown = broker.ask()
            rows = [row for row in shown["workers"] if row[1] != "lost"] if shown else []
            return len(rows) == WORKERS and all(row[1] == "ready" for row in rows)

        until(home, "the workers")
        strangers.all(messages // 4)  # what it keeps once is no growth
        before = process.memory_info().rss
        strangers.all(messages)
        until(lambda: not broker.alive or not worker.alive or home(), "the workers, after the strangers")
        with LiveLab(system, system.options(**options), connect=endpoint, workers=0, broker=False) as lab:
            assert lab.wait_linked(WAIT), "the honest client is not served"
            lab.run(BulkSpec("ping", HONEST, timeout=WAIT))
            lab.wait_run(WAIT)
            succeeded = lab.report()["succeeded"]
        shown = broker.ask()
        counters = shown["counters"] if shown else {}
        refused = sum(counters.get(what, 0) for what in ("violations", "refused requests"))
        troubles = "".join(child.err[-500:] for child in (broker, worker) if not child.alive)
        grown = process.memory_info().rss - before if broker.alive else 0
        balanced = bool(shown and shown["ledger"]["balanced"])
        said = broker.err.count("\n")
    return Siege(strangers.messages, strangers.connections, refused, grown, succeeded, balanced, said, troubles)
