"""The command line with real processes and sockets: three roles, signals, ports that are taken."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.streams import unanswered
from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from engine.runs.history import History
from engine.runs.record import RunRecord, from_json
from engine.settings.paths import Paths
from tests.helpers.processes import SIDES, WAIT, beside, free_endpoint

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folders, empty, here and in every process that is started."""
    for name in [name for name in os.environ if name.startswith("ROUNDHOUSE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


@pytest.fixture
def start(home: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "console", *arguments]
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def endpoint() -> str:
    return free_endpoint()


def has_ipv6() -> bool:
    """Whether this machine has a loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def said(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit status and what it had still to say."""
    out, err = process.communicate(timeout=WAIT)
    return process.returncode, out, err


def kept(home: Path) -> list[RunRecord]:
    """The runs that were kept, in the test's own folder."""
    folder = Paths.of_user().runs
    assert folder.is_relative_to(home)
    runs, skipped = History(folder).list()
    assert skipped == []
    return runs


def test_broker_workers_and_a_run_in_three_processes(start: Start, endpoint: str, home: Path) -> None:
    broker = start("broker", "--bind", endpoint)
    assert said(broker) == f"ready {endpoint}\n"
    workers = start("worker", "--connect", endpoint, "--count", "10", "--slots", "5")
    assert said(workers) == f"ready 10 workers at {endpoint}\n"
    status, out, err = ended(start("bulkping", "1000", "--connect", endpoint, "--json", "-"))
    run = from_json(out.encode())
    assert (status, err) == (0, "")
    assert (run["succeeded"], run["failed"], run["transport"], run["verdict"]) == (1000, {}, "tcp", "pass")
    assert run["ledger"]["balanced"]
    assert kept(home) == [run]
    workers.send_signal(signal.SIGTERM)
    assert ended(workers) == (143, "", "")
    broker.send_signal(signal.SIGTERM)
    status, out, err = ended(broker)
    assert (status, out) == (143, "") and "no tasks are given out" in err


def test_a_broker_serves_on_whatever_becomes_of_its_output(start: Start, endpoint: str, home: Path) -> None:
    with open("/dev/full", "w") as full:
        broker = start("broker", "--bind", endpoint, stdout=full.fileno(), stderr=full.fileno())
    workers = start("worker", "--connect", endpoint)
    assert said(workers) == f"ready 1 worker at {endpoint}\n"
    with socket.create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2]))) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")  # which it tells of
    assert ended(start("bulkping", "20", "--connect", endpoint))[0] == 0
    for process in (workers, broker):
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 143


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no address of IPv6")
def test_a_broker_is_served_and_asked_over_ipv6(start: Start, home: Path) -> None:
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        endpoint = f"tcp://[::1]:{probe.getsockname()[1]}"
    assert said(start("broker", "--bind", endpoint)) == f"ready {endpoint}\n"
    assert said(start("worker", "--connect", endpoint)) == f"ready 1 worker at {endpoint}\n"
    assert ended(start("bulkping", "20", "--connect", endpoint))[0] == 0


def test_a_configured_port_that_is_taken_names_the_table_and_the_key(
    endpoint: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("ROUNDHOUSE_ROUNDROBIN_BIND", endpoint)
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(endpoint.rpartition(":")[2])))
        other.listen()
        assert main(["broker"]) == 2
        assert main(["broker", "--bind", endpoint]) == 2
        assert main(["pingt"]) == 2, "a run of one command binds where it is configured, too"
    configured, asked, one = capsys.readouterr().err.splitlines()
    assert "names it; --connect runs against who is there)" in one
    assert f"can not bind {endpoint}: Address already in use" in configured and configured.startswith(asked)
    assert "bind in [roundrobin] of " in configured and "or ROUNDHOUSE_ROUNDROBIN_BIND, names it" in configured


def test_a_pool_that_was_killed_costs_failures_by_kind_and_status_1(start: Start, endpoint: str, home: Path) -> None:
    broker = start("broker", "--bind", endpoint)
    assert said(broker) == f"ready {endpoint}\n"
    workers = start("worker", "--connect", endpoint)
    assert said(workers) == f"ready 1 worker at {endpoint}\n"
    workers.kill()
    workers.wait(WAIT)
    status, out, err = ended(start("bulkping", "20", "--connect", endpoint, "--timeout", "0.1", "--json", "-"))
    run = from_json(out.encode())
    assert (status, err) == (1, "")
    assert (run["sent"], run["succeeded"], run["failed"], run["verdict"]) == (20, 0, {"timeout": 20}, "fail")
    assert run["ledger"]["balanced"]


