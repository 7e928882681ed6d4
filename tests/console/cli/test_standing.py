"""What runs on is watched, and answers for its status."""

from __future__ import annotations

import json
import socket
from argparse import Namespace
from pathlib import Path

import pytest

from console.cli.common import settings_of
from console.cli.standing import is_service, reload, watched
from engine.settings.tomlfile import Wrong
from tests.helpers.fake_lab import FakeLab


def test_a_lab_is_watched_by_the_users_rules_and_answers(home: Path) -> None:
    settings = settings_of([])
    settings.paths.alerts.parent.mkdir(parents=True)
    settings.paths.alerts.write_text("[few]\nmeasure = 'workers'\nbelow = 5\n")
    lab = FakeLab(2)
    with watched(lab, "broker", lab.endpoints, settings, Namespace()) as watcher:
        word, fields = lab.words["status"]({})
        assert "few" in [alert.rule.name for alert in watcher.alerts()]
    assert word == "status" and json.loads(fields["Status"])["role"] == "broker"


def test_wrong_rules_are_refused_before_it_runs(home: Path) -> None:
    settings = settings_of([])
    settings.paths.alerts.parent.mkdir(parents=True)
    settings.paths.alerts.write_text("[few]\nbelow = 5\n")
    lab = FakeLab(2)
    with pytest.raises(Wrong, match="measure is missing"), watched(lab, "broker", lab.endpoints, settings, Namespace()):
        pass


def test_a_service_manager_hears_that_it_is_ready_alive_and_ends(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_service(Namespace()) and is_service(Namespace(pid_file=Path("x")))
    lab = FakeLab(2)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("notify")
        manager.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", "notify")
        assert is_service(Namespace())
        with watched(lab, "broker", lab.endpoints, settings_of([]), Namespace()):
            wanted = {b"READY=1", b"WATCHDOG=1"}
            while wanted:  # in any order, and alive as often as it is slow
                wanted.discard(manager.recv(100))
        assert b"STOPPING=1" in {manager.recv(100), *_rest(manager)}


def _rest(manager: socket.socket) -> list[bytes]:
    manager.setblocking(False)
    found = []
    try:
        while True:
            found.append(manager.recv(100))
    except BlockingIOError:
        return found


def test_rules_are_read_again_and_wrong_ones_change_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_of([])
    lab = FakeLab(2)
    with watched(lab, "broker", lab.endpoints, settings, Namespace()) as watcher:
        settings.paths.alerts.parent.mkdir(parents=True)
        settings.paths.alerts.write_text("[few]\nmeasure = 'workers'\nbelow = 5\n")
        reload(watcher, settings)
        assert "few" in [alert.rule.name for alert in watcher.alerts()]
        assert "the rules of alerts were read again" in capsys.readouterr().err
        settings.paths.alerts.write_text("[few]\nbelow = 5\n")
        reload(watcher, settings)
        assert "few" in [alert.rule.name for alert in watcher.alerts()]
        assert "measure is missing" in capsys.readouterr().err


def test_events_go_to_a_log_as_well(home: Path, tmp_path: Path) -> None:
    lab = FakeLab(2)
    options = Namespace(log_file=tmp_path / "log", log_format="json")
    with watched(lab, "broker", lab.endpoints, settings_of([]), options):
        lab.fact("something")
    texts = [json.loads(line)["text"] for line in (tmp_path / "log").read_text().splitlines()]
    assert texts[-1] == "something"
