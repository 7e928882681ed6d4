from __future__ import annotations

import json
from pathlib import Path

from console.screens.kept import run_page, started
from engine.runs.export import to_csv
from engine.runs.record import read, run_id
from tests.helpers.fake_lab import FakeLab, kept_run
from tests.helpers.pilot import Driver, drive
from tests.helpers.runs import a_run


def test_runs_are_listed_and_one_is_opened(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.kept.append({**kept_run(7, "ping"), "started_at": "2027-01-01T00:00:00+01:00"})
        await driver.press("r")
        rows = [line for line in driver.screen() if "PASS" in line or "FAIL" in line]
        assert len(rows) == 4
        assert "2027-01-01 00:00:00+01:00" in rows[0] and "✓ PASS" in rows[0]
        assert sum("× FAIL" in row for row in rows) == 1
        await driver.press("down", "enter")
        assert (
            driver.shows("╭─ run · 2027-01-01T00:00:00+01:00")
            and driver.shows("service   p50")
            and driver.shows("ledger    ")
        )
        await driver.press("escape")
        await driver.press("s", "S")
        await driver.press("escape")
        assert driver.app.screen is driver.main
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_of_which_system_a_run_was_is_shown_before_its_transport(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.kept.append({**kept_run(7, "ping"), "system": "conversation"})
        await driver.press("r")
        assert driver.shows("conversation") and driver.shows("system")

    drive(scenario, tmp_path)


def test_runs_are_in_order_of_time_and_not_of_local_text(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        summer, winter = "2026-10-25T02:50:00+02:00", "2026-10-25T02:10:00+01:00"  # twenty minutes later
        driver.lab.kept = [{**kept_run(7, "ping"), "started_at": at} for at in (winter, summer)]
        await driver.press("r")
        rows = [line for line in driver.screen() if "2026-10-25" in line]
        assert ["+01:00" in row for row in rows] == [True, False]

    drive(scenario, tmp_path)


def test_no_runs_yet(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("runs")
        assert driver.shows("no runs yet")
        await driver.press("enter")
        assert driver.app.is_running

    drive(scenario, tmp_path, lab=FakeLab(1, busy=False))


def test_the_page_of_a_run_has_its_own_timeout() -> None:
    text = ["".join(part for part, _ in line) for line in run_page(dict(a_run() | {"timeout_s": 2.5}))]
    assert "timeout   2.5 s for each task" in text


def test_a_strange_file_is_shown_and_steers_nothing() -> None:
    lines = run_page({"kind": "\x1b[2J", "verdict": 3, "failed": {"[/b]": "x"}, "deep": [1, {"a": None}], "ok": True})
    text = "\n".join("".join(part for part, _ in line) for line in lines)
    assert text.startswith(" FAIL   ·[2J 0")
    assert "[/b]" in text and '[1, {"a": null}]' in text
    assert "\x1b" not in text


def test_a_strange_file_in_the_list(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.kept = [{"started_at": 5, "kind": None, "requested": "many", "failed": []}]
        await driver.press("r")
        assert driver.shows("× FAIL")
        await driver.press("s", "s", "s", "s", "enter")
        assert driver.app.is_running

    drive(scenario, tmp_path)


def test_when_a_run_began_is_told_to_the_second() -> None:
    assert started({"started_at": "2026-11-28T03:02:03.000456+02:00"}) == "2026-11-28 03:02:03+02:00"
    assert started({"started_at": "2027-01-01T00:00:00+01:00"}) == "2027-01-01 00:00:00+01:00"
    assert (started({}), started({"started_at": None})) == ("", "None")


def test_the_runs_are_exported_and_it_is_said_where(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        runs = [a_run(5), a_run(5, seconds=60)]
        driver.lab.kept = [*map(dict, runs), {"started_at": 5}]
        await driver.press("r", "e")
        name = tmp_path / "state" / "exports" / f"runs-to-{run_id(runs[1])}"
        assert "2 runs in " in driver.screen()[-1]
        assert Path(f"{name}.csv").read_bytes().decode() == to_csv(runs)
        assert [read(run) for run in json.loads(Path(f"{name}.json").read_text("utf-8"))] == runs
        assert sorted(path.name for path in name.parent.iterdir()) == [f"{name.name}.csv", f"{name.name}.json"]
        await driver.press("escape")
        driver.lab.kept = []
        await driver.press("r", "e")
        assert driver.shows("there is nothing to export")
        assert driver.lab.orders == []

    drive(scenario, tmp_path, size=(200, 36))


def test_a_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        (tmp_path / "state").mkdir(exist_ok=True)
        (tmp_path / "state" / "exports").write_text("in the way")
        driver.lab.kept = [dict(a_run(5))]
        await driver.press("r", "e")
        assert driver.shows("the runs can not be exported: ")
        assert driver.lab.orders == []

    drive(scenario, tmp_path)
