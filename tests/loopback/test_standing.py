"""A lab that runs on, as a service: its log disk is full and its work goes on; metrics and statuses say so."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path

import pytest

from console.cli.asking import chosen, status_at
from console.cli.common import settings_of
from console.cli.standing import watched
from engine.catalogue import SYSTEMS
from engine.drive.control.place import place
from engine.labs.live import LiveLab
from engine.labs.metrics import GAUGES
from engine.parts.bulk import BulkSpec
from tests.helpers.processes import free_endpoint, until
from tests.helpers.served import patient, runtime

ROOT = Path(__file__).parents[2]


def test_the_log_disk_is_full_and_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path)
    monkeypatch.setattr("platformdirs.user_state_path", lambda *_, **__: tmp_path)
    options = Namespace(
        log_file=Path("/dev/full"), log_format="json", metrics="127.0.0.1:0", pid_file=tmp_path / "roundhouse.pid"
    )
    patient(monkeypatch)
    endpoint = free_endpoint()
    with runtime() as folder:
        lab = LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=2, control=folder)
        with lab, watched(lab, "broker", lab.endpoints, settings_of([]), options):
            assert options.pid_file.exists()
            path = chosen(folder, endpoint)
            assert path == place(folder, endpoint)
            until(lambda: "not_written" in [alert["name"] for alert in status_at(path)["alerts"]], "the alarm")
            assert lab.wait_registered(2, 60.0)
            lab.run(BulkSpec("ping", 200, 10, timeout=60.0))
            assert lab.wait_run(60.0) and lab.report()["succeeded"] == 200
            until(lambda: status_at(path)["ledger"]["succeeded"] == 200, "a picture after the run")
            status = status_at(path)
            assert status["totals"]["alive"] == 2
            assert status["unkept"] == ["the log /dev/full can not be written: No space left on device"]
            alarms = [fact for fact in lab.feed.since(0)[0] if "not_written" in fact.text]
            assert len(alarms) == 1
        assert not options.pid_file.exists()


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    board = json.loads((ROOT / "docs/service/grafana.json").read_text())
    texts = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = {name for text in texts for name in re.findall(r"roundhouse_\w+", text)}
    made = {f"roundhouse_{name}" for name, _, _ in GAUGES}
    made |= {f"roundhouse_{name}" for name in ("tasks_total", "workers", "documents", "alerts", "problems")}
    assert asked and asked <= made
