"""Settings come from the user's folders; a lab gets what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.common import around_of, broker_of, fleet_of, known, lab_of, settings_of, system_of
from engine.catalogue import SYSTEMS
from engine.drive.control.dial import Far
from engine.drive.security import keys
from engine.errors import Refused
from engine.settings.settings import Flag
from engine.settings.tomlfile import Wrong


def test_file_environment_and_flags_of_the_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "config" / "roundhouse"
    folder.mkdir(parents=True)
    (folder / "roundhouse.toml").write_text("[pool]\nworkers = 3\nslots = 3\n[roundrobin]\nheartbeat = 7.0\n")
    monkeypatch.setenv("ROUNDHOUSE_POOL_SLOTS", "4")
    settings = settings_of([Flag(("run", "in_flight"), "--in-flight", "5")])
    assert (settings.pool.workers, settings.pool.slots, settings.run.in_flight) == (3, 4, 5)
    assert settings.options["roundrobin"].heartbeat == 7.0
    assert settings.paths.runs == home / "state" / "roundhouse" / "runs"
    with pytest.raises(Wrong, match="--in-flight"):
        settings_of([Flag(("run", "in_flight"), "--in-flight", "x")])


def test_the_fleet_needs_keys_over_tcp_its_own_or_those_of_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = home / "config" / "roundhouse"
    folder.mkdir(parents=True)
    (folder / "roundhouse.toml").write_text(
        """[[fleet]]
        name = "here"
        endpoint = "ipc:///run/x"
        [[fleet]]
        name = "far"
        endpoint = "tcp://hub:6719"
        server_key = "depot"
        """
    )
    fleet = fleet_of(settings_of([]))
    assert fleet["here"]() == Path("/run/x")
    with pytest.raises(Refused, match="far is reached over tcp, which takes keys"):
        fleet["far"]()
    for name, role in {"depot": "broker", "ops": "operator"}.items():
        keys.make(folder / "keys", name, role)
    monkeypatch.setenv("ROUNDHOUSE_SECURITY_CURVE", "ops")
    far = fleet_of(settings_of([]))["far"]()
    assert isinstance(far, Far) and (far.endpoint, far.curve.own.name) == ("tcp://hub:6719", "ops")
    assert list(around_of(settings_of([])).fleet) == ["here", "far"]


def test_a_lab_of_the_system_that_was_asked_for(home: Path) -> None:
    settings = settings_of([])
    lab = lab_of(settings, bind=("tcp://127.0.0.1:7000",), workers=2, readonly=True)
    assert lab.system is SYSTEMS["roundrobin"]
    assert lab.options == known().systems["roundrobin"]()
    assert lab.endpoints == ("tcp://127.0.0.1:7000",)
    assert lab.readonly
    assert lab.runs() == []


def test_the_broker_is_where_one_of_this_users_would_listen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert broker_of(settings_of([])) == SYSTEMS["roundrobin"].endpoint
    assert broker_of(settings_of([Flag(("system",), "--system", "pingpong")])) == SYSTEMS["pingpong"].endpoint
    monkeypatch.setenv("ROUNDHOUSE_ROUNDROBIN_BIND", "tcp://127.0.0.1:7000,tcp://127.0.0.1:7001")
    assert broker_of(settings_of([])) == "tcp://127.0.0.1:7000"


def test_a_system_without_a_broker_is_refused_by_commands_that_need_one(home: Path) -> None:
    settings = settings_of([Flag(("system",), "--system", "diskqueue")])
    for ask in (system_of, broker_of, lab_of):
        with pytest.raises(Refused, match="diskqueue has no broker; its commands are pipeline, drive and feed"):
            ask(settings)


def test_what_listens_nowhere_has_no_bind(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDHOUSE_DISKQUEUE_BIND", "tcp://127.0.0.1:7000")
    with pytest.raises(Wrong, match="ROUNDHOUSE_DISKQUEUE_BIND: no such setting"):
        settings_of([])
