"""Bulk runs of a whole lab on real sockets: what is recorded, refused and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec
from engine.runs.history import History
from tests.helpers.processes import WAIT, until


def test_runs_of_both_kinds_pass_and_the_books_balance(lab: LiveLab) -> None:
    for spec in (BulkSpec("ping", 200, timeout=WAIT), BulkSpec("data", 200, size=1024, in_flight=200, timeout=WAIT)):
        lab.run(spec)
        assert lab.wait_run(WAIT)
        report = lab.report()
        assert (report["verdict"], report["succeeded"], report["failed"]) == ("pass", 200, {})
        assert report["ledger"]["balanced"]
    view = lab.table()
    assert (view.ledger.sent, view.ledger.succeeded, view.in_flight, view.backlog) == (400, 400, 0, 0)
    assert sum(row.done for row in view.workers) == 400


def test_a_record_says_what_watching_cost_and_stays_as_it_was_kept(endpoint: str, tmp_path: Path) -> None:
    history = History(tmp_path)
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=1, history=history) as lab:
        assert lab.wait_linked(WAIT)
        lab.feed.refresh = 3.5
        lab.run(BulkSpec("ping", 30, timeout=WAIT))
        assert lab.wait_run(WAIT)
        report = lab.report()
        lab.feed.refresh = 1.0
        assert lab.report() == report
        until(lambda: history.list()[0])
        assert history.list()[0] == [report]
        assert report["observer"] is not None and report["observer"]["refresh_hz"] == 3.5
        assert report["observer"]["loop_lag_us"] >= 0 and report["warmup"] == 3


def test_a_run_whose_workers_all_die_ends_in_bounded_time_with_failures_by_kind(lab: LiveLab) -> None:
    for name in lab._nodes["pool"].names():
        lab._nodes["pool"].remove(name).result(WAIT)
    lab.run(BulkSpec("ping", 20, timeout=0.2))
    assert lab.wait_run(WAIT)
    report = lab.report()
    assert (report["verdict"], report["succeeded"], report["failed"]) == ("fail", 0, {"timeout": 20})
    assert report["ledger"]["balanced"]


def test_a_run_that_nobody_is_there_for_is_kept(lab: LiveLab, tmp_path: Path) -> None:
    history = History(tmp_path)
    nobody = LiveLab(SYSTEMS["roundrobin"], connect="ipc:///nobody", workers=0, broker=False, history=history)
    with nobody:
        record = nobody.give_up(BulkSpec("ping", 10, timeout=WAIT))
    assert (record["requested"], record["sent"], record["transport"], record["verdict"]) == (10, 0, "ipc", "fail")
    assert history.list() == ([record], [])


def test_a_second_run_is_refused_while_one_is_going(lab: LiveLab) -> None:
    lab.run(BulkSpec("ping", 1000, rate=100.0, timeout=WAIT))
    with pytest.raises(Refused, match="a run is going on"):
        lab.ping()
    lab.stop_run()
    assert lab.wait_run(WAIT)
    report = lab.report()
    assert report["verdict"] == "stopped"
    assert report["sent"] < 1000
    with pytest.raises(Refused, match="no run"):
        lab.stop_run()
