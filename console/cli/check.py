"""``roundhouse check``: one verdict on a running process, as Nagios and those that came after it call a plugin.

Exit status 0 well, 1 warning, 2 critical, 3 unknown: nobody answers, or it was called wrongly. One line on stdout: what
is wrong, then ``|`` and the measures that rules look at. It sees one moment: what a rule wants to hold ``for`` some
time counts at once, because its caller waits for several bad answers by itself.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from console.cli.asking import chosen, status_at
from console.cli.common import far_of, fleet_of, settings_of
from console.cli.streams import result, tell
from console.text import clean
from engine.alerts.measures import MEASURES
from engine.alerts.rules import Rule, read_rules
from engine.errors import Refused
from engine.settings.settings import Flag
from engine.settings.tomlfile import Wrong

OK, WARNING, CRITICAL, UNKNOWN = range(4)
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


def check(options: Namespace, flags: list[Flag]) -> int:
    """Print the verdict; its status."""
    try:
        settings = settings_of(flags)
        rules = read_rules(options.rules or settings.paths.alerts, optional=options.rules is None).rules
        status = status_at(chosen(settings.paths.control, options.target, far_of(settings), fleet_of(settings)))
        verdict, line = judged(status, rules)
    except Wrong as wrong:
        for problem in wrong.problems:
            tell(str(problem))
        verdict, line = UNKNOWN, "the rules or the configuration are wrong"
    except (Refused, OSError) as error:
        verdict, line = UNKNOWN, str(error)
    except (KeyError, TypeError, AttributeError) as error:  # a status that lacks what it should have
        verdict, line = UNKNOWN, f"the status can not be read: {type(error).__name__}: {error}"
    result(f"ROUNDHOUSE {WORDS[verdict]} - {clean(line)}\n")
    return verdict


def judged(status: dict[str, Any], rules: Sequence[Rule]) -> tuple[int, str]:
    """The verdict on a status, and the line that says so."""
    held = [(rule, value) for rule in rules if rule.holds(value := rule.value(status), False)]
    critical = [(rule, value) for rule, value in held if rule.severity == "critical"]
    verdict = CRITICAL if critical else WARNING if held else OK
    rest = [pair for pair in held if pair not in critical]
    words = "; ".join(said(rule, value, status) for rule, value in (*critical, *rest))
    totals = status["totals"]
    well = f"{status['system']} {status['role']}: {totals['alive']:,} of {totals['workers']:,} workers alive"
    return verdict, f"{words or well}".replace("|", "/") + f" | {perfdata(status, rules)}"


def said(rule: Rule, value: float | None, status: dict[str, Any]) -> str:
    """A rule whose condition holds, with what the process itself says of it."""
    return ": ".join((f"{rule.name}: {rule.words(value)}", *MEASURES[rule.measure].why(status)))


def perfdata(status: dict[str, Any], rules: Sequence[Rule]) -> str:
    """Each measure that has a value: ``label=value[unit];warning;critical``."""
    return " ".join(
        f"{name}={value:.6g}{measure.unit};{bound(rules, name, 'warning')};{bound(rules, name, 'critical')}"
        for name, measure in MEASURES.items()
        if (value := measure.of(status)) is not None
    )


def bound(rules: Sequence[Rule], measure: str, severity: str) -> str:
    """The range of values that are well, as a plugin writes it: ``10`` up to ten, ``1:`` one and more."""
    for rule in rules:
        if rule.measure == measure and rule.severity == severity:
            return f"{rule.above:.6g}" if rule.above is not None else f"{rule.below:.6g}:"
    return ""
