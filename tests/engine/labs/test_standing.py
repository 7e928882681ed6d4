"""A trace that goes on though nobody looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.drive.control.found import running
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.remote import Remote
from engine.labs.sandbox import Sandbox
from engine.labs.standing import ON, Standing, wanted
from tests.helpers.processes import free_endpoint, until

ROUND = SYSTEMS["roundrobin"]


def test_what_fits_is_numbered_without_a_gap_and_bounded() -> None:
    with Sandbox(ROUND, workers=2) as lab:
        trace = lab.trace(2000)
        lab.attach(trace)
        lab.advance(3.0)
        whole = Standing(trace, wanted(ON), 50)
        some = Standing(trace, wanted("cmd=*REGISTER"), 50)
        found = some.told(0, 300)
        assert found and {entry.command for entry in found} < {entry.command for entry in trace.entries()}
        assert [entry.number for entry in found] == list(range(1, some.total + 1))
        assert [entry.number for entry in some.told(2, 1)] == [3]
        lab.advance(30.0)
        assert some.told(some.total, 300) == [] and len(whole.told(0, 300)) == 50
        assert whole.told(0, 300)[-1].number == whole.total


def test_what_is_no_filter() -> None:
    with pytest.raises(Refused, match="trace needs on, off or a filter: "):
        wanted("nonsense:5")


def test_whoever_attaches_sees_what_passed_before(tmp_path: Path) -> None:
    with LiveLab(ROUND, bind=(free_endpoint(),), workers=1, control=tmp_path / "c", role="broker") as there:
        (found,) = running(tmp_path / "c", 60)
        with Remote(found, ROUND) as lab:
            assert lab.keep_trace("on") == "the newest 2,000 messages are traced"
            there.ping()
            assert there.wait_run(60)
            trace = lab.trace(500)
            lab.attach(trace)
            until(lambda: "TRACKEXEC PING" in {entry.command for entry in trace.entries()})
            lab.detach(trace)
            lab.keep_trace("cmd=*REGISTER")
            assert lab.keep_trace("off") == "messages are traced while somebody looks"
    alone = LiveLab(ROUND, bind=(free_endpoint(),), workers=0, client=False)
    with alone, pytest.raises(Refused, match="no control socket is open here"):
        alone.keep_trace("on")
