"""A fleet of the configuration over tcp with keys, as the console and commands see it."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.common import around_of, settings_of
from console.cli.standing import watched
from engine.catalogue import SYSTEMS
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from engine.labs import fleet as module
from engine.labs.fleet import LOST, Fleet, Member
from engine.labs.live import LiveLab
from engine.settings.paths import Paths
from tests.helpers.processes import WAIT, free_endpoint, until
from tests.helpers.served import patient, runtime

SYSTEM_OF = {"depot": "roundrobin", "yard": "pingpong"}


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """The user's folders, with keys of two brokers and of a viewer."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR"):
        monkeypatch.setenv(f"XDG_{name}", str(tmp_path / name.lower()))
    patient(monkeypatch)
    monkeypatch.setattr(module, "EVERY", 0.05)
    monkeypatch.setattr(module, "STALE", 1.0)
    paths = Paths.of_user()
    paths.keys.mkdir(parents=True, mode=0o700)
    for folder in (paths.keys.parent, paths.keys):
        folder.chmod(0o700)
    for name, role in (("depot", "broker"), ("yard", "broker"), ("v1", "viewer")):
        keys.authorize(paths.keys, keys.make(paths.keys, name, role)._replace(secret=""))
    return paths


def test_two_brokers_over_tcp_are_watched_attached_to_and_refuse_a_key_that_is_revoked(
    paths: Paths, capsys: pytest.CaptureFixture[str]
) -> None:
    controls = {name: free_endpoint() for name in SYSTEM_OF}
    paths.config.write_text(
        "".join(
            f'[[fleet]]\nname = "{name}"\nendpoint = "{at}"\ncurve = "v1"\nserver_key = "{name}"\n'
            for name, at in controls.items()
        )
    )
    settings, made = settings_of([]), None
    with ExitStack() as stack, runtime() as folder:
        for name, system in SYSTEM_OF.items():
            at, curve = free_endpoint(), Curve(paths.keys, name, control=controls[name])
            lab = stack.enter_context(
                LiveLab(SYSTEMS[system], bind=(at,), workers=1, control=folder / name, curve=curve, client=False)
            )
            stack.enter_context(watched(lab, "broker", lab.endpoints, settings, Namespace()))
            assert lab.wait_registered(1, WAIT)
        made = Fleet(around_of(settings))
        thread = made.open()
        stack.callback(thread.join, WAIT)
        stack.callback(made.close)

        def line(name: str) -> Member:
            assert made is not None
            return next(member for member in made.members if member.found.name == name)

        until(lambda: len(made.members) == 2)
        for name, system in SYSTEM_OF.items():
            until(lambda name=name: line(name).workers == 1, name)  # type: ignore[misc]
            assert (line(name).found.system, line(name).found.role) == (system, "broker")
        around = around_of(settings)
        with around.lab(around.named("yard")) as seen:
            assert seen.system.name == "pingpong" and len(seen.feed.picture("broker").workers) == 1
        assert main(["status", "depot", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["system"] == "roundrobin"
        assert main(["order", "depot", "pause", "--yes"]) == 2
        assert "may look, and give no orders" in capsys.readouterr().err
        keys.revoke(paths.keys, "v1")
        until(lambda: all(line(name).state(time.monotonic()) == LOST for name in SYSTEM_OF), "both are lost")
        assert line("depot").workers == 1, "its last figures stay"
