"""A simulated pipeline: its watchdog, deaths, recoveries, freezes, twins and power cuts, by the clock of the test."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.parts.orders import Leave
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.operations import Error, Rename, Take, Touch
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage, queue_folder
from engine.protocols.diskqueue.transitions import read_record
from engine.protocols.diskqueue.watchdog import Ended, Recovered, SetWorkers
from engine.sim.disk import KINDS
from engine.sim.queues import NOTICED, Queues, Seat
from tests.helpers.examples import examples

STAGES = (Stage("parse", 2), Stage("output", 1))


class Plant(Queues):
    """Two stages; ``history`` holds everything that everybody was told."""

    def __init__(self, seed: int = 0, documents: int = 4, **options: Any) -> None:
        super().__init__(STAGES, Options(**options), seed, 1000.0)
        self.history: list[tuple[str, float, Any, list[Any]]] = []
        self.watchers.append(lambda node, name, now, event, commands: self.tell(name, now, event, commands))
        self.watch()
        for number in range(documents):
            assert self.feed(f"d{number}", f"d{number}")

    def tell(self, name: str, now: float, event: Any, commands: Any) -> None:
        self.history.append((name, now, event, list(commands)))

    def run(self, until: float) -> None:
        while self.step(until):
            pass

    def holder(self) -> str:
        """The number of a driver of the first stage that is at work."""
        while True:
            for number, seat in self.seats.items():
                if seat.stage == "parse" and seat.driver.writes:
                    return number
            assert self.step(60.0)

    def heard(self, kind: type) -> list[Any]:
        return [event for _, _, event, _ in self.history if isinstance(event, kind)]

    def published(self) -> int:
        return sum(name.endswith(".ready") for name in self.listing("output"))


def test_documents_run_through_and_one_seed_is_one_history() -> None:
    plants = [Plant(7), Plant(7), Plant(8)]
    for plant in plants:
        plant.run(10.0)
        assert plant.published() == 4 and sorted(plant.seats) == ["1", "2", "3"]
    assert plants[0].history == plants[1].history != plants[2].history
    assert plants[0].disk.text("/queue-output", "d0.ready") == "<<d0>>"


def test_the_end_runs_down_the_pipeline() -> None:
    plant = Plant()
    plant.disk.put("/queue-start", names.DONE)
    plant.run(30.0)
    assert plant.published() == 4 and not plant.seats and plant.watchdog is None
    assert [event.code for event in plant.heard(Ended)] == [0, 0, 0]
    plant.order(Leave())
    plant.run(31.0)
    assert len(plant.heard(Ended)) == 3


def test_who_is_killed_is_recovered_from_and_replaced() -> None:
    plant = Plant()
    number = plant.holder()
    document = plant.seats[number].driver.core.snapshot(plant.now).document
    plant.kill(number)
    plant.run(plant.now + NOTICED + 0.1)
    assert [(event.number, event.code) for event in plant.heard(Ended)] == [(number, -9)]
    (settled,) = plant.heard(Recovered)
    assert (settled.number, settled.documents) == (number, 1)
    record = read_record(plant.disk.text("/queue-start", names.attempts(document)))
    assert [(line.what, line.attempt, line.number) for line in record] == [("fail", 1, number)]
    assert record[0].at > 1000.0  # by the wall clock
    plant.run(plant.now + 10.0)
    assert number not in plant.seats and len(plant.seats) == 3 and plant.published() == 4


def test_who_is_frozen_keeps_its_document_and_its_number() -> None:
    plant = Plant()
    number = plant.holder()
    document = plant.seats[number].driver.core.snapshot(plant.now).document
    plant.freeze(number, 5.0)
    plant.freeze(number, 50.0)  # it is stopped already
    plant.run(plant.now + 4.9)
    assert names.working(document, number) in plant.listing("start") and number in plant.seats
    plant.twin(number)
    assert plant.history[-1][0] == "twin" and "another driver works under number" in plant.history[-1][3][0].text
    plant.run(plant.now + 5.0)
    assert plant.published() == 4 and not plant.heard(Ended)


def test_drivers_outlive_their_watchdog_and_are_adopted() -> None:
    plant = Plant()
    plant.run(0.5)
    plant.kill_watchdog()
    plant.kill("2")
    plant.order(Leave())  # nobody hears it
    plant.run(3.0)
    assert sorted(plant.seats) == ["1", "3"] and not plant.heard(Ended)
    plant.watch()
    plant.watch()
    plant.run(10.0)
    assert sorted(plant.seats) == ["1", "3", "4"] and plant.published() == 4
    assert not plant.heard(Recovered), "another driver had settled what it held"


def test_a_watchdog_that_dies_while_it_recovers_leaves_that_to_the_next() -> None:
    plant = Plant()
    plant.kill(plant.holder())
    while not any(name == "recovery" for name, *_ in plant.history):
        assert plant.step(60.0)
    plant.kill_watchdog()
    plant.watch()
    plant.run(10.0)
    assert plant.published() == 4 and sorted(plant.seats) == ["2", "3", "4"]


def test_a_clock_that_jumps_wakes_and_breaks_nothing() -> None:
    plant = Plant()
    plant.skew(plant.holder(), 100.0)
    plant.run(10.0)
    assert plant.published() == 4 and not plant.heard(Ended)


def test_after_a_power_cut_everything_is_complete() -> None:
    plant = Plant()
    plant.holder()
    plant.cut_power()
    assert not plant.seats and plant.watchdog is None
    plant.watch()
    plant.run(15.0)
    assert plant.published() == 4
    assert {plant.disk.text("/queue-output", f"d{n}.ready") for n in range(4)} == {f"<<d{n}>>" for n in range(4)}


def test_a_recoverer_waits_for_a_disk_in_trouble() -> None:
    plant = Plant()
    plant.kill(plant.holder())
    plant.disk.denied.add("/queue-start")
    plant.run(5.0)
    assert not plant.heard(Recovered)
    plant.disk.denied.clear()
    plant.run(15.0)
    assert plant.published() == 4


def test_somebody_may_be_quicker_and_what_others_hold_is_left_alone() -> None:
    plant = Plant()

    def quicker(seat: Seat, command: Any) -> bool:
        if isinstance(command, Take) and seat.stage == "parse" and command.name == "d0.ready":
            plant.outsider("stranger", Rename("/queue-start", "d0.ready", names.working("d0", "900")))
        return False

    plant.before.append(quicker)
    plant.run(10.0)
    assert plant.published() == 3 and "d0.900.working" in plant.listing("start")
    assert plant.heard(Recovered) == [Recovered("parse", "900", 0, "another program holds them")] * len(
        plant.heard(Recovered)
    )


def test_orders_and_a_slow_stage() -> None:
    plant = Plant(max_files=2, documents=8)
    plant.pace["output"] = 20.0
    plant.order(SetWorkers("parse", 1))
    plant.run(12.0)
    assert plant.watchdog is not None
    assert [view.wanted for view in plant.watchdog.snapshot(plant.now)] == [1, 1]
    assert sum(name.endswith(".ready") for name in plant.listing("parse")) <= 2 and plant.published() <= 2


def test_a_feeder_that_is_not_let_is_told() -> None:
    plant = Plant(documents=0)
    plant.disk.full = True
    assert not plant.feed("d", "d") and not plant.listing("start")
    plant.disk.full, plant.disk.denied = False, {"/queue-start"}
    assert not plant.feed("d", "d") and not plant.listing("start")


@examples(25)
@given(seed=st.integers(0, 2**32))
def test_whatever_stands_in_the_queues_a_pipeline_ends_and_starts_no_driver_without_end(seed: int) -> None:
    """Somebody plants links, FIFOs, folders and more, for a minute, anywhere; then what is in the way is cleared."""
    plant, random = Plant(seed), Random(seed)
    disk = plant.disk
    disk.put("/queue-start", names.DONE)
    taken: list[str] = []
    left = [12]

    def meddle(operation: Any) -> Error:
        name, folder = getattr(operation, "name", ""), getattr(operation, "folder", "")
        if not left[0] or not name or folder not in disk.folders or random.random() < 0.9 or name == names.DONE:
            return ""
        left[0] -= 1
        name = random.choice([name, getattr(operation, "new", name), f"e{left[0]}.ready", f"f{left[0]}.7.working"])
        if (file := disk.folders[folder].pop(name, None)) is not None and not file.kind:
            taken.append(file.content.strip("<>"))
        disk.put(folder, name, kind=random.choice(KINDS))
        return ""

    disk.meddle = meddle
    plant.run(60.0)
    disk.meddle = lambda operation: ""
    for files in disk.folders.values():
        for name in [name for name, file in files.items() if file.kind]:
            del files[name]
    plant.run(400.0)
    assert plant.watchdog is None, "it came to its end"
    assert len(plant.heard(Ended)) < 40
    texts = {file.content.strip("<>") for files in disk.folders.values() for file in files.values()}
    assert {f"d{number}" for number in range(4)} <= texts | set(taken)


@pytest.mark.parametrize(
    "stages",
    [(Stage("output", 3),), (Stage("values", 1), Stage("parse", 3), Stage("output", 2))],
    ids=["one input queue and one output queue", "four queues with specialised workers"],
)
def test_the_seeds_configurations_run_to_their_end(stages: tuple[Stage, ...]) -> None:
    world, most = Queues(stages, Options(), 7, 1000.0), Counter[str]()
    world.watch()
    for number in range(12):
        assert world.feed(f"doc{number}", "text")
    world.outsider("feeder", Touch(queue_folder("", "start"), "done"))
    while world.watchdog is not None and world.step(600.0):
        for stage, count in Counter(seat.stage for seat in world.seats.values()).items():
            most[stage] = max(most[stage], count)
    assert most == {stage.name: stage.workers for stage in stages}
    assert sorted(world.listing(stages[-1].name)) == sorted([*(f"doc{number}.ready" for number in range(12)), "done"])
    assert all(world.listing(queue) == ("done",) for queue in world.queues[:-1])
