"""Attached to real processes: a broker and workers under load, killed and started again; queues of a watchdog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import CATALOGUE
from engine.drive.control.found import Found
from engine.errors import Refused
from engine.labs import link
from engine.labs.attaching import Around
from engine.parts.view import WorkerRow
from tests.helpers.processes import WAIT, Processes, free_endpoint, until


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    monkeypatch.setattr(link, "PATIENCE", WAIT)
    with Processes(tmp_path) as started:
        yield started


def around(processes: Processes, readonly: bool = False) -> Around:
    folder = Path(processes.environ["XDG_RUNTIME_DIR"]) / "roundhouse"
    return Around(folder, CATALOGUE, processes.folder / "runs", readonly=readonly)


def attached(processes: Processes, name: str, readonly: bool = False) -> Any:
    """A lab of the process of this name, not opened yet."""
    there = around(processes, readonly)
    found: list[Found] = []

    def named() -> bool:
        with suppress(Refused):
            found.append(there.named(name))
        return bool(found)

    until(named, f"{name} among what runs")
    return there.lab(found[0])


def said(lab: Any, words: str) -> bool:
    return any(words in fact.text for fact in lab.feed.since(0)[0])


def rows(lab: Any) -> list[WorkerRow]:
    return list(lab.feed.picture("broker").workers)


def test_two_viewers_of_a_broker_under_load_come_back_by_themselves_after_its_restart(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = free_endpoint()
    broker = processes.start("broker", "--bind", endpoint).ready()
    for _ in range(2):
        processes.start("worker", "--count", "2", "--connect", endpoint).ready()
    processes.start("bulkping", "1000000", "--rate", "200", "--timeout", "60", "--connect", endpoint)
    until(lambda: sorted(one.role for one in around(processes).found()) == ["broker", "worker", "worker"])
    both = attached(processes, endpoint), attached(processes, endpoint, readonly=True)
    first, second = both
    with first, second:
        until(lambda: all(len(rows(lab)) == 4 for lab in both))
        until(lambda: all(lab.feed.picture("broker").ledger.succeeded > 0 for lab in both))
        with pytest.raises(Refused, match="readonly is set"):
            second.stop_worker(b"x")
        broker.kill()
        until(lambda: first.stale and second.stale)
        monkeypatch.setattr(link, "STALE", WAIT)  # a busy machine may hold up anybody from now on
        assert len(rows(first)) == 4, "the last picture stays"
        processes.start("broker", "--bind", endpoint).ready()
        until(lambda: all(said(lab, "was started anew; it was away for") for lab in both))
        until(lambda: all([row.state == "lost" for row in rows(lab)] == [False] * 4 for lab in both))
        assert not any(lab.health().dead for lab in both)
        victim = rows(first)[0].key
        first.stop_worker(victim)
        until(lambda: victim not in [row.key for row in rows(second) if row.state != "drain"])


def test_a_pipeline_is_ordered_beside_the_watchdog_that_runs_it(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = processes.folder / "q"
    watchdog = processes.start("pipeline", "run", "--root", str(root), "--stage", "a=1:upper")
    until(lambda: [one.role for one in around(processes).found()] == ["pipeline"])
    with attached(processes, str(root)) as lab:
        monkeypatch.setattr(link, "STALE", WAIT)
        until(lambda: len(lab.view().drivers) == 1)
        lab.set_workers("a", 2)
        until(lambda: len(lab.view().drivers) == 2)
        lab.pause_stage("a")
        until(lambda: lab.view().stages[0].state == "paused")
        with pytest.raises(Refused, match="there is no stage b"):
            lab.pause_stage("b")
    assert watchdog.alive
