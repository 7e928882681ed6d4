"""The fleet: a line for each process, enter attaches to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.fleet import _store
from engine.catalogue import CATALOGUE
from engine.drive.control.found import Found
from engine.labs.attaching import Around
from engine.labs.fleet import Fleet, Member, Queue
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


def member(name: str, heard: float, pid: int) -> Member:
    queue = Queue("nats://x/y", 1000, 2, "n1", 3, 1)
    return Member(Found(Path("c") / name, "roundrobin", "broker", (), pid), heard, 3, 0, 1200, 7, 88.0, queue=queue)


def test_the_worst_is_on_top_and_enter_attaches_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = FakeLab(1, busy=False)

    nobody = Member(Found(Path("yonder"), "", "", (), 0), lab.at, trouble="which takes keys")

    def look(self: Fleet) -> None:
        self.members = (member("fine", lab.at, 1), member("gone", lab.at - 60, 2), nobody)

    monkeypatch.setattr(Fleet, "open", look)
    monkeypatch.setattr(Around, "lab", lambda self, found: FakeLab(2, busy=False))

    async def scenario(driver: Driver) -> None:
        driver.app.around = Around(tmp_path / "c", CATALOGUE, tmp_path)
        await driver.press("A")
        await driver.tick()
        lines = driver.screen()
        first, second = (next(i for i, line in enumerate(lines) if name in line) for name in ("gone", "fine"))
        assert first < second and "✗ lost" in lines[first] and "● well" in lines[second] and "1.20k" in lines[first]
        assert " roundrobin broker " in lines[first], "whole, on the smallest terminal too"
        assert driver.shows(
            "3, 2 to look at · 3 workers · backlog 1.20k · 88 done/s · nats://x/y: 1.00k wait, 2 brokers · n1 · 2/3"
        )
        await driver.press("home", "down", "enter")
        assert driver.shows("yonder: which takes keys") and driver.shows("never")
        await driver.press("home", "enter")
        await driver.tick()
        assert driver.app.session.name == "gone"

    drive(scenario, tmp_path, lab=lab, size=(120, 24))


def test_a_store_is_told_by_who_shares_it_and_its_leader_or_by_what_is_wrong_with_it() -> None:
    row = member("it", 0.0, 1)

    def told(row: Member) -> tuple[str, str]:
        ((words, ink),) = _store(row, 0.0, 40)
        return words.strip(), ink

    assert row.queue is not None
    assert told(row) == ("2 brokers · n1 · 2/3", "warn")
    assert told(row._replace(queue=row.queue._replace(behind=0))) == ("2 brokers · n1 · 3/3", "label")
    assert told(row._replace(queue=row.queue._replace(leader="", copies=1))) == ("2 brokers · no leader", "bad")
    assert told(row._replace(store="it is full")) == ("it is full", "bad") and told(row._replace(queue=None))[0] == ""
