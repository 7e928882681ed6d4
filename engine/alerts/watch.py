"""Alerts of one process: rules evaluated over its statuses, one after the other. Pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from engine.alerts.measures import Status
from engine.alerts.rules import Rule
from engine.alerts.states import On, State, after
from engine.errors import Refused

LONGEST = 7 * 86400.0  # seconds that a silence may last
SHOWN: tuple[State, ...] = ("firing", "acknowledged", "silenced", "pending", "cleared")
"""The order of a list of alerts."""


class Change(NamedTuple):
    """An alert has gone from one state to another."""

    rule: Rule
    before: State
    state: State
    value: float | None

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.rule.name}: {self.rule.words(self.value)}"


@dataclass
class Alert:
    """One rule and how it stands. Times are monotonic seconds."""

    rule: Rule
    since: float  # when it came into this state
    state: State = "cleared"
    value: float | None = None
    over: float | None = None  # since when the condition holds
    until: float = 0.0  # the end of the silence
    fired: bool = False  # whether it ever did


class Watch:
    """For one thread."""

    def __init__(self, rules: Iterable[Rule], now: float) -> None:
        self._alerts = {rule.name: Alert(rule, now) for rule in rules}

    def replace(self, rules: Iterable[Rule], now: float) -> None:
        """Other rules; an alert whose rule is the same as before stays as it is."""
        old, self._alerts = self._alerts, {}
        for rule in rules:
            before = old.get(rule.name)
            self._alerts[rule.name] = before if before is not None and before.rule == rule else Alert(rule, now)

    def look(self, status: Status, now: float) -> list[Change]:
        """Evaluate all rules; what has changed."""
        return [change for alert in self._alerts.values() if (change := _look(alert, status, now)) is not None]

    def acknowledge(self, name: str, now: float) -> Change:
        """Somebody knows of it. Refused unless it fires."""
        alert = self._named(name)
        if alert.state != "firing":
            raise Refused(f"{name} does not fire: it is {alert.state}")
        return _step(alert, "acknowledge", now)

    def silence(self, name: str, seconds: float, now: float) -> Change:
        """Say nothing of it for so long; 0 ends a silence. Refused for an unknown alert or a time out of bounds."""
        alert = self._named(name)
        if not 0 <= seconds <= LONGEST:
            raise Refused(f"a silence lasts from 0 to {LONGEST:,.0f} seconds, not {seconds:g}")
        alert.until = now + seconds
        return _step(alert, "silence" if seconds else "expire", now)

    def alerts(self) -> list[Alert]:
        """All of them, those that fire first."""
        rank = {"critical": 0, "warning": 1}
        every = self._alerts.values()
        return sorted(every, key=lambda alert: (SHOWN.index(alert.state), rank[alert.rule.severity]))

    def rows(self, now: float) -> list[dict[str, Any]]:
        """Those that are not cleared, as they stand in a status."""
        return [row(alert, now) for alert in self.alerts() if alert.state != "cleared"]

    def _named(self, name: str) -> Alert:
        alert = self._alerts.get(name)
        if alert is None:
            raise Refused(f"there is no alert {name}")
        return alert


def row(alert: Alert, now: float) -> dict[str, Any]:
    """An alert in a status."""
    return {
        "name": alert.rule.name,
        "severity": alert.rule.severity,
        "state": alert.state,
        "value": alert.value,
        "since_s": round(now - alert.since, 3),
        "text": alert.rule.words(alert.value),
    }


def _look(alert: Alert, status: Status, now: float) -> Change | None:
    before = alert.state
    value = alert.rule.value(status)
    if alert.state == "silenced" and now >= alert.until:
        _step(alert, "expire", now)
    if alert.rule.holds(value, alert.over is not None):
        alert.over = now if alert.over is None else alert.over
        alert.value = value
        _step(alert, "over", now)
        if now - alert.over >= alert.rule.seconds:
            _step(alert, "due", now)
    else:
        alert.over, alert.value = None, value
        _step(alert, "under", now)
    return None if alert.state == before else Change(alert.rule, before, alert.state, value)


def _step(alert: Alert, event: On, now: float) -> Change:
    before, alert.state = alert.state, after(alert.state, event)
    if alert.state != before:
        alert.since = now
        alert.fired = alert.fired or alert.state == "firing"
    return Change(alert.rule, before, alert.state, alert.value)
