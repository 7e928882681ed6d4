"""What a process has that runs on: a watcher of alerts, and the answers that its control socket gives out of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from engine.alerts.rules import read_rules
from engine.labs.lab import Lab
from engine.labs.watcher import Source, Watcher, of_lab
from engine.settings import Settings

Answer = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]


@contextmanager
def standing(source: Source, settings: Settings, words: dict[str, Any]) -> Iterator[Watcher]:
    """Watch a source as long as this lasts, and answer for it in ``words``, those of its control socket.

    Raises ``engine.settings.Wrong`` where the file of alerts is wrong.
    """
    rules = read_rules(settings.paths.alerts, optional=True)
    with Watcher(source, rules) as watcher:
        words.update(words_of(watcher))
        yield watcher


def watched(lab: Lab, role: str, endpoints: tuple[str, ...], settings: Settings) -> AbstractContextManager[Watcher]:
    """The same of a lab that is open."""
    return standing(of_lab(lab, role, endpoints, settings.paths.state), settings, lab.words)


def words_of(watcher: Watcher) -> dict[str, Answer]:
    """What a control socket answers for a watcher."""

    def status(_: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "status", {"Status": json.dumps(watcher.status(time.monotonic())).encode()}

    return {"status": status}
