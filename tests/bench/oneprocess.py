"""A broker, its workers and a client as threads of one process, over inproc: the child of a benchmark.

``python -m tests.bench.oneprocess ours|plain|proxy K SLOTS``. Reads lines ``N WINDOW SIZE``, carries out each as a run
and prints its figures as JSON; at the end of its input prints how many tasks the workers did.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from engine.catalogue import SYSTEMS
from engine.drive.node import Node
from engine.drive.sockets import Context, make_context
from engine.feed import Feed
from tests.bench import plain
from tests.bench.peers import Foul, Mode, load, on_thread, proxy, say_ready, workers

ENDPOINT = "inproc://bench"
BACK = "inproc://bench-back"


def start(kind: str, context: Context) -> str:
    """Start a broker on a thread; where its workers connect."""
    ready = threading.Event()
    if kind == "ours":
        node = Node("broker", context, Feed())
        node.start()
        system = SYSTEMS["roundrobin"]
        node.seat("broker", system.broker(system.options(), (ENDPOINT,))).result(5)
        return ENDPOINT
    if kind == "plain":
        on_thread(plain.serve, context, ENDPOINT, ready.set)
    else:
        on_thread(proxy, context, ENDPOINT, BACK, ready.set)
    ready.wait()
    return BACK if kind == "proxy" else ENDPOINT


def main(kind: str, k: int, slots: int) -> int:
    """Serve runs until the input ends."""
    context = make_context()
    endpoint = start(kind, context)
    raw = kind == "proxy"
    mode: Mode = "raw" if raw else "wire"
    halt: list[bool] = []
    done: list[int] = []
    ready = threading.Event()
    crew = on_thread(
        lambda: done.append(workers(context, endpoint, k, 0 if raw else slots, ready.set, halt)),
    )
    ready.wait()
    say_ready()
    for line in sys.stdin:
        n, window, size = map(int, line.split())
        answers: list[Any] = []

        def run(n: int = n, window: int = window, size: int = size, answers: list[Any] = answers) -> None:
            try:
                answers.append(load(context, ENDPOINT, n, window, size, mode))
            except Foul as foul:
                answers.append({"foul": str(foul)})

        on_thread(run).join()
        print(json.dumps(answers[0]), flush=True)
    halt.append(True)
    crew.join()
    print(done[0], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
