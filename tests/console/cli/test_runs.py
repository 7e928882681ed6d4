"""How a run is asked for, followed and shown. With a real engine: tests/loopback/test_cli.py."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.cli.common import lab_of, settings_of
from console.cli.runs import follow, meet, one_line, patience, show, spec_of
from console.cli.signals import Signals
from console.cli.streams import STDOUT, Progress, unanswered
from engine.catalogue import SYSTEMS
from engine.core import NEVER
from engine.errors import Refused
from engine.parts.bulk import Bulk, BulkSpec, BulkView
from engine.runs.record import from_json, to_json
from engine.runs.summary import summary
from engine.settings.settings import Flag
from tests.helpers.runs import a_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[Signals]:
    monkeypatch.setattr("console.cli.runs.STEP", 0.001)
    with Signals() as entered:
        yield entered


class Running:
    """A lab with a run of which a second passes with every look."""

    def __init__(self, spec: BulkSpec, *, replies: int = 0, signal_at: int = 0, begins_at: float = 2) -> None:
        self._bulk = Bulk(spec, 0.0)
        self._now = 0.0
        self._replies, self._signal_at, self._begins_at = replies, signal_at, begins_at
        self.stops = 0
        self.endpoints = ("tcp://127.0.0.1:6714",)
        self.system = SYSTEMS["roundrobin"]
        self.linked = True
        self.workers = 0

    def run_view(self) -> BulkView | None:
        self._now += 1.0
        if self._now == self._signal_at:
            signal.raise_signal(signal.SIGTERM)
        if self._now < self._begins_at:
            return None  # the client has not got the order yet
        while (task := self._bulk.due(self._now)) is not None:
            if task < self._replies:
                self._bulk.replied(task, self._now)
        self._bulk.expire(self._now)
        return self._bulk.view(self._now)

    def stop_run(self) -> None:
        self.stops += 1
        self._bulk.stop(self._now)

    def wait_run(self, timeout: float) -> bool:
        return False

    def wait_linked(self, timeout: float) -> bool:
        return self.linked

    def wait_registered(self, n: int, timeout: float) -> bool:
        return self.workers >= n

    def registered(self) -> int:
        return self.workers

    @property
    def view(self) -> BulkView:
        return self._bulk.view(self._now)


def followed(lab: Any, signals: Signals) -> BulkView:
    follow(lab, signals, Progress("bulkping"))
    view: BulkView = lab.view
    return view


@pytest.mark.parametrize(
    ("command", "spec"),
    [
        ("ping", BulkSpec("ping", 1, timeout=2.0, tracked=False)),
        ("pingt", BulkSpec("ping", 1, timeout=2.0)),
        ("data", BulkSpec("data", 1, size=1024, in_flight=1, timeout=2.0)),
        ("bulkping", BulkSpec("ping", 7, timeout=2.0, rate=3.0)),
        ("bulkdata", BulkSpec("data", 7, size=1024, in_flight=7, timeout=2.0, rate=3.0)),
    ],
)
def test_what_a_command_asks_of_the_client(command: str, spec: BulkSpec, home: Path) -> None:
    flags = [Flag(("run", "count"), "N", "7"), Flag(("run", "timeout"), "--timeout", "2")]
    assert spec_of(command, settings_of(flags), spec.rate, 10_000) == spec


def test_a_run_is_followed_to_its_end(signals: Signals, capsys: Capture) -> None:
    lab = Running(BulkSpec("ping", 100), replies=100)
    assert followed(lab, signals).passed
    assert lab.stops == 0
    assert capsys.readouterr() == ("", "")


def test_a_run_in_which_nothing_succeeds_is_given_up(signals: Signals, capsys: Capture) -> None:
    lab = Running(BulkSpec("ping", 1_000_000, timeout=2.0), replies=5)
    view = followed(lab, signals)
    assert (view.state, view.stopped, lab.stops) == ("ended", True, 1)
    assert view.ledger.succeeded == 5
    assert dict(view.ledger.failed) == {"timeout": view.sent - 5}
    assert capsys.readouterr().err == "roundhouse: nothing has succeeded for 11 s: the run is stopped\n"


def test_a_signal_ends_a_run_that_its_client_never_begins(signals: Signals) -> None:
    lab = Running(BulkSpec("ping", 1), signal_at=3, begins_at=NEVER)
    follow(lab, signals, Progress("ping"))  # type: ignore[arg-type]
    assert (signals.caught, lab.stops) == (signal.SIGTERM, 0)


@pytest.mark.parametrize(
    ("system", "most"),
    [("roundrobin", "1,048,576"), ("conversation", "1,048,576"), ("pingpong", ""), ("negotiated", "")],
)
def test_data_that_no_task_can_carry_is_refused_before_anything_runs(system: str, most: str, home: Path) -> None:
    settings = settings_of([Flag(("system",), "--system", system), Flag(("run", "bytes"), "--bytes", "2097152")])
    lab, spec = lab_of(settings), spec_of("data", settings, None, 10_000)
    if not most:  # of what the setting allows
        lab.admit(spec)
        return
    with pytest.raises(Refused, match=f"a data task of {system} carries up to {most} bytes, not 2,097,152"):
        lab.admit(spec)


def test_patience_grows_with_timeouts_and_pauses() -> None:
    assert patience(BulkSpec("ping", 1)) == 15.0
    assert patience(BulkSpec("ping", 1, timeout=1.0)) == 10.0
    assert patience(BulkSpec("ping", 1, timeout=1.0, rate=0.01)) == 300.0


def test_a_signal_stops_the_run_and_waits_a_little_for_what_is_out(signals: Signals) -> None:
    lab = Running(BulkSpec("ping", 1_000_000, timeout=1000.0), signal_at=5)
    view = followed(lab, signals)
    assert (view.state, lab.stops, signals.caught) == ("stopping", 1, signal.SIGTERM)
    assert view.ledger.in_flight == 10


def test_a_broker_that_is_there(signals: Signals, capsys: Capture) -> None:
    lab: Any = Running(BulkSpec("ping", 1))
    lab.workers = 3
    assert meet(lab, signals, 0, 0.1, "tcp://h:1")
    assert meet(lab, signals, 3, 0.1, None)
    assert capsys.readouterr().err == ""
    assert meet(lab, signals, 4, 0.1, None)
    assert capsys.readouterr().err == "roundhouse: 3 of 4 workers joined\n"


def test_a_broker_that_is_not_there(signals: Signals, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    lab: Any = Running(BulkSpec("ping", 1))
    lab.linked = False
    assert not meet(lab, signals, 0, 0.005, "tcp://h:1")
    assert capsys.readouterr().err == f"roundhouse: {unanswered('roundrobin', 'tcp://h:1')}\n"
    signal.raise_signal(signal.SIGTERM)
    assert not meet(lab, signals, 0, 1000.0, None)
    assert capsys.readouterr().err == ""


def test_a_client_that_gives_up_has_met_no_broker(signals: Signals, capsys: Capture) -> None:
    class Leaving(Running):
        def wait_linked(self, timeout: float) -> bool:
            raise Refused("the client has left")

    lab: Any = Leaving(BulkSpec("ping", 1))
    assert not meet(lab, signals, 0, 1000.0, "tcp://h:1")
    assert capsys.readouterr().err == f"roundhouse: {unanswered('roundrobin', 'tcp://h:1')}\n"


def test_a_run_is_printed(capsys: Capture) -> None:
    run = a_run(3)
    assert show("bulkping", run, None)
    assert capsys.readouterr().out == summary(run)
    assert show("bulkping", run, STDOUT)
    assert capsys.readouterr().out == to_json(run)


def test_a_run_is_written_to_a_file_or_a_pipe(tmp_path: Path, capsys: Capture) -> None:
    run = a_run(3)
    assert show("bulkping", run, tmp_path / "run.json")
    assert from_json((tmp_path / "run.json").read_bytes()) == run
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert show("bulkping", run, pipe)
        assert from_json(os.read(reader, 65536)) == run
    finally:
        os.close(reader)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "run.json"]
    assert capsys.readouterr() == (summary(run) * 2, "")


def test_a_file_that_can_not_be_written_is_told_and_the_run_still_printed(tmp_path: Path, capsys: Capture) -> None:
    run = a_run(3)
    assert not show("bulkping", run, tmp_path / "gone" / "run.json")
    assert capsys.readouterr() == (
        summary(run),
        f"roundhouse: --json {tmp_path}/gone/run.json: No such file or directory\n",
    )


def test_one_message_is_one_line() -> None:
    run = a_run(1)
    assert one_line("ping", run) == "ping: sent, no reply is asked for\n"
    assert one_line("pingt", run) == "pingt: 1.00 ms\n"
    run["bytes"] = 1024
    assert one_line("data", run) == "data: 1,024 bytes, 1.00 ms\n"
    run["verdict"] = "fail"
    assert one_line("ping", run) == "ping: failed, not sent\n"
    run["failed"] = {"timeout": 1}
    assert one_line("data", run) == "data: failed, timeout\n"
