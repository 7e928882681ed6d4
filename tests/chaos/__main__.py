"""``python -m tests.chaos [--seconds N] [--seed N] [--system S …] [--fault F …]``: every system under its faults.

Status 0 where everything came right in the time that is aimed at, 1 where it did not. After a
fault from which it does not come right at all, a system is started anew.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from datetime import datetime

import zmq

from tests.chaos.course import SLACK, Outcome, play
from tests.chaos.faults import faults_of
from tests.chaos.house import NAMES
from tests.chaos.table import line, table


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Faults on real processes and lines.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of all systems together (60)")
    parser.add_argument("--seed", type=int, default=1, help="of faults and their lengths (1)")
    parser.add_argument("--system", action="append", choices=NAMES, help="only this one; may be given again")
    parser.add_argument("--fault", action="append", default=[], help="only this one; may be given again")
    parser.add_argument("--heartbeat", type=float, default=0.5, help="seconds between two heartbeats (0.5)")
    options = parser.parse_args()
    systems = options.system or list(NAMES)
    for fault in options.fault:
        if fault not in faults_of(NAMES[0]):
            parser.error(f"no such fault: {fault}; there are {', '.join(sorted(faults_of(NAMES[0])))}")
    print(heading(options), flush=True)
    outcomes: list[Outcome] = []

    def say(outcome: Outcome) -> None:
        outcomes.append(outcome)
        print(line(outcome), flush=True)

    for system in systems:
        play(system, options.seed, options.seconds / len(systems), options.fault, options.heartbeat, say)
    print(f"\n{table(outcomes)}")
    return 0 if outcomes and all(outcome.right and outcome.quick for outcome in outcomes) else 1


def heading(options: argparse.Namespace) -> str:
    """What the figures depend on."""
    versions = f"Python {platform.python_version()}, pyzmq {zmq.__version__}, libzmq {zmq.zmq_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    beat = options.heartbeat
    aim = f"aim: well {3 * beat + SLACK:.1f} s after a fault's end, 3 heartbeats of {beat} s + 1 s"
    return f"{datetime.now():%Y-%m-%d %H:%M}, seed {options.seed}; {versions}; {machine}\n{aim}"


if __name__ == "__main__":
    sys.exit(main())
