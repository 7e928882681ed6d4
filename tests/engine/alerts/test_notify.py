"""Others are told that an alert fires: a command, a webhook, and what happens where that fails."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from engine.alerts import notify
from engine.alerts.notify import TRIES, Notifier
from engine.alerts.rules import Notify, Rule
from engine.alerts.watch import Change
from engine.core import Note
from tests.helpers.processes import until

CHANGE = Change(Rule("backlog", "backlog", "critical", above=100), "pending", "firing", 500.0)
ENDPOINTS = ("tcp://127.0.0.1:6714",)
SAVE = "import os, sys; open(sys.argv[1], 'w').write(os.environ['ALERT_NAME'] + chr(10) + sys.stdin.read())"


class Hook(BaseHTTPRequestHandler):
    """Fails as often as ``failing`` says, then takes what comes."""

    failing = 0
    came: list[dict[str, object]] = []  # noqa: RUF012 - of the one test that uses it

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if type(self).failing:
            type(self).failing -= 1
            self.send_error(503)
            return
        self.came.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def hook() -> Iterator[str]:
    Hook.came.clear()
    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alerts"
        server.shutdown()
        thread.join()


def test_a_command_gets_the_alert(tmp_path: Path) -> None:
    said: list[Note] = []
    path = tmp_path / "told"
    notifier = Notifier(Notify((sys.executable, "-c", SAVE, str(path))), said.append)
    notifier.fired("roundrobin", ENDPOINTS, CHANGE)
    until(lambda: path.exists() and path.read_text().endswith("}"))
    notifier.close()
    name, _, body = path.read_text().partition("\n")
    told = json.loads(body)
    assert name == "backlog" and told["schema"] == "roundhouse.alert/1" and told["endpoints"] == list(ENDPOINTS)
    assert told["text"] == "backlog: tasks in the backlog: 500 (above 100)" and told["severity"] == "critical"
    assert said == []


def test_a_webhook_is_tried_again(hook: str) -> None:
    said: list[Note] = []
    Hook.failing = TRIES - 1
    notifier = Notifier(Notify(webhook=hook), said.append, apart=0.0)
    notifier.fired("roundrobin", ENDPOINTS, CHANGE)
    until(lambda: Hook.came)
    notifier.close()
    assert [told["name"] for told in Hook.came] == ["backlog"] and said == []


def test_what_fails_every_time_is_said_once() -> None:
    said: list[Note] = []
    notifier = Notifier(Notify(("/nonexistent/command",)), said.append, apart=0.0)
    notifier.fired("roundrobin", ENDPOINTS, CHANGE)
    until(lambda: said)
    notifier.close()
    (note,) = said
    assert note.level == "bad" and note.text.startswith(f"the command of alerts failed {TRIES} times for backlog: File")


def test_a_command_that_fails_has_failed() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        notify.run([sys.executable, "-c", "raise SystemExit(3)"], dict.fromkeys(_KEYS, ""))


_KEYS = ("name", "severity", "state", "value", "text", "system")


def test_nobody_to_tell_costs_no_thread() -> None:
    notifier = Notifier(Notify(), lambda note: None)
    notifier.fired("roundrobin", ENDPOINTS, CHANGE)
    assert notifier._thread is None
    notifier.close()


def test_too_many_are_dropped_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Note] = []
    go = threading.Event()
    monkeypatch.setattr(notify, "PENDING", 1)
    monkeypatch.setattr(notify, "run", lambda *_: go.wait(60))
    notifier = Notifier(Notify(("x",)), said.append)
    for _ in range(4):
        notifier.fired("roundrobin", ENDPOINTS, CHANGE)
    assert any("too many wait" in note.text for note in said)
    go.set()
    notifier.close()
