"""``roundhouse check``: 0, 1, 2 and 3, and one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.check import judged
from engine.alerts.rules import DEFAULTS, Rule
from tests.helpers.fake_lab import FakeLab
from tests.helpers.served import patient, runtime, served
from tests.helpers.statuses import a_status

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    patient(monkeypatch)
    with runtime() as folder:
        monkeypatch.setattr("platformdirs.user_runtime_path", lambda *_, **__: folder)
        yield folder


def said(capsys: Capture) -> str:
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return out.strip()


def test_0_1_2_and_3(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    lab = FakeLab(3, busy=False)
    strict = tmp_path / "strict.toml"
    strict.write_text("[few]\nmeasure = 'workers'\nbelow = 5\n")
    with served(folder, lab):
        assert main(["check", lab.endpoints[0]]) == 0
        assert said(capsys).startswith("ROUNDHOUSE OK - roundrobin broker: 3 of 3 workers alive | workers=3;;1: ")
        assert main(["check", "--rules", str(strict)]) == 1
        assert "ROUNDHOUSE WARNING - few: workers that can take tasks: 3 (below 5) | workers=3;5:;1: " in said(capsys)
        lab.workers = []
        lab.publish()
        assert main(["check"]) == 2
        assert "ROUNDHOUSE CRITICAL - no_workers: workers that can take tasks: 0 (below 1) | " in said(capsys)
    assert main(["check"]) == 3
    assert said(capsys).startswith("ROUNDHOUSE UNKNOWN - nothing of roundhouse runs here")


def test_called_wrongly_is_unknown(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["check", "--nonsense"]) == 3
    assert main(["check", "--rules", str(tmp_path / "none.toml")]) == 3
    assert main(["check", "--help"]) == 0
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[x]\nabove = 1\n")
    capsys.readouterr()
    assert main(["check", "--rules", str(wrong)]) == 3
    assert said(capsys) == "ROUNDHOUSE UNKNOWN - the rules or the configuration are wrong"


def test_a_status_that_lacks_something_is_unknown(folder: Path, capsys: Capture) -> None:
    lab = FakeLab(1)
    broken = b'{"schema": "roundhouse.status/1"}'
    with served(folder, lab, status=lambda _: ("status", {"Status": broken})):
        assert main(["check"]) == 3
    assert "the status can not be read: KeyError" in said(capsys)


def test_critical_comes_before_warnings_and_the_line_has_one_bar() -> None:
    rules = (Rule("w", "backlog", "warning", above=1), Rule("c|", "backlog", "critical", above=2), *DEFAULTS)
    verdict, line = judged(a_status(backlog=5), rules)
    assert verdict == 2 and line.startswith("c/: tasks in the backlog: 5 (above 2); w: ") and line.count("|") == 1
    assert "backlog=5;1;2 " in line


def test_a_store_that_refuses_is_critical_and_says_why() -> None:
    store = {"tasks": 7, "waiting": 2, "trouble": "database or disk is full"}
    verdict, line = judged(a_status(store=store), DEFAULTS)
    assert verdict == 2 and "store: stores that refuse tasks or can not be reached: 1 (above 0): database or" in line
    assert "store_trouble=1;;0" in line
    assert judged(a_status(store={**store, "trouble": ""}), DEFAULTS)[0] == 0
    assert "store_trouble" not in judged(a_status(), DEFAULTS)[1]


def test_what_could_not_be_written_is_named() -> None:
    assert "(above 0): orders.log: no space | " in judged(a_status(unkept=["orders.log: no space"]), DEFAULTS)[1]
