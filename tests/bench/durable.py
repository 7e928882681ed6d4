"""What it costs that a broker keeps what it accepts, and how a store does with a million tasks in it.

The store's file is in the folder of the stage: its disk is what is measured as well.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from statistics import median

import psutil

from engine.core import Entry, Store
from engine.drive.stores.sqlite import Sqlite
from tests.bench import brokers
from tests.bench.brokers import Contender, Peers
from tests.bench.figures import ranking, ranking_head, rounds, table
from tests.bench.processes import apart, lane_of, pinger
from tests.bench.stage import CONSOLE, PEERS, Stage, free_port
from tests.helpers.processes import until

MEMORY = "memory"
WINDOWS = (10, 100, 1000)
QUEUED = 1_000_000
BATCH = 1000


def durable(stage: Stage, peers: Peers) -> Contender:
    """``roundhouse broker`` with a store. These peers' ids are their own, so no outcomes are kept."""
    endpoint = stage.endpoint("tcp")
    return brokers.broker(
        stage,
        peers,
        (*CONSOLE, "broker", "--bind", endpoint, "--backlog", f"sqlite:{stage.folder / 'tasks.sqlite'}"),
        endpoint,
    )


def beside_memory(peers: Peers, stage: Stage, quick: bool) -> list[list[str]]:
    """Rows of a table: a store and none, window by window."""
    contenders = {MEMORY: brokers.ours(stage, peers, "tcp"), "durable": durable(stage, peers)}
    rows: list[list[str]] = []
    with brokers.counted(contenders) as contend:
        for window in WINDOWS[-1:] if quick else WINDOWS:
            found = rounds(contend(window, brokers.PING), 0.2 if quick else 1.0, 1000)
            rows += ranking(found, (MEMORY,), (str(window),))
    return rows


def packed(stage: Stage, quick: bool) -> list[list[str]]:
    """The same on the packed lane, with the installed client: its ids are global, and outcomes are kept."""
    rows: list[list[str]] = []
    keeps = {"roundrobin_backlog": f"sqlite:{stage.folder / 'packed.sqlite'}"}
    plain, kept = apart(stage, "true"), apart(stage, "true", keeps)
    for window in WINDOWS[-1:] if quick else WINDOWS:
        found = rounds(
            {
                MEMORY: pinger(stage, window, ("--connect", plain), lane_of("true")),
                "durable": pinger(stage, window, ("--connect", kept), lane_of("true") | keeps),
            },
            0.2 if quick else 1.0,
            1000,
        )
        rows += ranking(found, (MEMORY,), (str(window),))
    return rows


def million(folder: Path, queued: int) -> list[list[str]]:
    """A store of so many tasks: how long one more takes, how much memory that is, how soon it is open again."""
    process, path = psutil.Process(), folder / "million.sqlite"
    before = process.memory_info().rss
    with closing(Sqlite(path)) as store:
        began, number = time.monotonic(), 0
        while number < queued:
            tasks = [_entry(number + at) for at in range(BATCH)]
            store.perform([Store(1, [], [], tasks, 0)])
            number += BATCH
        filled = time.monotonic() - began
        one = [_timed(store, number + at, 1) for at in range(50)]
        many = [_timed(store, number + 100 + BATCH * at, BATCH) / BATCH for at in range(20)]
        grown = process.memory_info().rss - before
    began = time.monotonic()
    with closing(Sqlite(path)) as store:
        leased = store.perform([Store(1, [], [], [], 1)])[0].leased
        again = time.monotonic() - began
    assert leased
    size = path.stat().st_size
    ready, answered, resident = served(path)
    return [
        ["filled, tasks a second", f"{queued / filled:,.0f}"],
        ["one task more, alone, p50", f"{median(one) * 1e3:.3f} ms"],
        [f"one task more, {BATCH} together, p50", f"{median(many) * 1e3:.4f} ms"],
        ["resident memory grown", f"{grown / 2**20:.1f} MiB"],
        ["file", f"{size / 2**20:.0f} MiB"],
        ["opened, checked, first task leased", f"{again:.2f} s"],
        ["a broker with it: from its start to ready", f"{ready:.2f} s"],
        ["a broker with it: from its start to the 100th task done", f"{answered:.2f} s"],
        ["a broker with it: resident memory then", f"{resident / 2**20:.0f} MiB"],
    ]


def served(path: Path) -> tuple[float, float, int]:
    """Seconds from a broker's start with this store until it is ready, and until tasks of it are done; its bytes.

    The worker waits for the broker; it is started before.
    """
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    words = ("--control", "none")
    joined = subprocess.Popen(
        [*CONSOLE, "worker", "--connect", endpoint, "--count", "1", "--slots", "50", *words], stdin=subprocess.DEVNULL
    )
    broker = None
    try:
        time.sleep(2.0)  # it has started, and asks for its broker
        began = time.monotonic()
        command = [*CONSOLE, "broker", "--bind", endpoint, "--backlog", f"sqlite:{path}", *words]
        broker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert broker.stdout is not None
        broker.stdout.readline()
        ready = time.monotonic() - began
        until(lambda: _done(path) >= 100, "a hundredth task")
        return ready, time.monotonic() - began, psutil.Process(broker.pid).memory_info().rss
    finally:
        for child in (joined, broker):
            if child is not None:
                child.kill()
                child.wait()
        if broker is not None and broker.stdout is not None:
            broker.stdout.close()


def _done(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int((db.execute("SELECT value FROM books WHERE name = 'ended'").fetchone() or (0,))[0])


def synced(folder: Path) -> float:
    """Seconds that this disk takes for one block, median: what no commit can be faster than."""
    times = []
    with open(folder / "synced", "wb", buffering=0) as file:
        for _ in range(50):
            file.write(bytes(4096))
            began = time.monotonic()
            os.fdatasync(file.fileno())
            times.append(time.monotonic() - began)
    return median(times)


def _entry(number: int) -> Entry:
    return Entry(b"tcp://127.0.0.1:6714:123456789012", [b"\x04", number.to_bytes(16, "big"), b"\x01"])


def _timed(store: Sqlite, number: int, n: int) -> float:
    tasks = [_entry(number + at) for at in range(n)]
    began = time.monotonic()
    store.perform([Store(1, [], [], tasks, 0)])
    return time.monotonic() - began


def section(quick: bool) -> None:
    """All tables."""
    head = ranking_head((MEMORY,), ("window",))
    with Stage() as stage:
        zdrive = stage.c_peers()
        if zdrive is not None:
            table("Seed's wire, own processes, tcp, C peers, 16 B", head, beside_memory(zdrive, stage, quick))
    with Stage() as stage:
        table("Seed's wire, own processes, tcp, Python peers, 16 B", head, beside_memory(PEERS, stage, quick))
    with Stage() as stage:
        table("Packed lane, own processes, tcp, the installed client", head, packed(stage, quick))
    with Stage() as stage:
        queued = QUEUED // 10 if quick else QUEUED
        print(f"\n  fdatasync of 4 KiB takes {synced(stage.folder) * 1e3:.2f} ms on this disk")
        table(f"A store with {queued:,} tasks", ("what", "figure"), million(stage.folder, queued))
