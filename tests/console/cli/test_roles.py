"""A role serves until a signal comes or a thread of its own dies. With real sockets: tests/loopback/test_cli.py."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest

from console.cli.roles import drain, finish, joined, look, serve
from console.cli.signals import Signals
from console.cli.streams import Alarms
from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.health import Health, Workers
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.parts.ledger import Ledger
from engine.parts.orders import Throttle
from engine.parts.view import BrokerView, Kept, WorkerView
from engine.protocols import pingpong, roundrobin
from engine.system import System
from tests.helpers.processes import WAIT, free_endpoint, until


class Server:
    """A lab of which a thread dies, or whose process gets a signal, at the third look."""

    def __init__(self, dies: bool) -> None:
        self.feed = Feed()
        self._dies, self._looks = dies, 0

    def health(self) -> Health:
        self._looks += 1
        if self._looks == 3 and self._dies:
            self.feed.fact(Note("bad", "the broker thread died: OSError"), "broker", 0.0)
            return Health(("broker: OSError",), 0.0)
        if self._looks == 3:
            signal.raise_signal(signal.SIGTERM)
        return Health((), 0.0)


@pytest.mark.parametrize(
    ("dies", "status", "told"), [(False, 143, ""), (True, 1, "roundhouse: broker: the broker thread died: OSError\n")]
)
def test_serves_until_the_end(
    dies: bool, status: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.cli.roles.LOOK", 0)
    lab: Any = Server(dies)
    with Signals() as signals:
        assert serve(lab, signals, Alarms(lab.feed).tell) == status
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(("failed", "status"), [(0, 0), (1, 1)])
def test_workers_that_have_all_left_have_nothing_more_to_do(
    failed: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Left(Server):
        def health(self) -> Health:
            return Health((), 0.0, failed)

    monkeypatch.setattr("console.cli.roles.LOOK", 0)
    lab: Any = Left(False)
    here = [True, True, False]
    with Signals() as signals:
        assert serve(lab, signals, Alarms(lab.feed).tell, busy=lambda: here.pop(0)) == status
    assert here == []


def test_workers_that_are_too_busy_to_say_are_still_there() -> None:
    class Busy:
        def workers(self) -> Workers:
            raise Refused("the pool does not answer: it is too busy")

    lab: Any = Busy()
    assert look(lab) is None and not joined(None)
    lab.workers = lambda: Workers(2, 1)
    assert look(lab) == (2, 1) and not joined(Workers(2, 1)) and joined(Workers(2, 2))


class Crew:
    """A lab whose workers hold tasks for so many looks."""

    def __init__(self, looks: int) -> None:
        self.left, self.told = looks, 0

    def workers(self) -> Workers:
        return Workers(2, 2)

    def remove_workers(self, n: int) -> None:
        self.told = n

    def crew(self) -> dict[str, WorkerView]:
        self.left -= 1
        return {"w1": WorkerView(0.0, "working", 10, max(0, self.left), 0, 0.0)}


def test_after_a_signal_workers_finish_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.cli.roles.STEP", 0.001)
    lab: Any = Crew(5)
    with Signals() as signals:
        drain(lab, signals)
        assert (lab.told, lab.left) == (0, 5)
        signal.raise_signal(signal.SIGTERM)
        drain(lab, signals)
    assert (lab.told, lab.left) == (2, 0)


def test_a_second_signal_ends_them_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    lab: Any = Crew(10**9)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        drain(lab, signals)
    assert lab.left == 10**9 - 1 and capsys.readouterr().err == ""


def test_workers_that_do_not_finish_are_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.cli.roles.DRAIN", 0.01)
    monkeypatch.setattr("console.cli.roles.STEP", 0.001)
    lab: Any = Crew(10**9)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        drain(lab, signals)
    assert "workers still hold tasks after 0 s; they are given up" in capsys.readouterr().err


class Serving:
    """A lab whose broker has so many tasks with workers, one fewer at each look, and 7 that wait."""

    def __init__(self, held: int, system: System = roundrobin.SYSTEM, kept: Kept | None = None) -> None:
        self.held, self.system, self.kept = held, system, kept
        self.orders: list[object] = []
        self.looks = 0

    def steer(self, order: object) -> None:
        self.orders.append(order)

    def table(self) -> BrokerView:
        self.looks += 1
        held = max(0, self.held - self.looks + 1)
        return BrokerView(0.0, (), 7, held, Ledger().view(held, 7), (), (), kept=self.kept)


@pytest.mark.parametrize("name", SYSTEMS)
def test_after_a_signal_what_is_out_is_finished_and_what_waits_where_the_system_can_not_pause(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.cli.roles.FINISH", WAIT)
    system = SYSTEMS[name]
    pauses = Throttle in system.takes
    with LiveLab(system, bind=(free_endpoint(),), workers=1, slots=2) as lab, Signals() as signals:
        assert lab.wait_linked(WAIT) and lab.wait_registered(1, WAIT)
        lab.slow(0.2)
        lab.run(BulkSpec("ping", 500 if pauses else 5, in_flight=500, timeout=WAIT))
        until(lambda: lab.table().in_flight and lab.table().backlog, "tasks with a worker, and some that wait")
        signal.raise_signal(signal.SIGTERM)
        finish(lab, signals)
        view = lab.table()
    err = capsys.readouterr().err
    assert view.in_flight == 0 and view.ledger.failed == ()
    assert (f"{view.backlog} that waited, 0 with workers" in err) is pauses and bool(view.backlog) is pauses
    assert ("and what waits" in err) is not pauses


def test_a_broker_that_does_not_answer_loses_nobody_knows_what(capsys: pytest.CaptureFixture[str]) -> None:
    class Mute(Serving):
        def table(self) -> BrokerView:
            raise Refused("the broker does not answer")

    lab: Any = Mute(3)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        finish(lab, signals)
    assert "what is lost is not known: the broker does not answer" in capsys.readouterr().err


def test_a_broker_that_nobody_ends_goes_on() -> None:
    lab: Any = Serving(3)
    with Signals() as signals:
        finish(lab, signals)
    assert (lab.orders, lab.looks) == ([], 0)


@pytest.mark.parametrize(
    ("system", "orders"),
    [(roundrobin.SYSTEM, [Throttle(0.0)]), (replace(pingpong.SYSTEM, takes=()), [])],
    ids=["pauses", "can not"],
)
def test_after_a_signal_a_broker_waits_for_its_workers_and_says_what_is_lost(
    system: System, orders: list[object], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.cli.roles.STEP", 0.001)
    lab: Any = Serving(4, system)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        finish(lab, signals)
    assert lab.orders == orders and lab.looks >= 6
    more = "" if orders else ", and what waits"
    assert capsys.readouterr().err == (
        f"roundhouse: ends once workers have finished 4 tasks{more}, after 10 s at most; "
        "a second signal ends it at once\n"
        "roundhouse: 7 tasks lost (7 that waited, 0 with workers): this broker has no store\n"
    )


def test_nothing_is_lost_that_a_store_keeps(capsys: pytest.CaptureFixture[str]) -> None:
    lab: Any = Serving(0, kept=Kept(7, 0, ""))
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        finish(lab, signals)
    assert lab.orders == [Throttle(0.0)] and capsys.readouterr().err == ""


def test_a_second_signal_ends_a_broker_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    lab: Any = Serving(10**9)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        finish(lab, signals)
    assert lab.looks == 2 and "999,999,999 with workers" in capsys.readouterr().err


def test_workers_that_do_not_finish_hold_a_broker_no_longer_than_its_bound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.cli.roles.FINISH", 0.01)
    monkeypatch.setattr("console.cli.roles.STEP", 0.001)
    lab: Any = Serving(10**9)
    with Signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        finish(lab, signals)
    assert lab.looks < 20 and "lost" in capsys.readouterr().err
