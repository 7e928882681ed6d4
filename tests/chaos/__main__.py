"""``python -m tests.chaos [--seconds N] [--seed N] [--system S …] [--fault F …]``: every system under its faults.

Status 0 where everything came right in the time that is aimed at, 1 where it did not. After a
fault from which it does not come right at all, a system is started anew.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from datetime import datetime

import zmq

from tests.chaos import diskqueue
from tests.chaos.course import SLACK, Outcome, play
from tests.chaos.faults import faults_of
from tests.chaos.house import DURABLE
from tests.chaos.house import NAMES as SYSTEMS
from tests.chaos.pair import NAME as PAIR
from tests.chaos.table import line, table

NAMES = (*SYSTEMS, DURABLE)
QUEUES = "diskqueue"
DOCUMENTS, FAULTS = 100, 10  # of one round of disk queues


def main() -> int:
    """Play, and print the figures."""
    every = (*NAMES, PAIR, QUEUES)
    faults = sorted({fault for name in (*NAMES, PAIR) for fault in faults_of(name)})
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Faults on real processes and lines.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of all systems together (60)")
    parser.add_argument("--seed", type=int, default=1, help="of faults and their lengths (1)")
    parser.add_argument("--system", action="append", choices=every, help="only this one; may be given again")
    parser.add_argument("--fault", action="append", default=[], help="only this one; may be given again")
    parser.add_argument("--heartbeat", type=float, default=0.5, help="seconds between two heartbeats (0.5)")
    options = parser.parse_args()
    for fault in options.fault:
        if fault not in faults:
            parser.error(f"no such fault: {fault}; there are {', '.join(faults)}")
    known = [name for name in (*NAMES, PAIR) if {*options.fault} <= {*faults_of(name)}]
    systems = options.system or (known if options.fault else every)
    print(heading(options), flush=True)
    outcomes: list[Outcome] = []
    right = True

    def say(outcome: Outcome) -> None:
        outcomes.append(outcome)
        print(line(outcome), flush=True)

    for system in systems:
        seconds = options.seconds / len(systems)
        if system == QUEUES:
            right = queues(options.seed, seconds) and right
        else:
            play(system, options.seed, seconds, options.fault, options.heartbeat, say)
    if outcomes:
        print(f"\n{table(outcomes)}")
    return 0 if right and all(outcome.right and outcome.quick for outcome in outcomes) else 1


def queues(seed: int, seconds: float) -> bool:
    """Rounds of disk queues for so many seconds; whether each document came to one end."""
    if reason := diskqueue.why_not():
        print(f"{QUEUES} is left out: {reason}", flush=True)
        return True
    right, ends = True, time.monotonic() + seconds
    while time.monotonic() < ends:
        figures = diskqueue.play(DOCUMENTS, seed, FAULTS)
        print(f"{QUEUES}, seed {seed}: {'; '.join(str(figures).splitlines())}", flush=True)
        right, seed = right and not figures.wrong, seed + 1
    return right


def heading(options: argparse.Namespace) -> str:
    """What the figures depend on."""
    versions = f"Python {platform.python_version()}, pyzmq {zmq.__version__}, libzmq {zmq.zmq_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    beat = options.heartbeat
    aim = f"aim: well {3 * beat + SLACK:.1f} s after a fault's end, 3 heartbeats of {beat} s + 1 s"
    return f"{datetime.now():%Y-%m-%d %H:%M}, seed {options.seed}; {versions}; {machine}\n{aim}"


if __name__ == "__main__":
    sys.exit(main())
