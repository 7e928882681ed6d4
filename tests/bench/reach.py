"""What is aimed at, as ratios in one table. The contenders are those of the other sections.

What is sought depends on what runs: the pure pump, the native one, or compiled cores on top of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import NamedTuple

from engine.drive.pump.chosen import PUMP, cores
from tests.bench import against, brokers, dispatch, packed
from tests.bench.brokers import PING, Contender
from tests.bench.figures import Contend, Run, digits, range_of, ratio, rounds, table
from tests.bench.processes import CREW, lane_of, pinger
from tests.bench.stage import PEERS, ROOT, Stage

Sought = tuple[float, float, float]
"""With the pure pump, with the native one, with compiled cores as well."""


class Goal(NamedTuple):
    """One ratio: the rate of a contender by that of another."""

    name: str
    of: str
    to: str
    sought: Sought


Goals = Mapping[int, tuple[Goal, ...]]
"""By window."""

PROXY, NATS = "zmq_proxy", "nats-py"
WIRE: Goals = {
    window: (Goal(f"seed's wire ÷ zmq_proxy, window {window}", "ours", PROXY, sought),)
    for window, sought in {100: (0.36, 0.50, 0.64), 1000: (0.25, 0.35, 0.45)}.items()
}
SMALL, LARGE = (packed.SMALL, packed.SMALL_SHARED), (packed.LARGE, packed.LARGE_SHARED)
PACKED: Goals = {
    window: tuple(Goal(f"{crew} ÷ one-frame proxy, window {window}", crew, packed.PROXY, sought) for crew in crews)
    for window, crews, sought in ((100, SMALL, (1.0, 1.2, 1.5)), (1000, LARGE, (0.45, 0.5, 0.6)))
}
PYTHON: Goals = {100: (Goal("seed's wire ÷ nats-py, same Python peers, window 100", "ours", NATS, (1.0, 1.3, 1.5)),)}


class Pace(NamedTuple):
    """How long a run takes, about, and how many rounds there are."""

    seconds: float
    rounds: int

    def found(self, contenders: Mapping[str, Contend], first: int = 1000) -> dict[str, list[Run]]:
        """All rounds."""
        return rounds(contenders, self.seconds, first, self.rounds)


QUICK, FULL = Pace(0.1, 3), Pace(1.0, 7)


def section(quick: bool, commit: str | None = None) -> None:
    """The table."""
    pace = QUICK if quick else FULL
    rows = [*c_peers(pace), *python_peers(pace)]
    if commit is None:
        print("\n  one process beside another commit is left out: --against COMMIT names it")
    else:
        rows += one_process(commit, pace)
    title = f"Reach: medians of {pace.rounds} rounds' ratios"
    table(title, ["", "ratio", "range", "sought"], [*rows, *core(pace)])


def row(name: str, of: list[Run], to: list[Run], sought: Sought) -> list[str]:
    """What was reached, and what is sought of what runs here."""
    place = (PUMP.name == "native") + (PUMP.name == "native" and cores() == "compiled")
    return [name, digits(ratio(of, to)), range_of(of, to), digits(sought[place])]


def reached(contenders: Mapping[str, Contender], goals: Goals, pace: Pace) -> Iterator[list[str]]:
    """A row for each goal; in a round are those contenders that its window's goals name."""
    with brokers.counted(dict(contenders)) as contend:
        for window, wanted in goals.items():
            named = {name for goal in wanted for name in (goal.of, goal.to)}
            entered = {name: run for name, run in contend(window, PING).items() if name in named}
            found = pace.found(entered)
            for goal in wanted:
                yield row(goal.name, found[goal.of], found[goal.to], goal.sought)


def c_peers(pace: Pace) -> Iterator[list[str]]:
    """Processes of their own, load from C peers."""
    with Stage() as stage:
        zdrive = stage.c_peers()
        if zdrive is None:
            print("\n  C peers are left out: no C compiler, or pyzmq does not show its libzmq")
            return
        ours = brokers.ours(stage, zdrive, "tcp")
        yield from reached({"ours": ours, PROXY: brokers.proxy(stage, zdrive, "tcp")}, WIRE, pace)
        yield from reached(packed.contenders(stage, zdrive), PACKED, pace)


def python_peers(pace: Pace) -> Iterator[list[str]]:
    """The same with Python peers, beside NATS with its own client library."""
    with Stage() as stage:
        rival = brokers.nats(stage, c=False)
        if isinstance(rival, str):
            print(f"\n  NATS is left out: {rival}")
        else:
            yield from reached({"ours": brokers.ours(stage, PEERS, "tcp"), NATS: rival}, PYTHON, pace)


def one_process(commit: str, pace: Pace) -> Iterator[list[str]]:
    """Everything in one process, beside another commit."""
    with against.checkout(commit) as tree, ExitStack() as stack:
        here, there = (
            pinger(stack.enter_context(Stage(root)), 100, (), CREW | lane_of("false")) for root in (ROOT, tree)
        )
        found = pace.found({"here": here, commit: there})
        yield row(f"one process, seed's wire ÷ {commit}", found["here"], found[commit], (1.1, 2.4, 3.0))


def core(pace: Pace) -> Iterator[list[str]]:
    """The pure core: how much more a task costs with many workers."""
    least, most = min(dispatch.CREWS), max(dispatch.CREWS)
    steps: dict[str, Contend] = {f"{crew}": dispatch.timed(dispatch.with_crew(crew)) for crew in (least, most)}
    found = pace.found(steps, 200)
    yield row(f"core, cost with {most:,} workers ÷ {least}", found[f"{least}"], found[f"{most}"], (1.1, 1.1, 1.1))
