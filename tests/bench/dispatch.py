"""What a task costs in the pure core, without sockets: with how many workers, and behind how long a backlog.

``python -m tests.bench.dispatch`` is the child of ``million``: 10⁶ tasks in one broker's backlog, in a process of its
own so that its memory is theirs alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from statistics import median

import psutil

from engine.core import Command, Frames, Received, Send, Started
from engine.drive.collector import collecting
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options
from tests.bench.figures import Run, digits, ratio, rounds, spread, table
from tests.bench.peers import Foul
from tests.bench.stage import PYTHON, Stage

CLIENT = b"tcp://127.0.0.1:6714:1"
CREWS = (10, 1_000, 100_000)
BACKLOGS = (10, 1_000, 1_000_000)
MILLION = 1_000_000
PARTS = 5
BATCH = 64  # messages that a driver hands over at a time
FREE = 10  # workers that are not saturated

Step = Callable[[], None]


class Desk:
    """A broker core with a crew of one slot each, and one client; time stands still."""

    def __init__(self, crew: int, slots: int = 1) -> None:
        self.broker = Broker(Options(max_backlog=20 * MILLION))  # one client may have a tenth of it waiting
        self._ids = count()
        self._ends = count()
        self.broker.handle(Started(), 0.0)
        for i in range(crew):
            join: Frames = [b"worker-%d" % i, *wire.register(b"\x01\0\0\0", slots)]
            spoke: Frames = [join[0], *wire.link_pong(bytes(8))]  # so that it is given tasks at once
            self.broker.handle(Received([join, spoke]), 0.0)

    def task(self) -> Frames:
        """The client's next."""
        return [CLIENT, *wire.ping(next(self._ids).to_bytes(8, "little"), True)]

    def give(self, n: int = 1) -> list[Frames]:
        """n tasks come in; the deliveries that go out."""
        return deliveries(self.broker.handle(Received([self.task() for _ in range(n)]), 0.0))

    def answers(self, delivered: list[Frames]) -> list[Frames]:
        """What the workers say to their deliveries: the reply and the INCREMENT of each."""
        said: list[Frames] = []
        for worker, _, _, _, ident, *_ in delivered:
            said.append([worker, *wire.reply(CLIENT, ident)])
            said.append([worker, *wire.increment(next(self._ends).to_bytes(8, "little")[:4])])
        return said

    def answer(self, delivered: list[Frames]) -> list[Frames]:
        """Those come in; what is delivered thereupon."""
        return deliveries(self.broker.handle(Received(self.answers(delivered)), 0.0))


def deliveries(commands: Sequence[Command]) -> list[Frames]:
    """Of what a broker wants sent, the tasks to workers."""
    return [c.frames for c in commands if isinstance(c, Send) and c.frames[0] != CLIENT and len(c.frames) == 8]


# ---- steady states --------------------------------------------------------------------------------------------------


def with_crew(crew: int) -> Step:
    """All but ten workers are saturated; a step is one task's whole way: in, out, answered, relayed, slot back."""
    desk = Desk(crew)
    for _ in range(max(0, crew - FREE)):
        desk.give()

    def step() -> None:
        delivered = desk.give()
        if len(delivered) != 1 or desk.answer(delivered):
            raise Foul("a task was not delivered once")

    return step


def with_backlog(backlog: int) -> Step:
    """Ten workers, all busy; a step is one task to the end of the backlog and one from its head, all the way."""
    desk = Desk(FREE)
    out = [delivery for _ in range(FREE) for delivery in desk.give()]
    while len(desk.broker.pool.backlog.fresh) < backlog:
        desk.give(BATCH)

    def step() -> None:
        if desk.give():
            raise Foul("a task overtook the backlog")
        out.extend(desk.answer([out.pop(0)]))

    return step


def timed(step: Step) -> Callable[[int], Run]:
    """Steps a second."""

    def run(n: int) -> Run:
        start = time.perf_counter()
        for _ in range(n):
            step()
        return Run(n / (time.perf_counter() - start))

    return run


