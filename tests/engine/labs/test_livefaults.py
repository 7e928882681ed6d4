"""Faults of a running system. What each system makes of them is shown in the simulator; here are real sockets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import SYSTEMS
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.faults.faults import COMMON
from engine.labs.live import LiveLab
from engine.labs.livefaults import FAULTS
from engine.parts.bulk import BulkSpec
from engine.protocols.roundrobin.options import Options
from tests.helpers.processes import WAIT, free_endpoint

QUICK = Options(heartbeat=0.2, expiry=3.0)  # a busy machine may hold a worker up for a second


def facts(lab: LiveLab) -> list[str]:
    return [fact.text for fact in lab.feed.since(0)[0]]


def test_the_words_are_those_of_the_sandbox() -> None:
    common = {fault.name: fault for fault in COMMON}
    for fault in FAULTS:
        known = common[fault.name]
        assert set(known.targets) <= set(fault.targets)
        assert [amount.name for amount in fault.amounts] == [amount.name for amount in known.amounts]


def test_a_worker_that_is_killed_is_missed_and_what_it_held_is_done_by_others() -> None:
    with LiveLab(SYSTEMS["roundrobin"], QUICK, bind=(free_endpoint(),), workers=2, slots=5) as lab:
        assert lab.wait_registered(2, WAIT) and lab.wait_linked(WAIT)
        lab.slow(600.0)  # until all is out
        lab.run(BulkSpec("ping", 10, in_flight=10, timeout=WAIT))
        assert wait_until(lambda: lab.table().in_flight == 10, WAIT)
        assert lab.hurts("kill w2").startswith("w2 vanishes without a word")
        lab.hurt("kill w2")
        lab.slow(0.0)
        assert list(lab.crew()) == ["worker-1"]
        assert lab.wait_run(WAIT)
        assert lab.report()["succeeded"] == 10
        table = lab.table()
        assert [row.state for row in table.workers] == ["ready", "lost"]
        assert dict(table.counters)["redelivered"] == 5
        assert any(text.startswith("w2 vanishes") for text in facts(lab))


def test_a_worker_that_is_frozen_goes_on_where_it_was() -> None:
    with LiveLab(
        SYSTEMS["roundrobin"], replace(QUICK, expiry=30.0), bind=(free_endpoint(),), workers=1, slots=5
    ) as lab:
        assert lab.wait_registered(1, WAIT) and lab.wait_linked(WAIT)
        lab.hurt("freeze w1 0.5")
        lab.run(BulkSpec("ping", 5, in_flight=5, timeout=WAIT))
        assert lab.wait_run(WAIT)
        assert lab.report()["succeeded"] == 5 and lab.table().workers[0].failed == 0
        assert "w1 is stopped for 0.5 s, and then goes on where it was" in facts(lab)


@pytest.mark.parametrize("line", ["restart w1", "restart broker"])
def test_whoever_is_started_anew_is_back_under_its_name(line: str) -> None:
    with LiveLab(SYSTEMS["roundrobin"], QUICK, bind=(free_endpoint(),), workers=1, slots=5) as lab:
        assert lab.wait_registered(1, WAIT) and lab.wait_linked(WAIT)
        (before,) = lab.table().workers
        lab.hurt(line)
        if line == "restart broker":
            assert wait_until(lambda: [row.joined > before.joined for row in lab.table().workers] == [True], WAIT)
        assert wait_until(lambda: lab.registered() == 1 and lab.client_view().linked, WAIT)
        assert lab.table().workers[0].key == before.key
        lab.run(BulkSpec("ping", 3, timeout=WAIT))
        assert lab.wait_run(WAIT) and lab.report()["succeeded"] == 3


def test_what_is_not_here_is_refused_by_name() -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=1, slots=5) as lab:
        for line, words in (
            ("kill w7", "no 'w7' in this process"),
            ("kill broker", "there are w1"),
            ("freeze w1 0", "from 0.1 to 600"),
            ("drop w1", "no fault 'drop'"),
        ):
            with pytest.raises(Refused, match=words):
                lab.hurt(line)
        lab.readonly = True
        with pytest.raises(Refused, match="readonly"):
            lab.hurt("kill w1")
