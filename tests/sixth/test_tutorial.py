"""docs/new-system.md: the system that its blocks make is run by the simulator, by commands and by plain peers."""

from __future__ import annotations

import importlib
import json
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import engine.protocols
from engine.faults.faults import plan
from engine.faults.watch import Watch
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.machine import Machine
from tests.helpers.processes import ROOT, Processes, free_endpoint
from tests.sixth import page

NAME = "majordomo"
PAGE = page.PAGE.read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    page.write(tmp_path)
    return tmp_path


@pytest.fixture
def system(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The page's SYSTEM, imported for one test."""
    monkeypatch.setattr(engine.protocols, "__path__", [*engine.protocols.__path__, str(folder)])
    yield importlib.import_module(f"engine.protocols.{NAME}").SYSTEM
    for module in [name for name in sys.modules if name.startswith(f"engine.protocols.{NAME}")]:
        del sys.modules[module]
    delattr(engine.protocols, NAME)


@pytest.fixture
def processes(folder: Path) -> Iterator[Processes]:
    with Processes(folder, module="tests.sixth.page", ROUNDHOUSE_MAJORDOMO_HEARTBEAT="0.2") as processes:
        yield processes


def test_the_page_has_every_file_and_its_code_is_in_order(folder: Path) -> None:
    names = set(page.blocks(PAGE))
    package = ("__init__", "broker", "client", "explain", "machine", "messages", "options", "worker")
    assert names == {f"{page.PACKAGE}{name}.py" for name in package} | {
        "tests/sim/test_majordomo.py",
        "plain_worker.py",
        "plain_client.py",
    }
    style = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    ruff = subprocess.run([*style, "--ignore", "T201,I001", folder], capture_output=True, text=True, check=False)
    assert ruff.returncode == 0, ruff.stdout


def test_the_test_of_the_page_passes(system: Any, folder: Path) -> None:
    tests = runpy.run_path(str(folder / "test_majordomo.py"))
    tests["test_a_worker_that_is_killed_loses_nothing"]()


@pytest.mark.parametrize("line", ["kill w3", "freeze w3", "restart broker", "drop w3", "garbage", "overcredit"])
def test_what_is_promised_of_a_fault_holds(system: Any, line: str) -> None:
    sandbox = Sandbox(system, workers=5).open()
    sandbox.advance(5.0)
    sandbox.run(BulkSpec("ping", 100, rate=25.0, in_flight=100, timeout=30.0))
    sandbox.advance(2.3)
    watch = Watch(sandbox, plan(sandbox, line))
    watch.begin()
    sandbox.advance(40.0)
    assert watch.done and [one.promise.text for one in watch.results if not one.kept] == []


def test_the_tables_name_no_state_in_vain(system: Any) -> None:
    machine = importlib.import_module(f"engine.protocols.{NAME}.machine")
    for table in (machine.WORKER, machine.SEEN, machine.LINK):
        assert isinstance(table, Machine)
        assert {row.next for row in table.rows} | {table.states[0]} == set(table.states)


def test_the_commands_of_the_page(processes: Processes) -> None:
    run = processes.run(".", "bulkping", "1000", "--system", NAME, "--json", "-")
    assert run.ended() == 0, run.err
    record = json.loads(run.out)
    assert (record["succeeded"], record["ledger"]["balanced"]) == (1000, True)


def test_plain_programs_talk_to_it(processes: Processes, folder: Path) -> None:
    endpoint = free_endpoint()
    broker = processes.start(".", "broker", "--system", NAME, "--bind", endpoint).ready()
    with subprocess.Popen([sys.executable, folder / "plain_worker.py", endpoint]) as worker:
        try:
            client = [sys.executable, str(folder / "plain_client.py"), endpoint, "hello"]
            answered = subprocess.run(client, capture_output=True, text=True, check=False)
        finally:
            worker.kill()
    assert (answered.stdout, answered.returncode) == ("HELLO\n", 0), answered.stderr
    assert broker.alive


LINE = "            service.waiting.appendleft(task)\n"
EXPLORE = (".", "explore", "--system", NAME, "--faults", "kill")


def test_every_order_of_events_holds_and_the_planted_fault_is_found(processes: Processes, folder: Path) -> None:
    held = processes.run(*EXPLORE)
    assert held.ended() == 0, held.err
    assert "verdict   held, complete within these bounds" in held.out
    source, journal = folder / "majordomo" / "broker.py", folder / "found.journal"
    assert f"```text\n{LINE}```" in PAGE and source.read_text(encoding="utf-8").count(LINE) == 1
    source.write_text(source.read_text(encoding="utf-8").replace(LINE, ""), encoding="utf-8")
    found = processes.run(*EXPLORE, "--journal", str(journal))
    assert found.ended() == 1, found.err
    assert "a task is lost or in two places" in found.out and "! kill worker-1" in found.out
    check = processes.run(".", "replay", "--check", str(journal))
    assert check.out.startswith(f"{NAME}: ") and check.ended() == 1, check.err  # it differs in the violation
