"""Screens that are left twice, for keys come faster than screens go."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.command import CommandList
from textual.screen import Screen
from textual.widgets import Static

from console.screens.layer import Layer, Palette, Question


@pytest.mark.parametrize("kind", [Layer, Question, Palette])
def test_it_is_left_once_and_only_from_the_top(kind: type[Any]) -> None:
    answers: list[object] = []

    async def scenario() -> None:
        app = App[None]()
        async with app.run_test() as pilot:
            below: Screen[None] = Layer()
            await app.push_screen(below)
            first, above = kind(), Layer()
            await app.push_screen(first, answers.append)
            await app.push_screen(above)
            await first.dismiss()
            assert app.screen is above, "what lies above is not left instead"
            await above.dismiss()
            first.dismiss()
            first.dismiss()
            await pilot.pause()
            assert app.screen is below
            first.dismiss()
            await pilot.pause()
            assert app.screen is below

    asyncio.run(scenario())
    assert answers == [None]


def test_the_palette_finds_its_parts_when_it_has_been_left() -> None:
    async def scenario() -> None:
        app = App[None]()
        async with app.run_test() as pilot:
            palette = Palette()
            await app.push_screen(palette)
            commands = palette.query_one(CommandList)
            await palette.dismiss()
            await pilot.pause()
            assert not palette.children
            assert palette.query_one(CommandList) is commands
            palette._gather_commands("late")
            palette._action_command_list("page_up")
            palette._action_cursor_down()
            unbuilt = Palette()
            unbuilt._action_cursor_down()
            await pilot.pause()

    asyncio.run(scenario())


def test_one_that_is_closed_before_it_was_built_has_no_beginning_and_no_end() -> None:
    told: list[str] = []

    class Told(Layer):
        def compose(self) -> ComposeResult:
            yield Static()

        def on_mount(self) -> None:
            told.append("begins")

        def on_unmount(self) -> None:
            told.append("ends")

    async def scenario() -> None:
        never, built = Told(), Told()
        await never.on_event(events.Mount())
        await never.on_event(events.Unmount())
        assert told == []
        async with App[None]().run_test() as pilot:
            await pilot.app.push_screen(built)
            await built.dismiss()

    asyncio.run(scenario())
    assert told == ["begins", "ends"]


def test_a_palette_may_be_opened_while_another_is_still_closing() -> None:
    async def scenario() -> None:
        async with App[None]().run_test() as pilot:
            first, second = Palette(), Palette()
            await pilot.app.push_screen(first)
            first.dismiss()
            await pilot.app.push_screen(second)
            assert pilot.app.screen is second

    asyncio.run(scenario())
