"""Two kept runs beside each other on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.screens.compared import compared_lines, name_of, readable
from engine.runs.compare import compare
from engine.runs.record import RunRecord, run_id
from tests.helpers.pilot import Driver, drive
from tests.helpers.runs import a_run


def runs() -> list[RunRecord]:
    """Three alike, of which the last is half as fast."""
    made = [a_run(5, seconds=second) for second in range(3)]
    for run, rate in zip(made, (1000.0, 1010.0, 500.0), strict=True):
        run["rate_per_s"] = rate
    return made


def text_of(found: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(part for part, _ in line) for line in found]


def test_what_is_no_whole_run_has_no_name_and_is_not_compared() -> None:
    whole = a_run()
    assert readable([{}, {**whole, "sent": "many"}, whole]) == [whole]
    assert (name_of(whole), name_of({"started_at": 5})) == (run_id(whole), "")


def test_verdicts_have_colours_and_long_lines_are_wrapped() -> None:
    before, _, after = kept = runs()
    found = compare(before, after, kept, 5.0)
    lines = compared_lines(found, 5.0, 60)
    assert lines[0] == [(f"A  {run_id(before)}", "text bold")]
    assert lines[4][1] == ("regression", "bad bold") and lines[4][0][0].startswith("rate")
    assert {line[1] for line in lines[5:9]} == {("same", "label")}
    assert max(map(len, text_of(lines))) <= 60
    assert " ".join(text_of(lines[10:12])) == (
        "noise from 2 runs like A and 1 like B; a regression is more than 5 % worse and more than the noise"
    )
    assert text_of(lines[13:]) == list(found.shapes)


def test_two_runs_are_chosen_with_one_key(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        before, _, after = kept = runs()
        driver.lab.kept = [dict(run) for run in kept]
        await driver.press("r", "end", "c")
        await driver.tick()
        assert driver.shows(f" {run_id(before)} · A: c on another one compares ")
        assert driver.shows("A 2026-11-28 01:02:03+00:00")
        await driver.press("home")
        await driver.tick()
        assert driver.shows(f" {run_id(after)} · c compares with A, {run_id(before)} ")
        await driver.press("c")
        assert driver.shows("╭─ B against A")
        assert driver.shows(f"A  {run_id(before)}") and driver.shows(f"B  {run_id(after)}")
        rate = next(line for line in driver.screen() if "rate" in line)
        assert rate.split()[2:8] == ["1,000", "/s", "500", "/s", "-50.0", "%"] and "regression" in rate
        await driver.press("escape", "end", "c")  # A again: nothing is to be compared any more
        await driver.tick()
        assert not driver.shows("A: c on another") and driver.shows(f" {run_id(before)} ")
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_two_runs_are_named(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: Driver) -> None:
        before, _, after = kept = runs()
        driver.lab.kept = [dict(run) for run in kept]
        a, b = run_id(before), run_id(after)
        await driver.command(f"compare {a} {b} 60%")
        assert driver.shows("╭─ B against A") and driver.shows("worse") and not driver.shows("%  regression")
        assert driver.shows("more than 60 % worse")
        await driver.press("escape")
        for line, said in (
            (f"compare {a}", "compare needs the ids of two kept runs, and perhaps a bound in percent"),
            (f"compare {a} {b} 5 5", "compare needs the ids of two kept runs, and perhaps a bound in percent"),
            (f"compare {a} {b} much", "the bound: expected a number from 0 to 10,000"),
            (f"compare {a[:-1]} {b}", f"no kept run {a[:-1]!r}; did you mean {a}?"),
        ):
            await driver.command(line)
            assert said in driver.notice and driver.at_main
        assert driver.lab.orders == []

    drive(scenario, tmp_path, size=size)


def test_a_list_without_a_run_and_one_that_is_no_run(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.kept = []
        await driver.press("r", "c")
        assert driver.shows("there is no run to compare")
        await driver.press("escape")
        driver.lab.kept = [{"started_at": 5}]
        await driver.press("r", "c")
        assert driver.shows("this one is no whole run")
        assert driver.lab.orders == []

    drive(scenario, tmp_path)
