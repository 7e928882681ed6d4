"""A lab that runs on, as a service: its log disk is full and its work goes on; metrics and statuses say so."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import signal
import socket
import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from console.cli.arguments import read_arguments
from console.cli.asking import chosen, status_at
from console.cli.common import settings_of
from console.cli.roles import DRAIN, FINISH
from console.cli.standing import watched
from engine.catalogue import SYSTEMS
from engine.drive.control.place import place
from engine.labs.live import LiveLab
from engine.labs.metrics import GAUGES
from engine.labs.watcher import STUCK
from engine.parts.bulk import BulkSpec
from tests.helpers.processes import WAIT, Processes, free_endpoint, own_environment, until
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


def test_a_broker_as_a_service(tmp_path: Path) -> None:
    """A service manager hears of it, SIGHUP has its rules read again, its process file is there as long as it is."""
    file, rules = tmp_path / "pid", tmp_path / "config" / "roundhouse" / "alerts.toml"
    endpoint = free_endpoint()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager, runtime() as folder, Processes(tmp_path) as ours:
        manager.bind(str(folder / "notify"))
        manager.settimeout(WAIT)
        told = {"NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "1000000"}
        broker = ours.start("broker", "--bind", endpoint, "--pid-file", str(file), **told).ready()
        wanted = {b"READY=1", b"WATCHDOG=1"}
        while wanted:  # in any order, and alive as often as it is slow
            wanted.discard(manager.recv(100))
        assert file.read_text() == f"{broker.pid}\n"
        rules.parent.mkdir(parents=True, exist_ok=True)
        rules.write_text("[few]\nmeasure = 'workers'\nbelow = 5\nfor = 0\n")
        broker.signal(signal.SIGHUP)
        until(lambda: "alert few" in broker.err, "the alert of the new rule")
        assert broker.alive and "the rules of alerts were read again" in broker.err
        broker.signal(signal.SIGTERM)
        while manager.recv(100) != b"STOPPING=1":
            pass
        assert broker.ended() == 128 + signal.SIGTERM and not file.exists()


def test_the_unit_is_right_and_its_command_is_one() -> None:
    unit = configparser.RawConfigParser()
    unit.read_string((ROOT / "docs/service/roundhouse-broker.service").read_text())
    service = unit["Service"]
    program, *arguments = service["ExecStart"].split()
    assert program.endswith("/roundhouse") and read_arguments(arguments).command == "broker"
    assert (service["Type"], service["KillSignal"]) == ("notify", "SIGTERM")
    assert int(service["SuccessExitStatus"]) == 128 + signal.SIGTERM
    assert int(service["TimeoutStopSec"]) > max(DRAIN, FINISH) and int(service["WatchdogSec"]) > STUCK


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "roundhouse"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environ = {**own_environment(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    command = ["systemd-analyze", "verify", "--user", "--man=no", str(ROOT / "docs/service/roundhouse-broker.service")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=WAIT)
    assert done.returncode == 0 and "roundhouse-broker.service" not in done.stderr, done.stderr


def test_what_the_image_runs_is_a_command() -> None:
    lines = (ROOT / "docs/service/Containerfile").read_text().splitlines()
    said = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    assert json.loads(said["ENTRYPOINT"]) == ["roundhouse"] and said["STOPSIGNAL"] == "SIGTERM"
    assert read_arguments(json.loads(said["CMD"])).command == "broker"
    program, *arguments = said["HEALTHCHECK"].partition(" CMD ")[2].partition(" ||")[0].split()
    assert program == "roundhouse" and read_arguments(arguments).command == "check"
