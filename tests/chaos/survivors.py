"""``python -m tests.chaos.survivors [--tries N] [--system S …]``: of four workers three are killed, and ten tasks come.

All are real processes: a broker, a worker, and a process of three more workers that ends with SIGKILL just before
``roundhouse bulkping 10``. Status 0 where every task of every try was answered.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from engine.catalogue import SYSTEMS
from tests.helpers.processes import Processes, free_endpoint

TASKS = 10


def attempt(folder: Path, system: str) -> Counter[str]:
    """One try, with files in a folder of its own: how many tasks ended how; ``answered``, or the cause."""
    endpoint = free_endpoint()
    with Processes(folder) as processes:
        processes.start("broker", "--system", system, "--bind", endpoint).ready()
        at = ("--system", system, "--connect", endpoint)
        processes.start("worker", *at).ready()
        processes.start("worker", *at, "--count", "3").ready().kill()
        run = processes.run("bulkping", str(TASKS), *at, "--json", "-")
        record = json.loads(run.out)
    return Counter({"answered": record["succeeded"], **record["failed"]})


def main() -> int:
    """Play, and print how the tasks of all tries ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.survivors", description=__doc__)
    parser.add_argument("--tries", type=int, default=10, help="in each system (10)")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="only this one; may be given again")
    options = parser.parse_args()
    right = True
    for system in options.system or SYSTEMS:
        began, ended, whole = time.monotonic(), Counter[str](), 0
        for _ in range(options.tries):
            with tempfile.TemporaryDirectory(prefix="roundhouse-survivors-") as folder:
                one = attempt(Path(folder), system)
            ended += one
            whole += one == Counter(answered=TASKS)
        said = ", ".join(f"{count} {how}" for how, count in ended.most_common())
        print(f"{system}: {whole} of {options.tries} tries whole; {said}; {time.monotonic() - began:.0f} s", flush=True)
        right = right and whole == options.tries
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
