"""Rules of alerts: the built-in ones, and those of a TOML file, which replace or add.

A rule fires when its measure has been beyond its bound for so many seconds, and clears when it is back at ``clear``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from engine.alerts.measures import MEASURES, Status
from engine.schema import Misfit, OneOf, Range, fit, nearest
from engine.settings.tomlfile import Problem, Wrong, parse_toml, read_text

Severity = Literal["warning", "critical"]
MAX_RULES = 200
NOTIFY = "notify"  # the table that is no rule
WEBHOOKS = ("http://", "https://")


class Rule(NamedTuple):
    """``above`` or ``below``, one of them: beyond it the condition holds."""

    name: str
    measure: str
    severity: Severity
    above: float | None = None
    below: float | None = None
    clear: float | None = None  # where the condition ends; None: at the bound itself
    seconds: float = 0.0  # for which it must have held

    def value(self, status: Status) -> float | None:
        """What it measures in a status."""
        return MEASURES[self.measure].of(status)

    def holds(self, value: float | None, held: bool) -> bool:
        """Whether the condition holds at a value; ``held``: whether it did before."""
        if value is None:
            return False
        if self.above is not None:
            return value > (self.above if not held or self.clear is None else self.clear)
        below = self.below or 0.0
        return value < (below if not held or self.clear is None else self.clear)

    def words(self, value: float | None) -> str:
        """The alert in words."""
        measure = MEASURES[self.measure]
        side, bound = ("above", self.above) if self.above is not None else ("below", self.below)
        shown = "none" if value is None else f"{_figure(value)}{measure.unit}"
        return f"{measure.words}: {shown} ({side} {_figure(bound or 0.0)}{measure.unit})"


def _figure(value: float) -> str:
    """10000.0 → ``10,000``; 0.26604 → ``0.266``."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


class Notify(NamedTuple):
    """Who is told when an alert fires."""

    command: tuple[str, ...] = ()
    webhook: str = ""


class Rules(NamedTuple):
    """What a file says, on top of the built-in rules."""

    rules: tuple[Rule, ...]
    notify: Notify = Notify()


DEFAULTS = (
    Rule("no_workers", "workers", "critical", below=1, seconds=60),
    Rule("lost_workers", "lost_workers", "warning", above=0),
    Rule("backlog", "backlog", "warning", above=10_000, clear=8_000, seconds=60),
    Rule("oldest_task", "oldest", "warning", above=300, clear=240, seconds=30),
    Rule("failures", "failed", "warning", above=5, clear=2, seconds=30),
    Rule("many_failures", "failed", "critical", above=50, clear=30, seconds=30),
    Rule("loop_lag", "loop_lag", "warning", above=1.0, clear=0.5, seconds=30),
    Rule("dead_threads", "dead_threads", "critical", above=0),
    Rule("ledger", "unbalanced", "critical", above=0, seconds=5),
    Rule("disk", "disk_free", "warning", below=5, clear=7, seconds=60),
    Rule("disk_full", "disk_free", "critical", below=1, clear=2, seconds=10),
    Rule("not_written", "unkept", "critical", above=0),
    Rule("stopped_stages", "stopped_stages", "critical", above=0),
    Rule("store", "store_trouble", "critical", above=0, seconds=3),
    Rule("dead_tasks", "dead_tasks", "warning", above=0),
    Rule("store_full", "store_used", "warning", above=80, clear=70, seconds=10),
    Rule("store_copies", "store_behind", "warning", above=0, seconds=10),
)

_KEYS: Mapping[str, Any] = {
    "measure": Annotated[str, OneOf(tuple(MEASURES))],
    "severity": Annotated[str, OneOf(get_args(Severity))],
    "above": float,
    "below": float,
    "clear": float,
    "for": Annotated[float, Range(0, 7 * 86400, "seconds")],
    "on": bool,
}
_NOTIFY: Mapping[str, Any] = {"command": tuple[str, ...], "webhook": str}


def read_rules(path: Path, *, optional: bool = False) -> Rules:
    """The built-in rules with those of a file; without it where it is ``optional`` and not there. Raises ``Wrong``."""
    content, lines = parse_toml(read_text(path, optional=optional), path)
    problems: list[Problem] = []
    rules = {rule.name: rule for rule in DEFAULTS}
    notify = Notify()

    def wrong(words: str, *place: str) -> None:
        line = lines.get(place)
        problems.append(Problem(f"{path}:{line}" if line else str(path), words))

    for name, table in content.items():
        if not isinstance(table, dict):
            wrong(f"{name}: expected a table, the name of a rule", name)
            continue
        found = _fitted(name, table, _NOTIFY if name == NOTIFY else _KEYS, wrong)
        if name == NOTIFY:
            notify = Notify(found.get("command", ()), found.get("webhook", ""))
            if notify.webhook and not notify.webhook.startswith(WEBHOOKS):
                wrong(f"[{name}] webhook: expected http:// or https://", name, "webhook")
        elif found.pop("on", True):
            if rule := _rule(name, found, rules.get(name), wrong):
                rules[name] = rule
        else:
            rules.pop(name, None)
    if len(rules) > MAX_RULES:
        wrong(f"more than {MAX_RULES} rules")
    if problems:
        raise Wrong(problems)
    return Rules(tuple(rules.values()), notify)


def _fitted(name: str, table: Mapping[str, Any], types: Mapping[str, Any], wrong: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in types:
            wrong(f"[{name}] {key}: no such key{nearest(key, types)}", name, key)
            continue
        try:
            found[key] = fit(value, types[key])
        except Misfit as misfit:
            wrong(f"[{name}] {key}: {misfit}", name, key)
    return found


def _rule(name: str, found: dict[str, Any], base: Rule | None, wrong: Any) -> Rule | None:
    """The rule of a table, over the one of the same name. None, and what is wrong is told, where it makes no sense."""
    if "for" in found:
        found["seconds"] = found.pop("for")
    if "above" in found and "below" in found:
        wrong(f"[{name}]: above or below, not both", name)
        return None
    if base is not None:
        if "above" in found or "below" in found:
            base = base._replace(above=None, below=None, clear=None)
        rule = base._replace(**found)
    elif "measure" not in found:
        wrong(f"[{name}]: measure is missing, and no built-in rule has this name", name)
        return None
    else:
        rule = Rule(name, found.pop("measure"), found.pop("severity", "warning"), **found)
    if (rule.above is None) == (rule.below is None):
        wrong(f"[{name}]: above or below is missing", name)
        return None
    if rule.clear is not None and (rule.clear > rule.above if rule.above is not None else rule.clear < rule.below):  # type: ignore[operator]
        wrong(f"[{name}] clear: it lies on the wrong side of the bound", name, "clear")
        return None
    return rule
