"""The sixth system by every command, in processes of their own in which its line stands in the catalogue."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.faults.faults import faults_for
from engine.runs.record import from_json
from tests.helpers.processes import Processes, free_endpoint
from tests.helpers.terminal import terminal_in
from tests.sixth.mdp import SYSTEM

NAME = SYSTEM.name
MODULE = "tests.sixth"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    quick = {"ROUNDHOUSE_MDP_HEARTBEAT": "0.2", "ROUNDHOUSE_MDP_PROBE_DEADLINE": "0.8"}
    with Processes(tmp_path, module=MODULE, **quick) as processes:
        yield processes


def test_broker_workers_and_a_run_in_processes_of_their_own_and_the_journal(processes: Processes) -> None:
    endpoint, journal = free_endpoint(), processes.folder / "broker.journal"
    broker = processes.start("broker", "--system", NAME, "--bind", endpoint, "--journal", str(journal)).ready()
    for _ in range(2):
        processes.start("worker", "--system", NAME, "--connect", endpoint).ready()
    run = processes.run("bulkping", "1000", "--system", NAME, "--connect", endpoint, "--json", "-")
    record = from_json(run.out.encode())
    assert (run.ended(), run.err) == (0, "")
    assert (record["system"], record["succeeded"], record["verdict"]) == (NAME, 1000, "pass")
    assert record["ledger"]["balanced"]
    broker.signal(signal.SIGTERM)
    assert broker.ended() == 143
    check = processes.run("replay", "--check", str(journal))
    assert (check.ended(), check.err) == (0, "")
    assert check.out.startswith(f"{NAME}: ") and check.out.endswith("as recorded\n")


@pytest.mark.parametrize("command", [("ping",), ("pingt",), ("data",), ("bulkping", "100"), ("bulkdata", "100")])
def test_a_run_with_nothing_running_elsewhere(processes: Processes, command: tuple[str, ...]) -> None:
    run = processes.run(*command, "--system", NAME, "--json", "-")
    assert run.ended() == 0, run.err
    assert from_json(run.out.encode())["system"] == NAME


def test_a_worker_that_is_killed_loses_nothing(processes: Processes) -> None:
    endpoint = free_endpoint()
    processes.start("broker", "--system", NAME, "--bind", endpoint).ready()
    victim, _ = [processes.start("worker", "--system", NAME, "--connect", endpoint).ready() for _ in range(2)]
    run = processes.start(
        "bulkping", "1000", "--system", NAME, "--connect", endpoint, "--rate", "500", "--timeout", "20", "--json", "-"
    )
    victim.kill()
    assert run.ended() == 0, run.err
    assert from_json(run.out.encode())["succeeded"] == 1000


def test_workers_come_back_to_a_broker_that_was_started_again(processes: Processes) -> None:
    endpoint = free_endpoint()
    broker = processes.start("broker", "--system", NAME, "--bind", endpoint).ready()
    processes.start("worker", "--system", NAME, "--connect", endpoint).ready()
    broker.kill()
    processes.start("broker", "--system", NAME, "--bind", endpoint).ready()
    run = processes.run("bulkping", "100", "--system", NAME, "--connect", endpoint, "--timeout", "20", "--json", "-")
    assert run.ended() == 0, run.err


def test_a_drill_with_every_fault(processes: Processes) -> None:
    lines = [f'system = "{NAME}"', "workers = 4", f"until = {60 * len(faults_for(SYSTEM)) + 60}"]
    for place, fault in enumerate(faults_for(SYSTEM)):
        target = "w4" if fault.name == "kill" else "w2" if "worker" in fault.targets else "".join(fault.targets)
        at = 60 * place
        run = ["[[do]]", f"at = {at + 1}", 'run = "bulkping 20"', "rate = 10.0"]
        lines += [*run, "[[do]]", f"at = {at + 5}", f'fault = "{f"{fault.name} {target}".strip()}"']
    script = processes.folder / "all.toml"
    script.write_text("\n".join(lines), encoding="utf-8")
    drill = processes.run("drill", str(script), "--json", "-")
    assert (drill.ended(), drill.err) == (0, ""), drill.out
    report = json.loads(drill.out)
    assert (report["system"], report["verdict"]) == (NAME, "pass")


def test_the_help_and_what_is_wrong_name_it(processes: Processes) -> None:
    shown = processes.run("--help")
    assert shown.ended() == 0 and NAME in shown.out
    wrong = processes.run("bulkping", "1", "--system", "mpd")
    assert wrong.ended() == 2 and NAME in wrong.err
    jobs = processes.run("jobs", "--connect", free_endpoint())
    assert jobs.ended() == 2


@pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux, which is not here")
def test_the_console_opens_on_it_and_goes_to_others_and_back(tmp_path: Path) -> None:
    with terminal_in(tmp_path, more={NAME: MODULE}) as terminal:
        terminal.open("--system", NAME)
        terminal.sees("● READY", NAME, "● 10 ", "? help")
        terminal.keys("p")
        terminal.sees("bulkping 100", "PASS", "ok 100  fail 0")
        terminal.keys("1")
        terminal.sees("● READY", "roundrobin", "● 10 ")
        terminal.keys("6")
        terminal.sees("● READY", NAME, "PASS")
        terminal.keys("v")
        terminal.sees("Majordomo · seed RFC 7")
        terminal.keys("Escape")
        terminal.sees("● READY")
        terminal.command("quit")
        assert "bulkping 100: PASS" in terminal.ended(0)
