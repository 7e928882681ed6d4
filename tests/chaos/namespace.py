"""``python -m tests.chaos.namespace [--tasks N] [--cuts N] [--seconds S]``: F12, the link of all peers is cut.

Broker, workers and client are in a network namespace of their own, whose only link is taken down for some seconds: all
connections stay, nothing passes, and no end hears of it. Says so, with status 0, where this user may make none.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from engine.parts.bulk import BulkSpec
from engine.runs.checker import Event, Recorder
from tests.chaos.children import Children
from tests.chaos.durable import PATIENCE, WINDOW, Course, Figures, settle
from tests.helpers.processes import until

INSIDE = "--inside"
RATE = 400.0  # tasks a second


def may() -> bool:
    """Whether this user may make a network namespace, and take its link down."""
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    tried = ["unshare", "-rn", "ip", "link", "set", "lo", "up"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def link(state: str) -> None:
    """``up`` or ``down``."""
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


def play(tasks: int, cuts: int, seconds: float) -> Figures:
    """One run, inside."""
    figures = Figures(tasks)
    link("up")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        course = Course(Path(name), stack.enter_context(Children(Path(name), {})), 1, False)
        recorder = stack.enter_context(Recorder())
        with course.lab() as client:
            until(lambda: client.wait_linked(0.1), "the client's link")
            began = time.monotonic()
            client.run(BulkSpec("ping", tasks, in_flight=WINDOW, rate=RATE, timeout=PATIENCE))

            def done() -> int:
                view = client.run_view()
                return 0 if view is None else view.ledger.succeeded

            for number in range(1, cuts + 1):
                due = tasks * number // (cuts + 1)
                until(lambda due=due: done() >= due, "the next part of the run")  # type: ignore[misc]
                cut = time.monotonic()
                link("down")
                time.sleep(seconds / 2)
                silent = done()
                time.sleep(seconds / 2)
                if done() > silent:
                    raise RuntimeError("the link was not cut")
                link("up")
                before, back = done(), time.monotonic()
                until(lambda before=before: done() > before or before == tasks, "an answer")  # type: ignore[misc]
                figures.recovered.append(time.monotonic() - back)
                for worker, _ in course.workers:  # what was on its way to them comes late
                    course.events.append(Event(cut, "stopped", worker, said=str(time.monotonic() + seconds)))
            client.wait_run(PATIENCE)
            figures.took = time.monotonic() - began
        settle(course, recorder, figures)
    return figures


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.namespace", description="A link that is cut.")
    parser.add_argument("--tasks", type=int, default=10_000, help="of one run (10000)")
    parser.add_argument("--cuts", type=int, default=3, help="of the link (3)")
    parser.add_argument("--seconds", type=float, default=5.0, help="that each lasts (5)")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        if not may():
            print("skipped: this user may make no network namespace (unshare -rn), or there is no ip")
            return 0
        os.execvp("unshare", ["unshare", "-rn", sys.executable, "-m", "tests.chaos.namespace", *sys.argv[1:], INSIDE])
    figures = play(options.tasks, options.cuts, options.seconds)
    print(f"{options.cuts} cuts of {options.seconds:g} s: {figures}; {'right' if figures.right else 'WRONG'}")
    return 0 if figures.right else 1


if __name__ == "__main__":
    sys.exit(main())
