"""Rules: built in, and out of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.alerts.rules import DEFAULTS, Notify, Rule, Rules, read_rules
from engine.settings.tomlfile import Wrong
from tests.helpers.statuses import a_status


def rules(folder: Path, text: str) -> Rules:
    path = folder / "alerts.toml"
    path.write_text(text)
    return read_rules(path)


def test_without_a_file_the_built_in_rules_hold(tmp_path: Path) -> None:
    assert read_rules(tmp_path / "none.toml", optional=True) == Rules(DEFAULTS)
    with pytest.raises(Wrong):
        read_rules(tmp_path / "none.toml")
    assert len({rule.name for rule in DEFAULTS}) == len(DEFAULTS)


def test_a_file_changes_adds_and_turns_off(tmp_path: Path) -> None:
    text = """
        [backlog]
        above = 5
        for = 0
        severity = "critical"
        [lost_workers]
        on = false
        [few_workers]
        measure = "workers"
        below = 3
        clear = 4
        [notify]
        command = ["/usr/bin/logger", "-t", "roundhouse"]
        webhook = "https://example.org/hook"
    """
    found = rules(tmp_path, text)
    by_name = {rule.name: rule for rule in found.rules}
    assert by_name["backlog"] == Rule("backlog", "backlog", "critical", above=5.0)
    assert "lost_workers" not in by_name and "no_workers" in by_name
    assert by_name["few_workers"] == Rule("few_workers", "workers", "warning", below=3.0, clear=4.0)
    assert found.notify == Notify(("/usr/bin/logger", "-t", "roundhouse"), "https://example.org/hook")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[backlog]\nabov = 3", "alerts.toml:2: [backlog] abov: no such key; did you mean above?"),
        ("[backlog]\nabove = '3'", "[backlog] above: expected a number"),
        ("[x]\nabove = 1", "[x]: measure is missing"),
        ("[x]\nmeasure = 'backlok'\nabove = 1", "did you mean backlog?"),
        ("[x]\nmeasure = 'backlog'", "above or below is missing"),
        ("[x]\nmeasure = 'backlog'\nabove = 1\nbelow = 2", "not both"),
        ("[x]\nmeasure = 'backlog'\nabove = 1\nclear = 2", "alerts.toml:4: [x] clear: it lies on the wrong side"),
        ("[backlog]\nfor = -1", "from 0 to 604,800 seconds"),
        ("[notify]\nwebhook = 'file:///etc/passwd'", "expected http:// or https://"),
        ("backlog = 3", "expected a table"),
        ("[backlog", "alerts.toml:1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Wrong) as wrong:
        rules(tmp_path, text)
    assert words in str(wrong.value)


def test_the_condition_has_hysteresis() -> None:
    high = Rule("h", "backlog", "warning", above=100, clear=80)
    assert not high.holds(100, False) and high.holds(101, False)
    assert high.holds(90, True) and not high.holds(90, False) and not high.holds(80, True)
    low = Rule("l", "workers", "critical", below=3, clear=5)
    assert low.holds(2, False) and low.holds(4, True) and not low.holds(4, False) and not low.holds(5, True)
    assert not low.holds(None, True)
    assert Rule("p", "backlog", "warning", above=1).holds(2, True)


def test_words() -> None:
    rule = Rule("b", "backlog", "warning", above=1000)
    assert rule.words(rule.value(a_status(backlog=2500))) == "tasks in the backlog: 2,500 (above 1,000)"
    assert rule.words(None) == "tasks in the backlog: none (above 1,000)"
    many = Rule("m", "backlog", "warning", above=10_000)
    assert many.words(12_345.0) == "tasks in the backlog: 12,345 (above 10,000)"
    lag = Rule("l", "loop_lag", "warning", above=0.5)
    assert "0.266" in lag.words(0.26604) and "0.5" in lag.words(1.0)
