"""Tells others that an alert fires: a command of the user's own configuration, or a webhook.

The rules of this file:

- A thread does it, started with the first alert: a slow command or host holds up nobody.
- Each is tried ``TRIES`` times, further and further apart; then that is said once.
- ``PENDING`` alerts may wait to be told; more are dropped, and that is said.
- The command is words, run without a shell. It gets the alert as JSON on its input and in variables ``ALERT_…``; only
  our own words and numbers stand in them. The webhook gets the same JSON by POST.
"""

from __future__ import annotations

import http.client
import json
import queue
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from engine.alerts.rules import Notify
from engine.alerts.watch import Change
from engine.core import Note
from engine.drive.environment import passed

SCHEMA = "roundhouse.alert/1"
TRIES = 4
APART = 2.0  # seconds until the second try, and thrice as long until each next
TIMEOUT = 10.0  # seconds that a command or a host may take
PENDING = 100
CLOSE = 1.0  # seconds that closing may take

Send = Callable[[Mapping[str, Any]], None]
"""Tells one alert; raises OSError or subprocess.SubprocessError with the reason where that failed."""


class Notifier:
    """``say``: hears what could not be told."""

    def __init__(self, notify: Notify, say: Callable[[Note], None], apart: float = APART) -> None:
        self._notify, self._say, self._apart = notify, say, apart
        self._waiting: queue.Queue[Mapping[str, Any] | None] = queue.Queue(PENDING)
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def replace(self, notify: Notify) -> None:
        """Tell others from now on."""
        self._notify = notify

    def fired(self, system: str, endpoints: Sequence[str], change: Change) -> None:
        """Tell that an alert fires, if somebody is to be told."""
        if not self._notify.command and not self._notify.webhook:
            return
        told = {
            "schema": SCHEMA,
            "name": change.rule.name,
            "severity": change.rule.severity,
            "state": change.state,
            "value": change.value,
            "text": change.text,
            "system": system,
            "endpoints": list(endpoints),
        }
        if self._thread is None:
            self._thread = threading.Thread(target=self._main, name="roundhouse-notify", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(told)
        except queue.Full:
            self._say(Note("bad", f"nobody was told of alert {change.rule.name}: too many wait to be told"))

    def close(self) -> None:
        """Tell nothing any more; what is being told may end within ``CLOSE``."""
        self._closing.set()
        if self._thread is not None:
            with suppress(queue.Full):  # it looks at ``_closing`` after each
                self._waiting.put_nowait(None)
            self._thread.join(CLOSE)

    def _main(self) -> None:
        while not self._closing.is_set() and (told := self._waiting.get()) is not None:
            notify = self._notify
            if notify.command:
                self._try("the command of alerts", told, partial(run, notify.command))
            if notify.webhook:
                self._try("the webhook of alerts", told, partial(post, notify.webhook))

    def _try(self, what: str, told: Mapping[str, Any], send: Send) -> None:
        apart, why = self._apart, ""
        for attempt in range(TRIES):
            if attempt and self._closing.wait(apart * 3 ** (attempt - 1)):
                return
            try:
                send(told)
                return
            except (OSError, subprocess.SubprocessError, http.client.HTTPException, ValueError) as error:
                why = f"{type(error).__name__}: {error}"
        self._say(Note("bad", f"{what} failed {TRIES} times for {told['name']}: {why}"))


def run(command: Sequence[str], told: Mapping[str, Any]) -> None:
    """Run the command; raises OSError or subprocess.SubprocessError where it can not be run or fails."""
    about = {f"ALERT_{key.upper()}": str(told[key]) for key in ("name", "severity", "state", "value", "text", "system")}
    subprocess.run(
        list(command),
        input=json.dumps(told).encode(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**passed(), **about},
        timeout=TIMEOUT,
        check=True,
    )


def post(url: str, told: Mapping[str, Any]) -> None:
    """POST it; raises OSError (of which urllib's errors are) where it does not arrive or is answered by no 2xx."""
    asked = urllib.request.Request(url, json.dumps(told).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:
        answer.read(4096)
