"""What watches over a process: looks, statuses, alerts as events."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.alerts.rules import DEFAULTS, Rule, Rules
from engine.errors import Refused
from engine.files.minutes import minutes_of, path_of
from engine.labs import watcher as watching
from engine.labs.health import Health
from engine.labs.watcher import Watcher, disk_of, of_lab
from engine.parts.view import WorkerView
from tests.helpers.fake_lab import FakeLab
from tests.helpers.fake_queues import FakeQueues
from tests.helpers.processes import until

NONE = Rule("none", "workers", "critical", below=1)


@pytest.fixture
def lab() -> FakeLab:
    return FakeLab(2)


@pytest.fixture
def watcher(lab: FakeLab, tmp_path: Path) -> Iterator[Watcher]:
    watcher = Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path / "state"), Rules((NONE,)))
    yield watcher
    watcher.close()


def texts(lab: FakeLab) -> list[tuple[str, str]]:
    return [(fact.level, fact.text) for fact in lab.feed.since(0)[0] if fact.source == "alerts"]


def test_an_alert_fires_is_acknowledged_and_clears(lab: FakeLab, watcher: Watcher) -> None:
    assert watcher.look(1.0) == []
    lab.workers = []
    lab.publish()
    (change,) = watcher.look(2.0)
    assert change.state == "firing"
    assert texts(lab) == [("bad", "alert none: workers that can take tasks: 0 (below 1)")]
    assert watcher.status(2.0)["alerts"][0]["state"] == "firing"
    watcher.acknowledge("none", 3.0)
    assert watcher.look(4.0) == [] and watcher.status(4.0)["alerts"][0]["state"] == "acknowledged"
    lab.workers = [lab._worker(0, 1)]
    lab.publish()
    watcher.look(5.0)
    assert texts(lab)[-1] == ("good", "alert cleared: none: workers that can take tasks: 1 (below 1)")
    assert watcher.status(5.0)["alerts"] == []


def test_a_status_names_each_worker_and_has_rates(lab: FakeLab, watcher: Watcher, tmp_path: Path) -> None:
    watcher.look(1.0)
    lab.advance(1.0)
    watcher.look(2.0)
    status = watcher.status(2.0)
    assert [worker["name"] for worker in status["workers"]] == [row.name for row in lab.workers]
    assert status["rates"]["seconds"] == 1.0 and status["oldest_s"] is not None
    assert status["disk"]["folder"] == str(tmp_path) and 0 < status["disk"]["free_share"] < 1
    assert status["role"] == "broker" and "pyzmq" in status["versions"]


def test_its_history_is_told_as_the_file_is(lab: FakeLab, tmp_path: Path) -> None:
    source, folder = of_lab(lab, "broker", lab.endpoints, tmp_path), tmp_path / "minutes"
    path = path_of(folder, source.system, source.endpoints)
    watcher = Watcher(source, Rules(()), began=0.0, minutes=folder)
    ask = watcher.words()["minutes"]
    assert ask({}) == ("minutes", {"Data": b""})
    watcher.look(1.0)
    watcher.close()
    told = ask({})[1]["Data"]
    assert told == path.read_bytes() and len(minutes_of(told, time.time())) == 1
    path.unlink()
    path.mkdir()
    with pytest.raises(Refused, match="can not be read"):
        ask({})


def test_other_rules_hold_from_then_on(lab: FakeLab, watcher: Watcher) -> None:
    watcher.reload(Rules((NONE._replace(below=3),)), 1.0)
    assert [change.state for change in watcher.look(2.0)] == ["firing"]
    watcher.silence("none", 60.0, 3.0)
    assert watcher.alerts()[0].state == "silenced"


def test_what_can_not_be_written_is_one_alarm(lab: FakeLab, tmp_path: Path) -> None:
    watcher = Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path), Rules(DEFAULTS))
    lab.unkept = ["the run could not be kept: No space left on device"]
    watcher.look(1.0)
    watcher.look(2.0)
    watcher.close()
    (said,) = texts(lab)
    assert said == ("bad", "alert not_written: things that could not be written to the disk: 1 (above 0)")


def test_looks_that_cost_much_are_seldom_but_not_too_seldom_for_a_service_manager(
    lab: FakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "SHARE", 1e-9)  # the next look but one would be in years
    said: list[bool] = []
    with Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path), Rules(()), said.append, most=0.01):
        until(lambda: len(said) >= 3)


def test_its_thread_looks_and_says_that_it_is_alive(lab: FakeLab, tmp_path: Path) -> None:
    alive: list[bool] = []
    before = set(threading.enumerate())
    with Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path), Rules((NONE,)), alive.append):
        until(lambda: alive)
    assert set(threading.enumerate()) <= before and alive[0]


@pytest.mark.parametrize("stuck", [True, False])
def test_pictures_that_do_not_go_on_are_noticed(
    lab: FakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stuck: bool
) -> None:
    alive: list[bool] = []
    monkeypatch.setattr(watching, "LOOK", 0.0)
    monkeypatch.setattr(watching, "STUCK", 0.0 if stuck else 60.0)
    with Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path), Rules((NONE,)), alive.append):
        until(lambda: len(alive) > 1)
    assert alive[1] is not stuck
    lab.state = Health(("pool: OSError",), 0.0)
    alive.clear()
    with Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path), Rules((NONE,)), alive.append):
        until(lambda: alive)
    assert not alive[0]


def test_disk_queues_are_watched_as_well(tmp_path: Path) -> None:
    lab = FakeQueues()
    watcher = Watcher(of_lab(lab, "pipeline", (lab.root,), tmp_path), Rules(DEFAULTS))
    assert watcher.look(1.0) == []
    status = watcher.status(2.0)
    watcher.close()
    assert status["role"] == "pipeline" and len(status["workers"]) == 6 and status["queues"]


def test_the_workers_of_all_pools_are_those_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = FakeLab(0)
    for name in ("broker", "client"):
        lab.feed.show(name, None)
    monkeypatch.setattr(lab, "pool_pictures", lambda: ("pool", "pool.slow", "pool.none"))
    view = WorkerView(5.0, "working", 10, 3, 40, 4.0, joined=True)
    lab.feed.show("pool", {"w1": view})
    lab.feed.show("pool.slow", {"w2": view})
    watcher = Watcher(of_lab(lab, "worker", lab.endpoints, tmp_path), Rules(()))
    assert [worker["name"] for worker in watcher.status(1.0)["workers"]] == ["w1", "w2"]
    watcher.close()


def test_the_disk_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    disk = disk_of(tmp_path / "not" / "there")
    assert disk is not None and disk.folder == str(tmp_path) and 0 <= disk.free <= disk.total
    assert disk_of(Path("x" * 300)) is None
