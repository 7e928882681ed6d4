from __future__ import annotations

from pathlib import Path

from textual import events
from textual.widgets import Input

from console.widgets.prompt import drained, in_common
from tests.helpers.pilot import Driver, drive


def value(driver: Driver) -> str:
    return driver.app.screen.query_one("#line", Input).value


def test_what_lines_have_in_common() -> None:
    assert in_common(["feed a.txt", "feed ab/", "feed a"]) == "feed a"
    assert in_common(["one"]) == "one" and in_common(["x", "y"]) == ""


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
        assert value(driver) == "endbulk "  # it takes a pool
        await driver.press("escape", "colon")
        await driver.type("bu")
        seen = []
        for _ in range(4):
            await driver.press("tab")
            seen.append(value(driver))
        assert seen == ["bulk", "bulk ", "bulkping ", "bulkdata "], "what they have in common, then each"
        await driver.press("escape", "colon")
        await driver.type("kill X")
        await driver.press("tab")
        assert value(driver) == "kill X", "nobody is called so"
        await driver.press("escape", "colon")
        await driver.type("kill t")
        await driver.press("tab")
        assert value(driver) == "kill tern-01"
        await driver.press("escape", "colon")
        await driver.type("sort ")
        await driver.press("tab", "tab")
        assert value(driver) == "sort slots"
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


NAMES = {":": "colon", " ": "space", "\r": "enter", "\t": "tab", "\x1b": "escape"}


async def burst(driver: Driver, text: str) -> None:
    """Keys that come all at once, as from a terminal that was typed into while nobody looked."""
    for letter in text:
        driver.app.post_message(events.Key(NAMES.get(letter, letter), letter))
    await drained(driver.app)
    await driver.pilot.pause()


def test_each_line_that_is_typed_ahead_is_its_own_and_keys_behind_it_are_orders(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await burst(driver, ":ping\r:bulkp\t7\r:nonsense\x1b:pingt\r:stop\rd")
        asked = [order[0] if order[0] != "run" else (order[1].kind, order[1].n) for order in driver.lab.orders]
        assert asked == ["ping", ("ping", 7), "ping", "stop_run", ("data", 2000)]
        assert driver.at_main and driver.main.focused is driver.main.table and not driver.main.prompt.display

    drive(scenario, tmp_path)
    assert (tmp_path / "state" / "history").read_text() == "ping\nbulkping 7\npingt\nstop\n"
