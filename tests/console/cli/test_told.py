from __future__ import annotations

import pytest

from console.cli.told import RoleLog, of_broker, table
from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.parts.ledger import Ledger
from engine.parts.view import BrokerView, WorkerRow
from tests.helpers.processes import WAIT


@pytest.mark.parametrize(
    ("level", "shown"), [(None, ("warn", "bad")), (0, ("bad",)), (1, ("good", "info", "warn", "bad"))]
)
def test_a_level_says_what_is_told(
    level: int | None, shown: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    lab = LiveLab(SYSTEMS["roundrobin"], workers=0, client=False)
    told = RoleLog(lab, level)
    for name in ("good", "info", "warn", "bad"):
        lab.feed.fact(Note(name, f"{name}ness"), "broker", 1.0)
    told.tell()
    assert capsys.readouterr().err == "".join(f"roundhouse: broker: {name}ness\n" for name in shown)
    told.count("statistics")
    assert capsys.readouterr().err == ""


def test_an_order_changes_how_much_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLab(SYSTEMS["roundrobin"], workers=0, client=False) as lab:
        told = RoleLog(lab, None)
        told.begin()
        said = []
        for level in ("error", "info", "warning"):
            assert lab.log_level(level) == f"events are logged from {level} on"
            for name in ("info", "warn", "bad"):
                lab.feed.fact(Note(name, f"{level} {name}ness"), "x", 1.0)
            told.tell()
            said += [line.removeprefix("roundhouse: x: ") for line in capsys.readouterr().err.splitlines()]
        assert [line for line in said if line.endswith("ness")] == [
            "error badness",
            *(f"info {name}ness" for name in ("info", "warn", "bad")),
            *(f"warning {name}ness" for name in ("warn", "bad")),
        ]
        with pytest.raises(Refused, match="log-level needs error, warning, info or debug, got 'loud'"):
            lab.log_level("loud")
        lab.log = None
        with pytest.raises(Refused, match="logs nothing on stderr"):
            lab.log_level("info")


def test_the_highest_tells_tasks_and_statistics_that_have_changed(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLab(SYSTEMS["roundrobin"], workers=1, slots=3) as lab:
        told = RoleLog(lab, 5)
        told.begin()
        assert lab.wait_registered(1, WAIT) and lab.wait_linked(WAIT)
        lab.ping()
        assert lab.wait_run(WAIT)
        told.tell()
        assert "client → broker: TRACKEXEC PING task=0" in capsys.readouterr().err
        words = of_broker(lab.table())
        assert words.startswith("1 worker, 1 task: 1 succeeded, 0 failed")
        told.count(words)
        told.count(words)
        assert capsys.readouterr().err == f"roundhouse: {words}\n"
        assert table(lab.table()).startswith("1 worker in the table\n     3 of 3    free  ready")


def test_the_table_is_in_the_order_in_which_workers_get_tasks() -> None:
    rows = [WorkerRow(key, "", "ready", 2, 1, 1, 0, 0, 0, 0.0, 0.0, 9.0, None) for key in (b"a", b"b", b"c")]
    view = BrokerView(0.0, tuple(rows), 0, 0, Ledger().view(0, 0), (), (), order=(b"c", b"a"))
    assert [line.split("done")[1].split() for line in table(view).splitlines()[1:]] == [["c", "next"], ["a"], ["b"]]
