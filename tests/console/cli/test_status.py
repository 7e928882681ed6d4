"""``roundhouse status``: a picture for people, or JSON."""

from __future__ import annotations

import csv
import io
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.__main__ import main
from console.cli import status as module
from console.cli.asking import status_at
from console.cli.status import REASONS, picture, table
from tests.helpers.fake_lab import FakeLab
from tests.helpers.served import patient, runtime, served
from tests.helpers.statuses import CONTROL, a_queue_status, a_status

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    patient(monkeypatch)
    with runtime() as folder:
        monkeypatch.setattr("platformdirs.user_runtime_path", lambda *_, **__: folder)
        yield folder


def test_a_running_process_says_how_it_is(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    lab = FakeLab(2)
    with served(folder, lab):
        assert main(["status", lab.endpoints[0]]) == 0
        assert "workers    2 of 2 alive" in capsys.readouterr().out
        assert main(["status", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["schema"] == "roundhouse.status/1"
        assert main(["status", "--json", str(tmp_path / "s.json")]) == 0
        assert json.loads((tmp_path / "s.json").read_text())["totals"]["workers"] == 2
    assert main(["status"]) == 2
    assert "nothing of roundhouse runs here" in capsys.readouterr().err


def test_watch_goes_on_until_a_signal(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(module, "EVERY", 0.0)
    lab = FakeLab(2)
    looks: list[Any] = []
    ask = status_at

    def look(path: Path) -> dict[str, Any]:
        looks.append(path)
        if len(looks) == 3:
            signal.raise_signal(signal.SIGTERM)
        return ask(path)

    monkeypatch.setattr(module, "status_at", look)
    with served(folder, lab):
        assert main(["status", "--watch"]) == 143
    assert capsys.readouterr().out.count("workers    2 of 2 alive") == 3


def test_the_picture_of_a_broker() -> None:
    alert = {"name": "x", "severity": "critical", "state": "firing", "text": "it \x1b[2J"}
    rates = {"seconds": 60.0, "done_per_s": 1234.0, "failed_share": 0.0, "done_seconds": 5.0}
    health = {"dead": ["pool: OSError"], "loop_lag_s": 0.0, "failed": 0}
    ledger = {**a_status()["ledger"], "balanced": False}
    lines = picture(
        a_status(30, alerts=[alert], rates=rates, health=health, unkept=["the run"], ledger=ledger, serving=False)
    )
    for words in (
        "stands by", "alert      critical firing: it ·[2J", "1.23k done a second over the last 5 s",
        "dead       pool: OSError",
        "unwritten  the run", "THE LEDGER DOES NOT BALANCE", "  and 10 more",
    ):  # fmt: skip
        assert words in lines


def test_the_picture_of_a_store_says_what_is_wrong_with_it() -> None:
    store = {"tasks": 7, "waiting": 2, "trouble": ""}
    assert "store      7 tasks kept, 2 of them not loaded\n" in picture(a_status(store=store))
    assert "loaded; TROUBLE: it is full\n" in picture(a_status(store={**store, "trouble": "it is full"}))
    assert "store " not in picture(a_status())


def test_the_picture_says_who_looks_and_who_was_refused() -> None:
    lines = picture(a_status(control=CONTROL))
    counts = "2 viewers, 5 orders, 1 refused, 0 failed, 3 answers not taken; 1,200 requests in all"
    assert f"control    {counts}\n" in lines
    assert "malformed  requests: 4 of another version\n" in lines
    assert "refused    connections: 6 without a key that may\n" in lines
    assert "control " not in picture(a_status())
    assert {*CONTROL["malformed"], *CONTROL["connections"]} == {*REASONS}


def test_the_picture_of_disk_queues() -> None:
    lines = picture(a_queue_status(oldest_s=75.0))
    assert "queue      start: 12 ready, 1 working, 0 failed twice" in lines
    assert "15 in the backlog (the oldest for 75s), 3 in flight" in lines


def test_a_list_as_csv(folder: Path, capsys: Capture) -> None:
    lab = FakeLab(2)
    lab.replace(0, name="=cmd|x\x1b")
    lab.publish()
    with served(folder, lab):
        assert main(["status", "--csv", "workers"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert [row["name"] for row in rows] == ["'=cmd|x·", lab.workers[1].name]
        assert rows[1]["slots"] == str(lab.workers[1].slots) and rows[1]["key"] == lab.workers[1].key.hex()
        assert main(["status", "--csv", "queues"]) == 0
    assert table({"clients": [{"name": "client", "run": {"n": 1}}, {"name": "b", "late": None}]}, "clients") == (
        'name,run,late\nclient,"{""n"": 1}",\nb,,\n'
    )
