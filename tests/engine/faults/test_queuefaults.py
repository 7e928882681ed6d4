"""Faults of disk queues: each keeps its promises over seeds, and breaks them where the code is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import Refused
from engine.faults.queuefaults import FAULTS, plan, read, targets
from engine.faults.watch import Watch
from engine.labs.queuesandbox import QueueSandbox
from engine.protocols.diskqueue import names, watchdog
from engine.protocols.diskqueue import transitions as move
from engine.protocols.diskqueue.operations import Rename
from engine.protocols.diskqueue.options import Options
from engine.sim.disk import SimDisk
from engine.sim.driver import SimDriver
from tests.helpers.queuestage import busy

LINES = (
    "kill DRIVER",
    "freeze DRIVER 4",
    "crash DRIVER",
    "steal DRIVER",
    "twin DRIVER",
    "clock DRIVER",
    "fail parse",
    "fail values 2",
    "slow output",
    "full 4",
    "deny parse 4",
    "power",
    "watchdog 4",
)


def done(stage: QueueSandbox, line: str) -> Watch:
    """Do it to a driver that is at work, and wait until everything is decided."""
    watch = Watch(stage, plan(stage, line.replace("DRIVER", busy(stage))))
    watch.begin()
    for _ in range(60):
        stage.advance(1.0)
        if watch.done:
            break
    return watch


def broken(watch: Watch) -> list[str]:
    return [one.promise.text for one in watch.results if not one.kept]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_promised_is_kept(line: str, seed: int) -> None:
    with QueueSandbox(seed=seed, options=Options(max_files=4)) as stage:
        watch = done(stage, line)
        assert watch.held and watch.results, (broken(watch), stage.health().dead)
        assert any("balance" in one.promise.text for one in watch.results)


def test_all_faults_are_tried() -> None:
    assert {line.split()[0] for line in LINES} == {fault.name for fault in FAULTS}


def test_a_driver_that_holds_nothing_is_killed_too() -> None:
    with QueueSandbox(feeding=False) as stage:
        stage.advance(1.0)
        watch = Watch(stage, plan(stage, "kill 1"))
        assert "in its hands" not in watch.plan.does and watch.plan.promises[0].within == 1.5
        watch.begin()
        stage.advance(20.0)
        assert watch.held, broken(watch)


# ---- and where the code is wrong ----------------------------------------------------------------------------------


def nobody_recovers(core: Any, event: Any, now: float, out: list[Any]) -> None:
    core._of.pop(event.number)
    for stage in core._stages.values():
        stage.drivers.discard(event.number)


def test_a_watchdog_that_recovers_nothing_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog.Watchdog, "_on_end", nobody_recovers)
    monkeypatch.setattr("engine.sim.queues.Queues._recover", lambda *_: None)
    with QueueSandbox() as stage:
        found = broken(done(stage, "kill DRIVER"))
        assert any("settled" in text for text in found) and any("counts as failed" in text for text in found)
        assert any("published all the same" in text for text in found)


def test_a_document_that_is_lost_breaks_the_books(monkeypatch: pytest.MonkeyPatch) -> None:
    with QueueSandbox() as stage:
        watch = Watch(stage, plan(stage, f"kill {busy(stage)}"))
        watch.begin()
        for files in stage.world.disk.folders.values():
            for name in [name for name in files if name.endswith(".ready")]:
                del files[name]
        stage.advance(16.0)
        assert any("balance" in text for text in broken(watch))


def test_without_its_promise_a_publisher_that_dies_repeats_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "published_by", lambda name, number: None)
    with QueueSandbox() as stage:
        assert "no document fails for it" in broken(done(stage, "crash DRIVER"))


def test_two_drivers_of_one_number_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimDisk, "lock", lambda *_: True)
    with QueueSandbox() as stage:
        found = broken(done(stage, "twin DRIVER"))
        assert any("is taken" in text for text in found)


def test_trouble_that_counts_as_failure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def blames(self: SimDriver, body: Any, now: float) -> None:
        self._writing = body

    def fate(*_: Any) -> str:
        return "failed"

    with QueueSandbox() as stage:
        stage.advance(3.0)
        watch = Watch(stage, plan(stage, "full 4"))
        watch.begin()
        monkeypatch.setattr(SimDriver, "_begin_document", blames)
        stage.world.fate = fate
        stage.advance(30.0)
        assert "no document fails for it" in broken(watch)


def test_a_document_that_is_taken_from_a_frozen_driver_is_seen() -> None:
    with QueueSandbox() as stage:
        number = busy(stage)
        document = stage.view().drivers[[row.number for row in stage.view().drivers].index(number)].document
        watch = Watch(stage, plan(stage, f"freeze {number} 4"))
        watch.begin()
        stage.advance(1.0)
        gone = Rename("/queue-values", names.working(document, number), names.ready(document))
        assert not stage.world.outsider("stranger", gone).error
        stage.advance(20.0)
        assert any("nobody else takes" in text for text in broken(watch))


def test_a_third_attempt_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move, "ATTEMPTS", 3)
    with QueueSandbox() as stage:
        assert any("failed_twice" in text for text in broken(done(stage, "fail parse 2")))


def test_half_an_output_is_seen() -> None:
    with QueueSandbox() as stage:
        watch = Watch(stage, plan(stage, "power 1"))
        watch.begin()
        stage.world.disk.put("/queue-output", "d1.ready", "<<<d1")
        stage.advance(20.0)
        assert "nothing is published that is not complete" in broken(watch)


# ---- lines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kill 77", "no driver '77'; there are values.1, parse.2, parse.3, output.4"),
        ("fail nowhere", "there is no stage nowhere"),
        ("deny nowhere", "no queue 'nowhere'; there are start, values, parse, output"),
        ("slow values", "nobody before values has to wait"),
        ("kill", "kill needs a target: kill DRIVER"),
        ("fail parse 3", "times is a number from 1 to 2"),
        ("nap 3", "no fault 'nap'"),
    ],
)
def test_what_can_not_be_done_is_refused(line: str, words: str) -> None:
    with QueueSandbox(options=Options(max_files=4)) as stage:
        stage.advance(1.0)
        with pytest.raises(Refused, match=words):
            plan(stage, line)


def test_there_is_no_second_watchdog_to_kill() -> None:
    with QueueSandbox(options=Options(max_files=0)) as stage:
        stage.advance(1.0)
        stage.world.kill_watchdog()
        with pytest.raises(Refused, match="none runs"):
            plan(stage, "watchdog")
        with pytest.raises(Refused, match="nobody before output"):
            plan(stage, "slow output")


def test_what_can_be_aimed_at() -> None:
    with QueueSandbox() as stage:
        stage.advance(1.0)
        known = {fault.name: targets(stage, fault) for fault in FAULTS}
        assert known["kill"] == ("values.1", "parse.2", "parse.3", "output.4")
        assert known["fail"] == ("values", "parse", "output") and known["slow"] == ("parse", "output")
        assert known["deny"] == ("start", "values", "parse", "output") and known["full"] == ()
        assert plan(stage, "freeze parse.3").text == "freeze parse.3 10"
    assert read("deny out 3")[1:] == ("out", (3.0,))