def growth(title: str, what: str, make: Callable[[int], Step], sizes: tuple[int, ...], seconds: float) -> None:
    """One table: ns a task, and the ratio to the smallest."""
    found = rounds({f"{size:,}": timed(make(size)) for size in sizes}, seconds, 200)
    least = next(iter(found.values()))
    rows = [
        [name, digits(1e9 / median(run.rate for run in runs)), f"{spread(runs):.0%}", digits(ratio(least, runs))]
        for name, runs in found.items()
    ]
    table(title, [what, "ns a task", "spread", f"cost ÷ {next(iter(found))}"], rows)


# ---- a million ------------------------------------------------------------------------------------------------------


def million() -> dict[str, object]:
    """Queue 10⁶ tasks as a driver would hand them over, then let ten workers of ten slots work them off."""
    desk = Desk(0)
    batches = iter(lambda: [desk.task() for _ in range(BATCH)], None)
    before = psutil.Process().memory_info().rss
    stalls: list[float] = []
    enqueue = [_parts(desk, islice(batches, MILLION // BATCH // PARTS), stalls) for _ in range(PARTS)]
    after = psutil.Process().memory_info().rss
    queued = len(desk.broker.pool.backlog.fresh)
    joins = [[b"worker-%d" % i, *wire.register(b"\x01\0\0\0", 10)] for i in range(10)]
    spoke = [[join[0], *wire.link_pong(bytes(8))] for join in joins]  # so that they are given tasks at once
    out = deliveries(desk.broker.handle(Received([*joins, *spoke]), 0.0))
    drain = []
    for _ in range(PARTS):
        spent, done = 0.0, 0
        while out and done < queued // PARTS:
            said = desk.answers(out[:32])
            done += len(said) // 2
            start = time.perf_counter()
            commands = desk.broker.handle(Received(said), 0.0)
            spent += time.perf_counter() - start
            out = out[32:] + deliveries(commands)
        drain.append(done / spent)
    while out:
        out = desk.answer(out)
    ledger = desk.broker.snapshot(0.0).ledger
    if not ledger.balanced or ledger.succeeded != ledger.sent or ledger.sent != queued:
        raise Foul(f"the books of the million are wrong: {ledger}")
    return {"bytes": (after - before) / queued, "enqueue": enqueue, "drain": drain, "stall": max(stalls) * 1e3}


def _parts(desk: Desk, batches: Iterator[list[Frames]], stalls: list[float]) -> float:
    """Tasks a second that were queued."""
    spent, n = 0.0, 0
    for batch in batches:
        start = time.perf_counter()
        desk.broker.handle(Received(batch), 0.0)
        stalls.append(time.perf_counter() - start)
        spent += stalls[-1]
        n += len(batch)
    return n / spent


def section(quick: bool) -> None:
    """Both tables, and the million."""
    crews, backlogs = (CREWS[:2], BACKLOGS[:2]) if quick else (CREWS, BACKLOGS)
    seconds = 0.05 if quick else 1.0
    growth(f"Pure core: workers, all but {FREE} of them saturated", "workers", with_crew, crews, seconds)
    growth("Pure core: tasks in the backlog", "queued", with_backlog, backlogs, seconds)
    if quick:
        return
    with Stage() as stage:
        found = stage.ask(PYTHON, "-m", "tests.bench.dispatch")
    rows = []
    for name in ("enqueue", "drain"):
        rates = found[name]
        rows.append([name, digits(median(rates)), digits(rates[-1] / rates[0])])
    table("Pure core: 10⁶ tasks queued, then worked off; in fifths", ["", "tasks/s", "last ÷ first"], rows)
    print(
        f"  memory {found['bytes']:.0f} B a task; longest stall of one event with {BATCH} tasks {found['stall']:.1f} ms"
    )


if __name__ == "__main__":
    with collecting():  # as every program of ours
        print(json.dumps(million()))