def test_no_broker_at_all_is_told_in_bounded_time(endpoint: str, home: Path, capsys: Capture) -> None:
    assert main(["bulkping", "10", "--connect", endpoint, "--timeout", "0.1", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    run = json.loads(out)
    assert (run["requested"], run["sent"], run["verdict"]) == (10, 0, "fail")
    assert err == f"roundhouse: {unanswered('roundrobin', endpoint)}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_is_printed_and_kept(number: signal.Signals, start: Start, home: Path) -> None:
    terminal, stderr = os.openpty()
    run = start("bulkping", "100000000", "--json", "-", stderr=stderr)
    os.close(stderr)
    try:
        while b"bulkping" not in os.read(terminal, 1000):  # the progress line: it is running
            pass
        run.send_signal(number)
        status, out, _ = ended(run)
    finally:
        os.close(terminal)
    record = from_json(out.encode())
    assert status == 128 + number
    assert kept(home) == [record]
    assert 0 < record["sent"] < record["requested"] == 100_000_000
    assert (record["succeeded"], record["verdict"], record["ledger"]["balanced"]) == (record["sent"], "stopped", True)


def test_a_broker_whose_endpoint_is_taken_is_status_2(endpoint: str, home: Path, capsys: Capture) -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0, client=False):
        assert main(["broker", "--bind", endpoint]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"roundhouse: can not bind {endpoint}: Address already in use")


def test_a_journal_that_exists_is_status_2_and_stays_as_it_is(home: Path, capsys: Capture) -> None:
    path = home / "old.journal"
    path.write_text("precious")
    for command in ("broker", "worker", "pingt", "bulkping 10"):
        assert main([*command.split(), "--journal", str(path)]) == 2
        told = f"roundhouse: no journal can be written to {path}: it exists; name a new file\n"
        assert capsys.readouterr() == ("", told)
    assert path.read_text() == "precious"


def test_a_run_of_our_own_takes_another_port_and_says_so(home: Path, capsys: Capture) -> None:
    host, port = SYSTEMS["roundrobin"].endpoint.removeprefix("tcp://").split(":")
    with socket.socket() as other:
        with suppress(OSError):  # whoever has it already serves as well
            other.bind((host, int(port)))
            other.listen()
        assert main(["bulkdata", "100", "--bytes", "2000", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    run = from_json(out.encode())
    assert (run["succeeded"], run["bytes"], run["transport"]) == (100, 200_000, "inproc")
    assert "is taken by another program; this broker is at tcp://" in err
    assert len(err.splitlines()) == 1


def test_one_message_each(endpoint: str, home: Path, capsys: Capture) -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=1, client=False) as lab:
        assert lab.wait_registered(1, WAIT)
        for command in ("ping", "pingt", "data"):
            assert main([command, "--connect", endpoint]) == 0
    ping, pingt, data = capsys.readouterr().out.splitlines()
    assert ping == "ping: sent, no reply is asked for"
    assert pingt.startswith("pingt: ")
    assert data.startswith("data: 1,024 bytes, ")
    assert [run["kind"] for run in kept(home)] == ["ping", "ping", "data"]


def test_brokers_of_two_systems_run_side_by_side_as_far_apart_as_their_defaults(start: Start) -> None:
    names = ("conversation", "negotiated")
    first, second = (int(SYSTEMS[name].endpoint.rpartition(":")[2]) for name in names)
    between = second - first
    endpoint = free_endpoint([*SIDES, *(between + side for side in SIDES)])
    for name, at in zip(names, (endpoint, beside(endpoint, between)), strict=True):
        assert said(start("broker", "--system", name, "--bind", at)) == f"ready {at}\n"
        assert said(start("worker", "--system", name, "--connect", at)) == f"ready 1 worker at {at}\n"


def test_a_worker_that_finds_another_protocol_says_which(start: Start, endpoint: str) -> None:
    said(start("broker", "--system", "pingpong", "--bind", endpoint))
    worker = start("worker", "--system", "conversation", "--connect", endpoint)
    assert worker.stderr is not None
    waits, which = worker.stderr.readline(), worker.stderr.readline()
    assert waits.endswith("to 1 worker; waiting\n")
    assert (
        which == f"roundhouse: {endpoint} speaks pingpong (seed 002), not conversation: use --system pingpong there\n"
    )
