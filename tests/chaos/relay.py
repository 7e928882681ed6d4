"""``python -m tests.chaos.relay [--documents N] [--kills N] [--seed N]``: a queue goes to another machine, with kills.

A sender and a receiver, each a process, are killed by SIGKILL and started again while documents of all sizes pass. What
is published is taken away at once, as the next stage does. At the end each document has come once, as it was.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from random import Random

from tests.chaos.children import Child, Children
from tests.helpers.natsserver import Server
from tests.helpers.processes import until

SIZES = (0, 100, 10_000, 600_000, 3_000_000)


def play(documents: int, kills: int, seed: int) -> tuple[bool, str]:
    """Whether all is right, and the figures."""
    random, came = Random(seed), dict[str, list[bytes]]()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        source, target = folder / "a", folder / "b"
        source.mkdir()
        target.mkdir()
        url = f"{stack.enter_context(Server(folder / 'nats')).url}/x"
        children = stack.enter_context(Children(folder, {}))
        sums = {}
        for number in range(documents):
            content = random.randbytes(random.choice(SIZES))
            (source / f"{number}.ready").write_bytes(content)
            sums[f"{number}.ready"] = _sum(content)
        (source / "done").touch()
        began = time.monotonic()
        ways = (("relay", str(source), url), ("relay", url, str(target)))
        ends = [children.roundhouse(*way) for way in ways]

        def take() -> int:
            for path in target.glob("*.ready"):
                came.setdefault(path.name, []).append(_sum(path.read_bytes()))
                path.unlink()
            return sum(map(len, came.values()))

        for number in range(1, kills + 1):
            due = documents * number // (kills + 1)
            until(lambda due=due: take() >= due, "the next part")  # type: ignore[misc]
            place = random.randrange(2)
            ends[place].kill()
            ends[place] = children.roundhouse(*ways[place])
        until(lambda: take() >= documents and (target / "done").exists(), "the end")
        until(lambda: not any(map(_lives, ends)), "the end of both")
        take()
        took = time.monotonic() - began
        left = sorted(path.name for path in (*source.iterdir(), *target.iterdir()))
    twice = sum(len(one) > 1 for one in came.values())
    wrong = sum(one[0] != sums.get(name) for name, one in came.items())
    right = came.keys() == sums.keys() and not twice and not wrong and left == [".relay", "done", "done"]
    words = f"{documents} documents, {kills} kills, {len(came)} came, {twice} twice, {wrong} changed, left: {left}"
    return right, f"{words}, {took:.1f} s"


def _lives(child: Child) -> bool:
    return child.alive


def _sum(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.relay", description="Each document comes once.")
    parser.add_argument("--documents", type=int, default=300, help="of one run (300)")
    parser.add_argument("--kills", type=int, default=10, help="of sender or receiver (10)")
    parser.add_argument("--seed", type=int, default=1, help="of sizes, and who is killed (1)")
    options = parser.parse_args()
    right, figures = play(options.documents, options.kills, options.seed)
    print(f"seed {options.seed}: {figures}; {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
