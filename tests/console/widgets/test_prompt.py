from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from tests.helpers.pilot import Driver, drive


def value(driver: Driver) -> str:
    return driver.main.query_one("#line", Input).value


def test_what_is_typed_ahead_goes_into_the_line(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.type(":bulkping 7")
        assert value(driver) == "bulkping 7"
        assert driver.screen()[-1].startswith(" :bulkping 7")
        await driver.press("enter")
        assert [order[0] for order in driver.lab.orders] == ["run"]
        assert driver.lab.orders[0][1].n == 7

    drive(scenario, tmp_path)


def test_signs_are_letters_within_a_line(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.type("/a/b:c")
        assert value(driver) == "a/b:c"
        await driver.press("escape")
        assert driver.lab.orders == []

    drive(scenario, tmp_path)


def test_history_completion_and_giving_up(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("ping")
        await driver.command("pingt")
        await driver.type(":")
        await driver.press("up")
        assert value(driver) == "pingt"
        await driver.press("up")
        assert value(driver) == "ping"
        await driver.press("down", "down")
        assert value(driver) == ""
        await driver.type("endb")
        await driver.press("tab")
        assert value(driver) == "endbulk"
        await driver.press("escape")
        assert driver.main.focused is driver.main.table
        assert driver.lab.orders == [("ping", False), ("ping", True)]

    drive(scenario, tmp_path)
    assert (tmp_path / "state" / "history").read_text() == "ping\npingt\n"


def test_a_filter_begins_with_the_one_that_is_set_and_has_no_history(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.type("/tern")
        await driver.press("enter")
        await driver.type("/")
        assert value(driver) == "tern"
        await driver.press("up", "tab")
        assert value(driver) == "tern"
        await driver.press("escape")
        assert driver.main.table.filter is None

    drive(scenario, tmp_path)
