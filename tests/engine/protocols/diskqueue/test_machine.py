"""Every state with every event of the machines of disk queues: which have no row, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Ordered, Started, Woken
from engine.parts.machine import Machine
from engine.parts.orders import Leave
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.machine import DRIVER, ITEM, SEEN, STAGE, Does, Item, On, Runs, Seen
from engine.protocols.diskqueue.operations import Error, Operation, Remove, Rename, Take
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.diskqueue.watchdog import (
    Abort,
    Ended,
    Found,
    KillDriver,
    Looked,
    PauseStage,
    Recovered,
    ResumeStage,
    SetWorkers,
    Watchdog,
)
from engine.sim.disk import FOLDER, SimDisk
from engine.sim.driver import Fate, SimDriver, config
from engine.sim.owners import STRANGER, Access
from tests.helpers.machines import is_quoted

MACHINES = {"ITEM": ITEM, "DRIVER": DRIVER, "SEEN": SEEN, "STAGE": STAGE}

# States, and the events that have a row in them; the others can not happen there.
ROWS = {
    "ITEM": {
        Item.READY: [On.TAKEN, On.LOST, On.CLASH, On.BARRED],
        Item.FAILED: [On.TAKEN, On.LOST, On.CLASH, On.BARRED],
        Item.WORKING: [On.PROCESSED, On.FAILS, On.BACK, On.TAKEN_AWAY, On.DIES],
        Item.PUBLISHING: [On.RENAMED, On.REFUSED, On.DIES],
        Item.PUBLISHED: [],  # it is ready, in the next queue
        Item.FAILED_TWICE: [On.FED],  # its input was not kept
        Item.KEPT: [On.FED, On.RETRIED],
        Item.GONE: [],
    },
    # A driver does one thing at a time, so that only what it does or waits for can happen; the disk can refuse each.
    "DRIVER": {
        Does.STARTING: [On.SETTLED, On.TROUBLE],
        Does.TAKING: [On.INHERITED, On.TAKEN, On.NOTHING, On.FULL, On.DONE, On.QUIT, On.LEAVE, On.TROUBLE],
        Does.IDLE: [On.WAKES],  # an order to leave wakes it
        Does.BLOCKED: [On.WAKES, On.CANCELLED],
        Does.WORKING: [On.PROCESSED, On.FAILS, On.CANCELLED, On.NO_ROOM, On.TROUBLE],
        Does.PUBLISHING: [On.RENAMED, On.REFUSED, On.TROUBLE],
        Does.FAILING: [On.SETTLED, On.TROUBLE],
        Does.ENDED: [],
    },
    "SEEN": {
        Seen.ABSENT: [On.SPAWNED, On.FOUND, On.LOCKS],
        Seen.RUNNING: [On.TOLD, On.KILLED, On.EXITED],
        Seen.LEAVING: [On.TOLD, On.KILLED, On.EXITED],
        Seen.DEAD: [On.ANSWERED],  # no number is used twice
    },
    "STAGE": {
        Runs.RUNNING: [On.DONE, On.VAIN, On.BROKEN, On.PAUSE, On.RESUME, On.WORKERS],
        Runs.PAUSED: [On.DONE, On.VAIN, On.PAUSE, On.RESUME, On.WORKERS],  # its drivers are told to leave at once
        Runs.STOPPED: [On.DONE, On.BROKEN, On.PAUSE, On.RESUME, On.WORKERS],  # for what it did in vain it was stopped
        Runs.DONE: [On.MORE, On.BROKEN, On.PAUSE, On.RESUME, On.WORKERS],
    },
}


@pytest.mark.parametrize("name", MACHINES)
def test_every_state_with_every_event_has_a_row_or_a_reason(name: str) -> None:
    machine = MACHINES[name]
    blank = {state: set(events) for state, events in machine.blank().items()}
    assert blank == {state: set(machine.events) - set(known) for state, known in ROWS[name].items()}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_every_state_is_reached_from_the_first(machine: Machine) -> None:
    reached = {machine.states[0]}
    for _ in machine.states:
        reached |= {row.next for row in machine.rows if row.state in reached}
    assert reached == set(machine.states)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_the_readme_quotes_every_row(machine: Machine) -> None:
    is_quoted("diskqueue", machine)


# ---- whatever comes --------------------------------------------------------------------------------------------------

WALKED = Counter[tuple[str, str]]


def edges(machine: Machine) -> set[tuple[str, str]]:
    return {(edge.state, edge.event) for edge in machine.edges}


def moves(machine: Machine) -> set[tuple[str, str, str]]:
    return {(edge.state, edge.event, edge.next) for edge in machine.edges}


class Life:
    """One driver of a queue into which others write, one of whose disks fails; a seed decides everything."""

    def __init__(self, seed: int, dies: bool = False) -> None:
        self.random = Random(seed)
        self.disk = SimDisk("src", "dst")
        self.disk.access["src"] = self.random.choice([Access(1000, 0o700), Access(0, 0o1777)])
        for id in "abc":
            state = self.random.choice(["ready", "ready", "failed", "kept"])
            self.disk.put("src", names.of(state, id), id, owner=self.random.choice([None, None, STRANGER]))
            if state == "kept" and self.random.random() < 0.5:
                self.disk.put("src", names.ready(id), f"{id} anew")
            elif self.random.random() < 0.2:
                self.disk.put("src", names.failed_twice(id))
                self.disk.put("src", names.kept(id), kind=FOLDER)
        if dies:  # another driver has
            self.disk.put("src", names.working("d", "9"))
            self.disk.signed |= {("src", "9"), ("dst", "9 writing")}
        if self.random.random() < 0.5:
            self.disk.put("src", names.DONE)
        self.disk.meddle = self.meddle
        limits = {"max_files": self.random.choice([0, 0, 1]), "keep_input": self.random.random() < 0.7}
        self.config: DriverConfig = config("src", "dst", "1", quit_file=self.random.choice(["", "own/quit"]), **limits)
        self.disk.folders["own"], self.disk.access["own"] = {}, Access(1000, 0o700)

    def meddle(self, operation: Operation) -> Error:
        if isinstance(operation, Remove) and self.random.random() < 0.2:
            return "denied"
        if self.random.random() > 0.06:
            return ""
        if isinstance(operation, Take | Rename) and self.random.random() < 0.7:
            self.disk.folders[operation.folder].pop(operation.new, None)
            self.disk.put(operation.folder, operation.new, "a stranger's", kind=self.random.choice(["", FOLDER]))
            return ""
        if isinstance(operation, Take | Rename):
            self.disk.folders[operation.folder].pop(operation.name, None)
        return self.random.choice(["", "full"])

    def live(self) -> tuple[WALKED, WALKED]:
        fates: list[Fate] = ["done", "done", "failed", "silent"]
        driver = SimDriver(self.disk, self.config, lambda id, attempt: self.random.choice(fates))
        now = 0.0
        for _ in range(120):
            chance = self.random.random()
            if chance < 0.02:
                driver.leave(now)
            elif chance < 0.03:
                self.disk.put("own", "quit")
            self.disk.full = chance < 0.05 or (self.disk.full and chance < 0.7)
            now = now if driver.busy else max(now, min(driver.wake_at(), now + 60.0))
            driver.step(now)
        view = driver.core.snapshot(now)
        return Counter(dict(view.walked)), Counter(dict(view.documents))


def test_a_driver_has_a_row_for_whatever_comes_and_goes_through_all_of_them() -> None:
    """But for those that only a recoverer or an operator goes through, which test_explain.py tries."""
    drivers: WALKED = Counter()
    documents: WALKED = Counter()
    for seed in range(600):
        driver, items = Life(seed, seed % 4 == 0).live()
        drivers.update(driver)
        documents.update(items)
    assert edges(DRIVER) - drivers.keys() == set()
    others = {(edge.state, edge.event) for edge in ITEM.edges if edge.event.startswith((On.DIES, On.RETRIED))}
    assert edges(ITEM) - documents.keys() - others == set()


@given(st.integers(0, 2**32))
def test_what_a_driver_takes_it_lets_go(seed: int) -> None:
    """Each attempt is counted when it begins and when it ends: at most one is in hand, or stuck there for good."""
    _, items = Life(seed).live()
    held = (Item.WORKING, Item.PUBLISHING)
    taken = sum(items[edge[:2]] for edge in moves(ITEM) if edge[0] not in held and edge[2] in held)
    left = sum(items[edge[:2]] for edge in moves(ITEM) if edge[0] in held and edge[2] not in held)
    stuck = sum(items[edge[:2]] for edge in moves(ITEM) if edge[0] == edge[2] == Item.WORKING)
    assert 0 <= taken - left - stuck <= 1


STAGES = (Stage("a", 2), Stage("b"))
NAMES = st.sampled_from("ab")
NUMBERS = st.integers(1, 6).map(str)
EVENTS = st.one_of(
    st.just(Woken()),
    st.builds(Ended, NUMBERS, st.sampled_from([0, 0, 1, -9, None]), st.booleans(), st.integers(0, 1), st.just("")),
    st.builds(
        Looked,
        st.frozensets(NAMES),
        st.lists(st.tuples(NAMES, NUMBERS), max_size=2).map(tuple),
    ),
    st.builds(Recovered, NAMES, NUMBERS, st.integers(0, 1), st.sampled_from(["", "not ours"])),
    st.one_of(
        st.builds(SetWorkers, NAMES, st.integers(0, 3)),
        st.builds(PauseStage, NAMES),
        st.builds(ResumeStage, NAMES),
        st.builds(KillDriver, NUMBERS),
        st.sampled_from([Leave(), Abort()]),
    ).map(Ordered),
)
OPTIONS = Options(start_failures=2)


def watch(script: Iterable[tuple[float, Any]]) -> tuple[WALKED, WALKED]:
    core, now = Watchdog(STAGES, OPTIONS, first=2), 0.0
    core.handle(Found("1", "a"), now)
    core.handle(Started(), now)
    core.check()
    for seconds, event in script:
        now += seconds
        core.handle(event, now)
        core.check()
    stages: WALKED = Counter()
    for view in core.snapshot(now):
        stages.update(dict(view.walked))
    return Counter(dict(core.walked())), stages


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 40.0]), EVENTS), max_size=40))
def test_a_watchdog_has_a_row_for_whatever_comes(script: list[tuple[float, Any]]) -> None:
    watch(script)


def test_a_watchdog_goes_through_all_rows() -> None:
    random = Random(7)
    seen: WALKED = Counter()
    stages: WALKED = Counter()

    def event() -> Any:
        name, number = random.choice("ab"), str(random.randint(1, 9))
        code = random.choice([0, 0, 1, 1, -9])
        return random.choice(
            [
                Ended(number, code, random.random() < 0.3, random.randint(0, 1), ""),
                Ended(number, 0, True, 0, ""),
                Looked(frozenset(random.choice(["", "a", "b", "ab"])), ((name, number),)),
                Looked(frozenset(), ()),
                Recovered(name, number, 1, random.choice(["", "not ours"])),
                Ordered(random.choice([SetWorkers(name, 2), PauseStage(name), ResumeStage(name), KillDriver(number)])),
                Woken(),
            ]
        )

    cannot = [Looked(frozenset(), ()), Ended("2", 1, False, 0, ""), Ended("1", 1, False, 0, "")]  # both at once
    for into, found in zip((seen, stages), watch((0.0, one) for one in cannot), strict=True):
        into.update(found)
    for _ in range(1000):
        ends = [Ordered(random.choice([Leave(), Abort()])) for _ in range(2)]
        script = [
            (random.choice([0.0, 40.0]), one) for one in [*(event() for _ in range(random.randint(0, 60))), *ends]
        ]
        for into, found in zip((seen, stages), watch(script), strict=True):
            into.update(found)
    assert edges(SEEN) - seen.keys() == set()
    assert edges(STAGE) - stages.keys() == set()
