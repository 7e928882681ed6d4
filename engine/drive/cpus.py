"""Which processors this process's threads run on.

Threads of one interpreter take turns anyway; on different processors each turn costs a wake-up across them, nine a
task, on one processor hardly any: twice the throughput for a broker, its workers and a client in one process. So the
engine's own threads share a processor. Task bodies are other programs and keep all processors of this process.
"""

from __future__ import annotations

import os

ALL: frozenset[int] = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
"""The processors of this process when it started; empty where the system does not tell."""


def share_one() -> None:
    """Keep the calling thread on the last of the process's processors, where that can be done."""
    if len(ALL) > 1:
        os.sched_setaffinity(0, {max(ALL)})
