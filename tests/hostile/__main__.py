"""``python -m tests.hostile [--seconds N] [--seed N] [--system S …]``: cores and real sockets told what is wrong.

In each round every role of every system is told some thousand spoilt messages in virtual time, strangers say 20,000 at
each endpoint of a real broker, and 2,000 at its control socket (over ipc and over tcp with keys) and its metrics; of
disk queues, at those of a pipeline. Status 0 where everybody lived and honest peers were served, 1 where not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from datetime import datetime
from itertools import count
from pathlib import Path

from engine.catalogue import SYSTEMS
from tests.helpers.served import runtime
from tests.hostile import desks as desk
from tests.hostile.desks import QUEUES
from tests.hostile.siege import besiege
from tests.hostile.torture import torture

TOLD = 10_000  # messages for each role
SAID = 20_000  # messages at each endpoint
ASKED = 2_000  # at each control socket and metrics
NAMES = (*SYSTEMS, QUEUES)
HEAD = "system | messages | raw connections | refused | grown | honest tasks | balanced | lines of log"


def main() -> int:
    """Rounds until the time is over; the first has every system in it."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description="Messages that nobody should say.")
    parser.add_argument("--seconds", type=float, default=60.0, help="after which no new round begins (60)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round (1)")
    parser.add_argument("--system", action="append", choices=NAMES, help="only this one; may be given again")
    options = parser.parse_args()
    ends, wrong = time.monotonic() + options.seconds, 0
    print(f"{datetime.now():%Y-%m-%d %H:%M}, seed {options.seed}\n| {HEAD} |\n|{' --- |' * (HEAD.count('|') + 1)}")
    for seed in count(options.seed):
        for name in options.system or NAMES:
            wrong += not desks(name, seed)
            pairs = () if name == QUEUES else (False, True) if SYSTEMS[name].paired else (False,)
            wrong += sum(not cores(name, seed, pair) for pair in pairs)
            wrong += sum(not sockets(name, seed, pair) for pair in pairs)
        if time.monotonic() >= ends:
            break
    print(f"{wrong} wrong")
    return 1 if wrong else 0


def desks(name: str, seed: int) -> bool:
    """One process, and a line about its control socket and metrics; whether it stayed right."""
    with runtime() as folder:
        try:
            found = desk.besiege(name, folder, seed, ASKED)
        except AssertionError as error:
            print(f"control and metrics of {name}, seed {seed}: {error}", flush=True)
            return False
    counts = ", ".join(f"{count:,} {what}" for what, count in found.counts.items())
    sent = f"{found.messages:,} messages, {found.connections:,} raw connections"
    rest = f"{counts}; grown by {found.grown / 2**20:.1f} MiB, {found.said} lines of log"
    print(f"control and metrics of {name}: {sent}; {rest} {found.troubles}", flush=True)
    return found.right


def cores(name: str, seed: int, pair: bool) -> bool:
    """Every role in virtual time; whether they stayed right."""
    right = True
    for role in ("broker", "fallback") if pair else ("broker", "worker-0", "client"):
        try:
            torture(name, role, pair, seed, TOLD)
        except Exception as error:
            right = False
            print(
                f"{name}: {role}{' of a pair' * pair}, seed {seed}: {type(error).__name__}: {error}"[:500], flush=True
            )
    return right


def sockets(name: str, seed: int, pair: bool) -> bool:
    """One broker, and its row of the table; whether it stayed right."""
    with tempfile.TemporaryDirectory(prefix="roundhouse-hostile-") as folder:
        try:
            found = besiege(name, Path(folder), seed, SAID, pair)
        except AssertionError as error:
            print(f"{name}{' of a pair' * pair}, seed {seed}: {error}", flush=True)
            return False
    cells = (
        f"{name}{' of a pair' * pair}",
        f"{found.messages:,}",
        f"{found.connections:,}",
        f"{found.refused:,}",
        f"{found.grown / 2**20:.1f} MiB",
        f"{found.succeeded}",
        "yes" if found.balanced else "NO",
        f"{found.said}",
    )
    print(f"| {' | '.join(cells)} | {found.troubles}", flush=True)
    return found.right


if __name__ == "__main__":
    sys.exit(main())
