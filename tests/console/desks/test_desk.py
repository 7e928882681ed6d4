from __future__ import annotations

from pathlib import Path

from console.desks.desk import Desk
from console.history import History
from tests.helpers.fake_lab import FakeLab


def test_a_desk_keeps_what_was_seen(tmp_path: Path) -> None:
    lab = FakeLab(4)
    desk = Desk("roundrobin", lab, History(tmp_path / "history"))
    assert desk.other(1, True).ink == "label", "nothing was seen yet"
    picture = desk.look(lab.at)
    assert desk.picture is picture and len(picture.rows) == 4
    lab.advance(0.25)
    assert len(desk.look(lab.at).backlog) == 2
    assert desk.other(1, False) == (1, "roundrobin", "good", False)
    assert desk.summary is not None and desk.summary.startswith("bulkping 100,000: not finished")


def test_a_desk_without_a_run_has_no_summary(tmp_path: Path) -> None:
    lab = FakeLab(1, busy=False)
    assert Desk("roundrobin", lab, History(tmp_path / "history")).summary is None
