"""A lab of another process, which is a real one in this process behind its control socket."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.drive.control.found import running
from engine.errors import Refused
from engine.labs import controlsession, link
from engine.labs.audit import Audit, who
from engine.labs.live import LiveLab
from engine.labs.remote import Remote
from engine.parts.bulk import BulkSpec
from tests.helpers.processes import WAIT, free_endpoint, until

ROUND = SYSTEMS["roundrobin"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "HERTZ", 20)
    monkeypatch.setattr(link, "STALE", WAIT)
    monkeypatch.setattr(link, "PATIENCE", WAIT)


@pytest.mark.usefixtures("quick")
def test_a_run_is_ordered_seen_and_traced_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ROUND.options(heartbeat=0.5)
    with LiveLab(ROUND, options, bind=(free_endpoint(),), workers=2, control=tmp_path / "c", role="console") as there:
        (found,) = running(tmp_path / "c", 60)
        there.audit = audit = Audit(tmp_path / "orders.log", found.name)
        with Remote(found, ROUND) as lab:
            until(lambda: len(lab.feed.picture("broker").workers) == 2)
            named = {"worker-1", "worker-2"}
            until(lambda: {lab.seat_of(row.key) for row in lab.feed.picture("broker").workers} == named)
            assert lab.options == options and lab.endpoints == there.endpoints and found.role == "console"
            until(lambda: {*(lab.feed.picture("pool") or {})} == {"worker-1", "worker-2"})
            trace = lab.trace(500)
            lab.attach(trace)
            until(lambda: there._taps._traces)
            lab.run(BulkSpec("ping", 20, in_flight=5, timeout=60.0))
            until(lambda: (client := lab.feed.picture("client")) and client.run and client.run.state == "ended")
            until(lambda: {"TRACKEXEC PING", "INCREMENT"} <= {arrow.entry.command for arrow in trace.arrows()})

            def whole() -> list[Any]:
                return [arrow for arrow in trace.arrows() if arrow.task is not None and len(arrow.ends) == 2]

            until(whole)
            assert whole()[0].state == "arrived" and "lost" not in trace.cost()
            assert lab.hurts("freeze w1 5").startswith(f"freeze w1 by 5 s in process {found.pid}: ")
            with pytest.raises(Refused, match="no fault 'flood'"):
                lab.hurts("flood w1")
            with pytest.raises(Refused, match="no 'w9' in this process"):
                lab.hurt("kill w9")
            lab.hurt("kill w2")
            with pytest.raises(Refused, match="this lab does not take that order"):
                lab.acknowledge("backlog")  # nobody watches there
            with pytest.raises(Refused, match="this lab does not take that order"):
                lab.silence("backlog", 60.0)
            said = ["run 20 ping", "hurt kill w9", "hurt kill w2", "acknowledge backlog", "silence backlog 60.0"]
            until(lambda: [line["what"] for line in audit.lines(9)] == said)
            line = audit.lines(9)[2]
            assert (line["who"], line["result"].partition(":")[0]) == (
                who(),
                "done",
            ) and f"process {os.getpid()} " in line["from"]
            lab.detach(trace)
            until(lambda: not there._taps._traces)
            lab.attach(trace)
            until(lambda: there._taps._traces)
            monkeypatch.setattr(controlsession, "UNPULLED", 0.0)
        until(lambda: not there._taps._traces)
        assert there.health().dead == ()


@pytest.mark.usefixtures("quick")
def test_a_process_of_workers_alone_is_a_table_of_them(tmp_path: Path) -> None:
    endpoint = free_endpoint()
    with (
        LiveLab(ROUND, bind=(endpoint,), workers=0, client=False),
        LiveLab(
            ROUND, connect=endpoint, workers=2, broker=False, client=False, control=tmp_path / "c", role="worker"
        ) as there,
    ):
        (found,) = running(tmp_path / "c", 60)
        with Remote(found, ROUND) as lab:
            until(lambda: [row.state for row in lab.feed.picture("broker").workers] == ["ready", "ready"])
            lab.add_workers(1)
            until(lambda: len(lab.feed.picture("broker").workers) == 3)
            lab.stop_worker(lab.feed.picture("broker").workers[0].key)
            until(lambda: there.workers().here == 2)
