"""Transcripts of the fact sheet's transitions, run as data; and what needs no transcript.

In a transcript (tests/helpers/dialogues.py) ``+ FOLDER/NAME TEXT`` is a file, ``? FOLDER: NAMES`` is all that the
folder holds, and ``! COMMAND`` is something that ``Scene`` does.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from engine.core import Ordered
from engine.parts.orders import Leave, StopRun
from engine.protocols.diskqueue.config import IDLE_MOST, DriverConfig
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.operations import Done, List
from engine.protocols.diskqueue.queueviolations import TAKEN, TOUCHED
from engine.sim.disk import SimDisk
from engine.sim.driver import Fate, SimDriver, config
from engine.sim.recovery import SimRecovery
from tests.helpers.dialogues import holds, scenes


class Scene:
    """One disk with the queues src and dst, and the drivers that a transcript names by number."""

    def __init__(self) -> None:
        self.disk = SimDisk("src", "dst")
        self.drivers: dict[str, SimDriver] = {}
        self.fates: dict[tuple[str, int], Fate] = {}
        self.now = 0.0
        self.heard: list[str] = []

    def give(self, line: str) -> None:
        """``FOLDER/NAME TEXT``: a file."""
        place, _, text = line.partition(" ")
        folder, _, file = place.partition("/")
        self.disk.put(folder, file, text.replace("\\t", "\t").replace("\\n", "\n"))

    def shown(self, line: str) -> str:
        """``FOLDER: NAMES``, all of them, in order."""
        folder, _, _ = line.partition(":")
        return " ".join([f"{folder}:", *sorted(self.disk.folders[folder])])

    def do(self, line: str) -> list[str]:
        """Follow a line; what drivers do and say then."""
        self.follow(shlex.split(line))
        heard = self.heard[:]
        self.heard.clear()
        return heard

    def follow(self, words: list[str]) -> None:
        match words:
            case ["fate", id, attempt, fate]:
                self.fates[id, int(attempt)] = fate  # type: ignore[assignment]
            case ["start", number, *changes]:
                settings = dict(change.split("=") for change in changes)
                typed = {name: int(value) if value.isdigit() else value for name, value in settings.items()}
                if "keep_input" in typed:
                    typed["keep_input"] = bool(typed["keep_input"])
                made = config("src", "dst", number, **typed)
                try:
                    driver = SimDriver(
                        self.disk, made, lambda id, attempt: self.fates.get((id, attempt), "done"), self.now
                    )
                except ValueError as error:
                    self.heard.append(f"refused: {error}")
                    return
                driver.said = self.heard
                self.drivers[number] = driver
                self.rest(driver)
            case ["start-only", number]:
                self.drivers[number] = SimDriver(
                    self.disk, config("src", "dst", number), lambda id, attempt: self.fates.get((id, attempt), "done")
                )
                self.drivers[number].said = self.heard
            case ["step", number, count]:
                for _ in range(int(count)):
                    self.drivers[number].step(self.now)
            case ["rest", number]:
                self.rest(self.drivers[number])
            case ["wait", seconds]:
                self.now += float(seconds)
                for driver in self.drivers.values():
                    driver.step(self.now)
                    self.rest(driver)
            case ["wait-only", number, seconds]:
                self.now += float(seconds)
                self.drivers[number].step(self.now)
                self.rest(self.drivers[number])
            case ["leave", number]:
                self.drivers[number].leave(self.now)
            case ["kill", number]:
                self.drivers[number].crash()
            case ["recover", number, *rest]:
                recovery = SimRecovery(self.disk, config("src", "dst", number, keep_input=not rest), self.now)
                recovery.said = self.heard
                while recovery.busy:
                    recovery.step()
            case ["full", switch]:
                self.disk.full = switch == "on"
            case ["forbid", *folders]:
                self.disk.denied = set(folders)
            case ["remove", place]:
                folder, _, name = place.partition("/")
                del self.disk.folders[folder][name]
            case _:
                raise AssertionError(words)

    def rest(self, driver: SimDriver) -> None:
        """Let a driver do everything that needs no time to pass."""
        for _ in range(1000):
            if not driver.busy:
                return
            driver.step(self.now)
        raise AssertionError("it does not come to rest")


@pytest.mark.parametrize(("path", "number"), scenes("diskqueue"))
def test_transcript(path: Path, number: int, rewrite: bool) -> None:
    holds(path, number, Scene, rewrite)


def test_the_idle_back_off_is_10_ms_more_by_100_ms_up_to_5_s() -> None:
    disk = SimDisk("src", "dst")
    driver = SimDriver(disk, config("src", "dst", "1"), lambda id, attempt: "done")
    now, sleeps = 0.0, []
    for _ in range(60):
        while driver.busy:
            driver.step(now)
        sleeps.append(round(driver.wake_at() - now, 3))
        now = driver.wake_at()
        driver.step(now)
    assert sleeps[:4] == [0.01, 0.11, 0.21, 0.31]
    assert sleeps[-1] == IDLE_MOST == 5.0
    assert driver.core.snapshot(now).times.wait == pytest.approx(sum(sleeps), abs=0.1)


def test_oldest_first_by_time_then_name_and_ready_before_failed() -> None:
    disk = SimDisk("src", "dst")
    for name in ("b.failed", "z.ready", "a.ready", "c.ready"):
        disk.put("src", name, name)
    files = disk.folders["src"]
    files["c.ready"] = files["c.ready"]._replace(mtime_ns=files["a.ready"].mtime_ns)
    driver = SimDriver(disk, config("src", "dst", "1"), lambda id, attempt: "done")
    for _ in range(200):
        driver.step(0.0)
    assert [said for said in driver.said if said.startswith("process")] == [
        "process z 1",
        "process a 1",
        "process c 1",
        "process b 2",
    ]


def test_an_answer_to_what_was_not_asked_is_our_own_mistake() -> None:
    driver = Driver(DriverConfig("src", "dst", "1"))
    with pytest.raises(AssertionError, match="not asked"):
        driver.handle(Done(List("elsewhere")), 0.0)


def test_an_order_that_it_does_not_take_raises() -> None:
    driver = Driver(DriverConfig("src", "dst", "1"))
    with pytest.raises(TypeError):
        driver.handle(Ordered(StopRun()), 0.0)
    assert driver.handle(Ordered(Leave()), 0.0) == []


def test_the_snapshot_tells_what_is_in_hand() -> None:
    disk = SimDisk("src", "dst")
    disk.put("src", "x.ready", "x")
    driver = SimDriver(disk, config("src", "dst", "7"), lambda id, attempt: "done")
    while not driver.said or not driver.said[-1].startswith("process"):
        driver.step(1.0)
    view = driver.core.snapshot(1.0)
    assert (view.number, view.phase, view.document, view.attempt) == ("7", "working", "x", 1)
    for _ in range(100):
        driver.step(1.0)
    view = driver.core.snapshot(1.0)
    assert (view.phase, view.document, view.published, view.failed, view.times.docs) == ("idle", "", 1, 0, 1)


def test_whoever_takes_a_document_out_of_a_drivers_hands_is_accused_in_its_log() -> None:
    disk = SimDisk("src", "dst")
    disk.put("src", "a.ready", "text")
    driver = SimDriver(disk, config("src", "dst", "7", log_file="log"), lambda id, attempt: "done")
    while driver.busy and not any(line.startswith("sync") for line in driver.said):
        driver.step(0.0)
    del disk.folders["src"]["a.7.working"]
    while driver.busy:
        driver.step(0.0)
    logs = [line for line in driver.said if line.startswith("log")]
    assert logs[-1].split()[2:6] == ["violation", "1", "0", "a"] and logs[-1].endswith(TOUCHED)


def test_somebody_under_the_same_number_is_accused_with_the_next_document() -> None:
    disk = SimDisk("src", "dst")
    disk.put("src", "a.ready", "text")
    disk.put("src", "b.ready", "text")
    driver = SimDriver(disk, config("src", "dst", "7", log_file="log"), lambda id, attempt: "done")
    while driver.busy and not any(line.startswith("list src") for line in driver.said):
        driver.step(0.0)
    while driver.busy and not any(line.startswith("take") for line in driver.said):
        disk.put("src", "a.7.working", "somebody's")
        driver.step(0.0)
    while driver.busy:
        driver.step(0.0)
    logs = [line for line in driver.said if line.startswith("log")]
    assert [line.split()[2] for line in logs] == ["published", "violation"] and logs[-1].endswith(TAKEN)
