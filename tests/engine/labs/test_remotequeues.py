"""A pipeline that others run: looked at in its folder, ordered over the control socket of its console."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.drive.control.found import running
from engine.errors import Refused
from engine.labs import link
from engine.labs.queues import LiveQueueLab
from engine.labs.remotequeues import RemoteQueues
from engine.protocols.diskqueue.options import Options
from tests.helpers.processes import WAIT, until


def test_it_is_watched_and_ordered_and_never_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "STALE", WAIT)
    monkeypatch.setattr(link, "PATIENCE", WAIT)
    with LiveQueueLab(Options(poll=0.05), control=tmp_path / "c") as there:
        (found,) = running(tmp_path / "c", 60)
        assert (found.system, found.role, found.root) == ("diskqueue", "console", there.root)
        with RemoteQueues(found) as lab:
            assert lab.mode == "remote" and lab.watches and not lab.readonly
            until(lambda: len(lab.view().drivers) == 6)
            lab.pause_stage("values")
            until(lambda: any(row.state == "paused" for row in lab.view().stages))
            lab.resume_stage("values")
            lab.set_workers("parse", 5)
            until(lambda: sum(driver.stage == "parse" for driver in lab.view().drivers) == 5)
            with pytest.raises(Refused, match="pausing a stage is refused: there is no stage nonsense"):
                lab.pause_stage("nonsense")
            with pytest.raises(Refused, match="killing a driver is refused: driver 999 has ended"):
                lab.kill_driver("999")
            (tmp_path / "doc-one").write_text("1\n")
            lab.feed_files([str(tmp_path / "doc-one")])
            until(lambda: any("doc-one is fed" in fact.text for fact in there.feed.since(0)[0]))
            with pytest.raises(Refused, match="trying a document again is refused: nobody can not be tried again"):
                lab.retry("values", "nobody")
            assert lab.health().dead == ()
        with RemoteQueues(found, readonly=True) as lab, pytest.raises(Refused, match="readonly is set"):
            lab.set_workers("parse", 1)
        assert there.view().state == "running", "it ended nothing"
