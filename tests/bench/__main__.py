"""``python -m tests.bench [--quick] [SECTION … | --against COMMIT]``: how fast, next to what.

Ratios count, other figures are the day's.

Status 0 where everything ran, 1 where a task was lost, came twice or a child failed. No figure ever decides that.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import sysconfig
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

import zmq

from engine.drive.pump.chosen import cores, words
from tests.bench import (
    against,
    attach,
    brokers,
    connections,
    dispatch,
    durable,
    explore,
    idle,
    jetstream,
    keys,
    packed,
    processes,
    reach,
    soak,
    watched,
)
from tests.bench.figures import RUNS
from tests.bench.peers import Foul

SECTIONS: dict[str, Callable[[bool], None]] = {
    "attach": attach.section,
    "brokers": brokers.section,
    "connections": connections.section,
    "dispatch": dispatch.section,
    "durable": durable.section,
    "explore": explore.section,
    "idle": idle.section,
    "jetstream": jetstream.section,
    "keys": keys.section,
    "packed": packed.section,
    "processes": processes.section,
    "screen": watched.section,
}
REACH = "reach"
ASKED: dict[str, Callable[[bool], None]] = {REACH: reach.section, "soak": soak.section}
"""Sections that run only where they are named: one measures again what others do, one lasts minutes."""


def main() -> int:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Benchmarks: medians and ratios.")
    words = f"of {', '.join(SECTIONS)}, which are all by default; and {', '.join(ASKED)}"
    parser.add_argument("sections", metavar="SECTION", nargs="*", help=words)
    parser.add_argument("--quick", action="store_true", help="under a minute: fewer cells, shorter runs")
    words = f"this checkout beside another commit, in turns; alone, or with {REACH}"
    parser.add_argument("--against", metavar="COMMIT", help=words)
    options = parser.parse_args()
    if options.against is not None and options.sections not in ([], [REACH]):
        parser.error(f"--against has a table of its own, and no sections but {REACH}")
    known = SECTIONS | ASKED
    unknown = [name for name in options.sections if name not in known]
    if unknown:
        parser.error(f"no such section: {', '.join(unknown)}")
    began = time.monotonic()
    print(heading())
    sections = {name: known[name] for name in options.sections or SECTIONS}
    if options.against is not None:
        with_commit = partial(reach.section, commit=options.against)
        alone = partial(against.section, options.against)
        sections = {REACH: with_commit} if options.sections else {"against": alone}
    for name, section in sections.items():
        try:
            section(options.quick)
        except Foul as foul:
            sys.stdout.flush()
            print(f"\n{name} failed: {foul}", file=sys.stderr)
            return 1
    print(f"\n{time.monotonic() - began:.0f} s in all; load average {os.getloadavg()[0]:.1f}")
    return 0


def heading() -> str:
    """What the figures depend on."""
    guided = "with" if "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "") else "without"
    python = f"Python {platform.python_version()} {guided} profile-guided optimisation"
    versions = f"{python}, pyzmq {zmq.__version__}, libzmq {zmq.zmq_version()}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    when = f"{datetime.now():%Y-%m-%d %H:%M}"
    how = f"medians of interleaved runs, {RUNS} unless a title says otherwise; ÷ is the median ratio within a round"
    return f"{when}  {versions}\n{machine}\npump: {words()}; cores: {cores()}\n{how}"


if __name__ == "__main__":
    sys.exit(main())
