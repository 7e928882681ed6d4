"""What runs on is watched, and answers for its status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli.common import settings_of
from console.cli.standing import watched
from engine.settings import Wrong
from tests.helpers.fake_lab import FakeLab


def test_a_lab_is_watched_by_the_users_rules_and_answers(home: Path) -> None:
    settings = settings_of([])
    settings.paths.alerts.parent.mkdir(parents=True)
    settings.paths.alerts.write_text("[few]\nmeasure = 'workers'\nbelow = 5\n")
    lab = FakeLab(2)
    with watched(lab, "broker", lab.endpoints, settings) as watcher:
        word, fields = lab.words["status"]({})
        assert "few" in [alert.rule.name for alert in watcher.alerts()]
    assert word == "status" and json.loads(fields["Status"])["role"] == "broker"


def test_wrong_rules_are_refused_before_it_runs(home: Path) -> None:
    settings = settings_of([])
    settings.paths.alerts.parent.mkdir(parents=True)
    settings.paths.alerts.write_text("[few]\nbelow = 5\n")
    lab = FakeLab(2)
    with pytest.raises(Wrong, match="measure is missing"), watched(lab, "broker", lab.endpoints, settings):
        pass
