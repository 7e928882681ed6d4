"""Alerts at the console: each lab that runs has a watcher; what fires is said, and told to the terminal if wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from console.sessions.session import RUNNING, Session
from console.text import clean
from engine.alerts.rules import Notify, Rules
from engine.alerts.watch import SHOWN, Change
from engine.core import Note
from engine.files.minutes import minutes_of, path_of, read
from engine.labs.audit import noted, own
from engine.labs.watcher import LOOK, Watcher, of_lab
from engine.system import System

ROLE = "console"
HOUR = 3600.0
MINUTES = "minutes"  # in the state folder


class AlertRow(NamedTuple):
    """An alert of one lab, as it is listed."""

    where: str  # the session's name
    name: str
    severity: str
    state: str
    text: str
    since: float  # when it came into this state, in the console's time
    fired: bool  # whether it ever did


class Guards:
    """Of all sessions. ``folder``: whose disk counts."""

    def __init__(self, rules: Rules, folder: Path) -> None:
        self._rules, self._folder = rules, folder
        self._watchers: dict[str, Watcher] = {}
        self._labs: dict[str, Any] = {}
        self._due: dict[str, float] = {}
        self.loud = False  # ring, and notify the desktop through the terminal

    def look(self, sessions: Iterable[Session[Any]], now: float) -> list[Change]:
        """Look at those that run, each once a second; the alerts that have begun to fire."""
        fired: list[Change] = []
        for session in sessions:
            if session.mode not in RUNNING or now < self._due.get(session.name, now):
                continue
            self._due[session.name] = now + LOOK
            fired += [change for change in self._of(session, now).look(now) if change.state == "firing"]
        return fired

    def begin(self, session: Session[Any], now: float, wall: float) -> None:
        """Have the charts of a lab begin with what its broker kept. ``now``: monotonic, ``wall``: since the epoch."""
        lab: Any = session.lab
        if session.mode not in RUNNING:
            return
        try:
            if session.mode == "remote":
                minutes = minutes_of(lab.minutes(), wall)
            else:
                minutes = read(path_of(self._folder / MINUTES, lab.system.name, _where(lab)), wall)
        except FileNotFoundError:
            return
        except OSError as error:
            lab.feed.fact(Note("warn", f"the history of minutes can not be read: {error}"), ROLE, wall)
        else:
            session.bridge.begin(minutes, now, wall)

    def firing(self) -> int:
        """How many fire, in all of them."""
        return sum(alert.state == "firing" for watcher in self._watchers.values() for alert in watcher.alerts())

    def rows(self) -> list[AlertRow]:
        """All alerts of all labs, those that fire first."""
        rows = [
            AlertRow(
                where,
                alert.rule.name,
                alert.rule.severity,
                alert.state,
                alert.rule.words(alert.value),
                alert.since,
                alert.fired,
            )
            for where, watcher in self._watchers.items()
            for alert in watcher.alerts()
        ]
        return sorted(rows, key=lambda row: SHOWN.index(row.state))

    def acknowledge(self, row: AlertRow, now: float) -> None:
        """Somebody knows of it. Raises Refused unless it fires."""
        self._kept(row, f"acknowledge {row.name}", lambda of: of.acknowledge(row.name, now))

    def silence(self, row: AlertRow, now: float) -> float:
        """Say nothing of it for an hour, or end that; for how many seconds."""
        seconds = 0.0 if row.state == "silenced" else HOUR
        self._kept(row, f"silence {row.name} {seconds}", lambda of: of.silence(row.name, seconds, now))
        return seconds

    def _kept(self, row: AlertRow, what: str, act: Callable[[Watcher], object]) -> None:
        """An order to a watcher of this console; of a process of its own a line is kept."""
        lab = self._labs[row.where]
        noted(lab, lab.audit, own(), what, lambda: act(self._watchers[row.where]))

    def close(self) -> None:
        """Tell nobody any more."""
        for watcher in self._watchers.values():
            watcher.close()

    def _of(self, session: Session[Any], now: float) -> Watcher:
        watcher = self._watchers.get(session.name)
        if watcher is None:
            lab = self._labs[session.name] = session.lab
            rules = self._rules
            if session.mode == "remote":
                rules = rules._replace(notify=Notify())  # the process itself tells others
            kept = session.mode == "live" and not getattr(lab, "watches", False)
            minutes = self._folder / MINUTES if kept else None  # else the process itself keeps them
            source = of_lab(lab, ROLE, _where(lab), self._folder)
            watcher = self._watchers[session.name] = Watcher(source, rules, began=now, minutes=minutes)
            if session.mode == "live":
                lab.words.update(watcher.words())
        return watcher


def _where(lab: Any) -> tuple[str, ...]:
    """Where others reach what runs there: its endpoints, or the root of a pipeline; nowhere of a demonstration."""
    if lab.system.kind == System.kind:
        return tuple(lab.endpoints)
    return () if lab.demonstration else (lab.root,)


def notification(change: Change) -> str:
    """What makes a terminal ring and notify its desktop (OSC 9)."""
    return f"\a\x1b]9;roundhouse: {clean(change.text, 200)}\x1b\\"
