from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.pictures.bridge import SETTLE, Run
from console.widgets import runs
from console.widgets.ink import Parts, cells
from console.widgets.runs import bar, kept_line, run_lines, summary_of
from engine.parts.bulk import Bulk, BulkSpec, BulkView
from tests.helpers.fake_lab import FakeLab, kept_run
from tests.helpers.pilot import Driver, drive


def run(n: int = 4, lost: int = 0, left: int = 0) -> BulkView:
    bulk = Bulk(BulkSpec("data", n, 1024), 0.0)
    for i in range(n - left):
        assert bulk.due(0.0) == i
        bulk.failed(i, "timeout", 1.0) if i < lost else bulk.replied(i, 0.001, 1024)
    return bulk.view(2.0)


def text(parts: list[tuple[str, str]]) -> str:
    return "".join(part for part, _ in parts)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(10, 100))
def test_a_bar_takes_what_it_is_given(done: float, failed: float, width: int) -> None:
    assert cells(bar(done, min(failed, done), width, "good")) == width


def test_failures_are_seen_in_the_bar_however_few() -> None:
    assert ("█", "bad") in bar(1.0, 0.00001, 40, "busy")
    assert ("", "bad") in bar(1.0, 0.0, 40, "busy")


def test_a_run_that_is_going() -> None:
    lines = [text(line) for line in run_lines(run(left=2), 36)]
    assert lines[0].startswith("bulkdata 4 × 1 KiB") and lines[0].endswith("▶ running")
    assert lines[1].endswith("50%")
    assert lines[2] == "ok 2  fail 0  in flight 0"
    assert lines[3] == "rate 1/s  time 2.00s  eta 0:02"


def test_a_run_that_has_passed_or_failed() -> None:
    assert text(run_lines(run(), 36)[0]).endswith(" PASS ")
    lines = [text(line) for line in run_lines(run(lost=1), 36)]
    assert lines[0].endswith(" FAIL ")
    assert lines[2:4] == ["ok 3  fail 1  in flight 0", "client's failures: timeout 1"]
    assert "p99 1.0ms" in lines[4]


def test_a_run_of_nothing_yet_has_no_eta() -> None:
    fresh = Bulk(BulkSpec("ping", 10), 0.0).view(0.0)
    assert text(run_lines(fresh, 36)[3]) == "rate 0/s  time 0.00s  eta –"


def test_a_kept_run_on_a_line() -> None:
    assert text(kept_line(kept_run(), 34)) == "✓ bulkdata 2.00k 8.98k/s p99 5.0ms"
    assert text(kept_line(kept_run(500, "ping", failed=3), 34)) == "× bulkping   500 8.98k/s fail    3"
    assert text(kept_line(kept_run(), 28)) == "✓ bulkdata 2.00k   p99 5.0ms"
    assert text(kept_line({}, 34)).startswith("× bulk?")


def test_the_summary_that_stays_on_the_terminal() -> None:
    assert summary_of(run(lost=1)).splitlines() == [
        "bulkdata 4 × 1 KiB: FAIL",
        "  3 of 4 succeeded, failed: timeout 1",
        "  0.00s, p50 1.0ms, p95 1.0ms, p99 1.0ms, timeout 5 s",
    ]
    assert "not finished" in summary_of(run(left=2))


def test_the_panel(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.shows("no run yet")
        driver.lab.kept.append(kept_run())
        driver.app.session.bridge.read_runs()
        for _ in range(SETTLE):
            await driver.tick()
        assert driver.shows("✓ bulkdata 2.00k")

    drive(scenario, tmp_path, lab=FakeLab(3, busy=False))


def test_of_thousands_of_kept_runs_those_are_written_out_that_have_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = list[Run]()

    def counting(run: Run, width: int) -> Parts:
        written.append(run)
        return kept_line(run, width)

    monkeypatch.setattr(runs, "kept_line", counting)

    async def scenario(driver: Driver) -> None:
        driver.app.session.bridge.read_runs()
        await driver.tick()
        panel = driver.main.query_one(runs.Runs)
        assert driver.shows("bulkdata 2.00k")
        written.clear()
        panel.redraw()
        assert 0 < len(written) <= panel.size.height

    lab = FakeLab(3, busy=False)
    lab.kept += [kept_run() for _ in range(2000)]
    drive(scenario, tmp_path, lab=lab)
