"""Every system with its roles in processes of their own: runs, workers that are killed or frozen, journals."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.labs.replay import Replay
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.view import BrokerView, WorkerRow
from engine.runs.record import from_json
from tests.helpers.processes import WAIT, Process, Processes, free_endpoint, until

NAMES = ("roundrobin", "pingpong", "conversation", "negotiated")
QUICK = {  # silence of two seconds is the end of a worker: a busy machine may hold it up for one
    "roundrobin": {"heartbeat": 0.2, "expiry": 2.0},
    "pingpong": {"ping_every": 0.2, "broker_timeout": 2.0, "worker_expiry": 2.0, "probe_deadline": 2.0},
    "conversation": {"heartbeat": 0.2, "expiry": 2.0},
    "negotiated": {"heartbeat": 0.2, "silence": 10, "doubt": 2.0},
}


def variables(name: str) -> dict[str, str]:
    """A system's quick settings, as the environment says them."""
    return {f"ROUNDHOUSE_{name}_{key}".upper(): str(value) for key, value in QUICK[name].items()}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def endpoint() -> str:
    return free_endpoint()


@pytest.fixture
def processes(name: str, tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path, **variables(name)) as processes:
        yield processes


def workers(processes: Processes, name: str, endpoint: str, n: int = 2) -> list[Process]:
    """Processes of one worker each, all joined."""
    started = [processes.start("worker", "--system", name, "--connect", endpoint, "--slots", "4") for _ in range(n)]
    return [process.ready() for process in started]


def load(lab: LiveLab) -> None:
    """Begin a run of two seconds, and be in the middle of it."""
    assert lab.wait_linked(WAIT)
    lab.run(BulkSpec("ping", 1000, rate=500.0, in_flight=50, timeout=WAIT))
    until(lambda: view(lab).ledger.succeeded > 50, "the middle of the run")


def view(lab: LiveLab) -> BulkView:
    until(lambda: lab.run_view() is not None)
    found = lab.run_view()
    assert found is not None
    return found


def broker_of(lab: LiveLab) -> BrokerView:
    found: BrokerView = lab._ask("broker", "broker")
    return found


def rows(lab: LiveLab, *states: str) -> list[WorkerRow]:
    return [row for row in broker_of(lab).workers if row.state in states]


def test_a_thousand_pings_of_a_broker_and_workers_elsewhere(processes: Processes, name: str, endpoint: str) -> None:
    journal = processes.folder / "broker.journal"
    broker = processes.start("broker", "--system", name, "--bind", endpoint, "--journal", str(journal)).ready()
    workers(processes, name, endpoint)
    run = processes.run("bulkping", "1000", "--system", name, "--connect", endpoint, "--json", "-")
    record = from_json(run.out.encode())
    assert (run.ended(), run.err) == (0, "")
    assert (record["succeeded"], record["failed"], record["verdict"]) == (1000, {}, "pass")
    assert (record["system"], record["ledger"]["balanced"]) == (name, True)
    broker.signal(signal.SIGTERM)
    assert broker.ended() == 143
    replay = Replay.open(journal, SYSTEMS)
    replay.seek(len(replay))
    assert (replay.differences, replay.cut) == ([], "")
    assert replay.pictures()["broker"].ledger.succeeded == 1000


def test_a_run_with_nothing_running_elsewhere(processes: Processes, name: str) -> None:
    run = processes.run("bulkping", "1000", "--system", name, "--json", "-")
    assert run.ended() == 0
    assert from_json(run.out.encode())["succeeded"] == 1000


def test_no_broker_at_all_is_told_with_a_record_of_nothing(processes: Processes, name: str, endpoint: str) -> None:
    run = processes.run("bulkping", "10", "--system", name, "--connect", endpoint, "--timeout", "0.5", "--json", "-")
    record = from_json(run.out.encode())
    assert (run.ended(), record["requested"], record["sent"], record["verdict"]) == (1, 10, 0, "fail")
    assert f"no broker of {name} answers at {endpoint}" in run.err


def test_a_worker_that_is_killed_in_the_middle_of_a_run_loses_nothing(
    processes: Processes, name: str, endpoint: str
) -> None:
    processes.start("broker", "--system", name, "--bind", endpoint).ready()
    victim, _ = workers(processes, name, endpoint)
    options = SYSTEMS[name].options(**QUICK[name])
    with LiveLab(SYSTEMS[name], options, connect=endpoint, workers=0, broker=False) as lab:
        load(lab)
        victim.kill()
        assert view(lab).state == "running", "it was killed too late"
        assert lab.wait_run(WAIT)
        report = lab.report()
    assert (report["verdict"], report["succeeded"], report["failed"]) == ("pass", 1000, {})


def test_a_worker_that_is_frozen_past_its_expiry_completes_nothing_twice(
    processes: Processes, name: str, endpoint: str
) -> None:
    options = SYSTEMS[name].options(**QUICK[name])
    with LiveLab(SYSTEMS[name], options, bind=(endpoint,), workers=0) as lab:
        frozen, _ = workers(processes, name, endpoint)
        load(lab)
        frozen.signal(signal.SIGSTOP)
        until(lambda: len(rows(lab, "ready", "busy", "late")) == 1, "the expiry of the frozen worker")
        assert lab.wait_run(WAIT)
        frozen.signal(signal.SIGCONT)
        until(lambda: len(rows(lab, "ready")) == 2, "the worker's return")
        picture = broker_of(lab)
        assert sum(n for counter, n in picture.counters if "deliver" in counter) > 0, "it held nothing"
        assert picture.ledger.balanced
        assert (picture.ledger.sent, picture.ledger.succeeded, picture.ledger.failed) == (1000, 1000, ())
        lab.run(BulkSpec("ping", 100, timeout=WAIT))
        assert lab.wait_run(WAIT)
        assert lab.report()["verdict"] == "pass"
        assert broker_of(lab).ledger.succeeded == 1100


def test_workers_come_back_to_a_broker_that_was_killed_and_restarted(
    processes: Processes, name: str, endpoint: str
) -> None:
    broker = processes.start("broker", "--system", name, "--bind", endpoint).ready()
    workers(processes, name, endpoint)
    broker.kill()
    options = SYSTEMS[name].options(**QUICK[name])
    with LiveLab(SYSTEMS[name], options, bind=(endpoint,), workers=0) as lab:
        until(lambda: len(rows(lab, "ready")) == 2, "the workers' return")
        lab.run(BulkSpec("ping", 100, timeout=WAIT))
        assert lab.wait_run(WAIT)
        assert lab.report()["verdict"] == "pass"


def test_workers_of_no_broker_wait_or_say_why_they_do_not(processes: Processes, name: str, endpoint: str) -> None:
    worker = processes.start("worker", "--system", name, "--connect", endpoint)
    if name == "negotiated":  # its protocol calls that an error
        assert worker.ended() == 1
        assert f"{endpoint} does not answer CHECKCONFIG" in worker.err
    else:
        processes.start("broker", "--system", name, "--bind", endpoint).ready()
        worker.ready()
    assert worker.out == ("" if name == "negotiated" else f"ready 1 worker at {endpoint}\n")
