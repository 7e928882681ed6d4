"""This checkout beside another commit, in turns: what a change did to the throughput.

The commit is checked out into a temporary folder and gets a native pump of its own where it has the source of one. C
peers are this checkout's on both sides; without a C compiler each has its own Python peers.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.bench import brokers, packed
from tests.bench.brokers import PING, Contender
from tests.bench.figures import RUNS, Contend, Run, digits, range_of, ratio, rounds, spread, table
from tests.bench.peers import Foul
from tests.bench.processes import CREW, lane_of, pinger
from tests.bench.stage import PEERS, PYTHON, ROOT, Stage

HERE = "here"
PROXY = "zmq_proxy"
WINDOWS = (100, 1000)
BUILD = (
    "from pathlib import Path; from engine.drive.pump import hook;"
    "at = Path(hook.HERE); hook.compile_pump(at / 'native.c', at / hook.BINARY)"
)
"""Builds the native pump of a checkout."""

Make = Callable[[Stage, brokers.Peers], Contender]


class Case(NamedTuple):
    """What is measured with brokers in processes of their own."""

    name: str
    make: Make
    packed: bool


CASES = (
    Case("seed's wire", lambda stage, peers: brokers.ours(stage, peers, "tcp"), False),
    Case("packed, 10 × 10 slots", lambda stage, peers: packed.ours(stage, peers, brokers.WORKERS, 10), True),
)


def git(*arguments: str) -> str:
    """What git prints. Raises ``Foul`` with its complaint."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Foul(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The folder of a commit, gone afterwards. Raises ``Foul`` where there is none."""
    try:
        named = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except Foul:
        raise Foul(f"no such commit: {commit}") from None
    with tempfile.TemporaryDirectory(prefix="roundhouse-against-") as folder:
        tree = Path(folder, "tree")
        git("worktree", "add", "--detach", "--quiet", str(tree), named)
        try:
            if (tree / "engine/drive/pump/native.c").exists():
                subprocess.run([PYTHON, "-c", BUILD], cwd=tree, capture_output=True, check=False)
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def pump_of(stage: Stage) -> str:
    """Which pump runs in a checkout."""
    asked = "from engine.drive.pump.chosen import PUMP; print(PUMP.name)"
    done = subprocess.run([PYTHON, "-c", asked], cwd=stage.root, env=stage.environ, capture_output=True, check=False)
    return done.stdout.decode().strip() if done.returncode == 0 else "no pump"


def rows_of(found: dict[str, list[Run]], commit: str, lead: list[str]) -> list[list[str]]:
    """A row for each contender; both ratios have the range of the rounds behind them."""
    rows = []
    for name, runs in found.items():
        against = [digits(ratio(runs, found[commit])), range_of(runs, found[commit])]
        to_proxy = [digits(ratio(runs, found[PROXY])), range_of(runs, found[PROXY])] if PROXY in found else ["–", "–"]
        rows.append([*lead, name, digits(median(run.rate for run in runs)), f"{spread(runs):.0%}", *against, *to_proxy])
    return rows


def head(commit: str) -> list[str]:
    """The head of ``rows_of``."""
    return ["", "window", "", "tasks/s", "spread", f"÷ {commit}", "range", f"÷ {PROXY}", "range"]


def apart(trees: dict[str, Path], commit: str, quick: bool) -> list[list[str]]:
    """Brokers in processes of their own, and the proxy."""
    rows = []
    for case in CASES:
        with ExitStack() as stack:
            stages = {name: stack.enter_context(Stage(tree)) for name, tree in trees.items()}
            peers = stages[HERE].c_peers() or PEERS
            if peers == PEERS and case.packed:
                continue  # only the C peers pack
            contenders = {name: case.make(stage, peers) for name, stage in stages.items()}
            contenders[PROXY] = brokers.proxy(stages[HERE], peers, "tcp", "one" if case.packed else "raw")
            with brokers.counted(contenders) as contend:
                for window in WINDOWS[:1] if quick else WINDOWS:
                    found = rounds(contend(window, PING), 0.1 if quick else 1.0, 1000, RUNS)
                    rows += rows_of(found, commit, [case.name, str(window)])
    return rows


def together(trees: dict[str, Path], commit: str, quick: bool) -> list[list[str]]:
    """Everything in one process, as ``roundhouse bulkping`` runs."""
    rows = []
    with ExitStack() as stack:
        stages = {name: stack.enter_context(Stage(tree)) for name, tree in trees.items()}
        for lane, on in (("one process, seed's wire", "false"), ("one process, packed", "true")):
            contenders: dict[str, Contend] = {
                name: pinger(stage, 100, (), CREW | lane_of(on)) for name, stage in stages.items()
            }
            rows += rows_of(rounds(contenders, 0.3 if quick else 1.0, 1000, RUNS), commit, [lane, "100"])
    return rows


def section(commit: str, quick: bool) -> None:
    """The table."""
    with checkout(commit) as tree:
        trees = {HERE: ROOT, commit: tree}
        for name, root in trees.items():
            with Stage(root) as stage:
                print(f"{name}: {pump_of(stage)}")
        rows = apart(trees, commit, quick) + together(trees, commit, quick)
    table(f"This checkout and {commit}, in turns; 16 B, tcp between processes", head(commit), rows)
