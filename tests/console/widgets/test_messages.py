"""Rows of messages: the newest stay in view until one is chosen; what is wrong is red; arrows go between lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar

import pytest
from textual.app import App, ComposeResult

from console.themes import load_theme, own_colours, shipped_folder
from console.widgets.ink import INKS
from console.widgets.messages import LadderTable, TraceTable, _ink, key_of
from engine.core import MAIN, Note, Received, Send, Unsent
from engine.protocols.pingpong import SYSTEM
from engine.tracing.links import Arrow
from engine.tracing.trace import Trace

WORKER = ("tcp://127.0.0.1:6715", 7, 1)
Steps = Callable[[TraceTable | LadderTable], Awaitable[None]]


def arrows(n: int) -> list[Arrow]:
    """A PONG, n jobs and their results, as a worker alone saw them."""
    trace = Trace(SYSTEM)
    trace.seated("pool", "worker-7", "worker", SYSTEM.worker(SYSTEM.options(), *WORKER))
    trace.tap("pool", "worker-7", 1.0, Received([[b"", b"PONG"]]), [])
    for i in range(n):
        trace.tap("pool", "worker-7", 2.0 + i, Received([[b"", b"job %d" % i]]), [Send([b"", b"done %d" % i])])
    return trace.arrows()


def run(table: TraceTable | LadderTable, steps: Steps) -> None:
    class Alone(App[None]):
        COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{name}" for name in INKS}
        DEFAULT_CSS = "".join(f"Alone > .ink--{name} {{ color: {colour}; }}\n" for name, colour in INKS.items())

        def compose(self) -> ComposeResult:
            yield table

        def get_theme_variable_defaults(self) -> dict[str, str]:
            return own_colours(load_theme(shipped_folder() / "midnight.toml"))

    async def scenario() -> None:
        async with Alone().run_test(size=(120, 12)) as pilot:
            await pilot.pause()
            await steps(table)

    asyncio.run(scenario())


def shown(table: TraceTable | LadderTable) -> list[str]:
    return [strip.text.rstrip() for strip in table.draw(*table.size)]


@pytest.mark.parametrize("make", [TraceTable, LadderTable])
def test_the_newest_are_in_view_until_one_is_chosen(make: type[TraceTable]) -> None:
    async def steps(table: TraceTable | LadderTable) -> None:
        assert "nothing was said" in "".join(shown(table))
        assert not table.shown and table.chosen() is None
        table.set_arrows(arrows(20), 0.0)
        newest = table.current()
        assert newest is not None and newest.at == 21.0
        assert "21.0000" in shown(table)[-1]
        table.action_cursor(-1)
        assert table.cursor == key_of(newest)
        table.action_cursor(-1)
        chosen = table.cursor
        table.set_arrows(arrows(40), 0.0)
        assert table.cursor == chosen and "41.0000" not in shown(table)[-1]
        table.release()
        assert table.cursor is None and "41.0000" in shown(table)[-1]
        found = table.chosen()
        assert found is not None and found.at == 41.0

    run(make(id="table"), steps)


def test_a_row_is_a_message_in_words() -> None:
    async def steps(table: TraceTable | LadderTable) -> None:
        table.set_arrows(arrows(1), 0.5)
        rows = shown(table)
        assert rows[0].split() == [
            "time",
            "from",
            "→",
            "to",
            "command",
            "task",
            "fields",
            "bytes",
            "rule",
            "of",
            "the",
            "seed",
        ]
        assert "0.5000 ○ broker → w7" in rows[1] and "PONG" in rows[1]
        assert "1.5000 ○ broker → w7" in rows[2] and "body=job 0" in rows[2] and "002 Broker" in rows[2]
        assert "◌ w7 → broker" in rows[3] and "result" in rows[3] and len(rows) == 4

    run(TraceTable(id="table"), steps)


def test_a_ladder_has_lanes_and_arrows_and_is_a_diagram() -> None:
    async def steps(table: TraceTable | LadderTable) -> None:
        assert isinstance(table, LadderTable)
        table.set_arrows(arrows(1), 0.0)
        rows = shown(table)
        assert rows[0].split() == ["seconds", "broker", "w7"]
        assert "─ job ─" in rows[2] and rows[2].rstrip().endswith("▶│") and "◀┄" in rows[3]
        diagram = table.diagram()
        assert diagram.lanes == ("broker", "w7") and len(diagram.rows) == 3

    run(LadderTable(id="table"), steps)


def test_what_is_wrong_is_red_and_the_routine_is_grey() -> None:
    trace = Trace(SYSTEM)
    trace.seated("pool", "worker-7", "worker", SYSTEM.worker(SYSTEM.options(), *WORKER))
    trace.tap("pool", "worker-7", 1.0, Received([[b"no message"]]), [Note("warn", "odd"), Note("info", "dull")])
    trace.tap("pool", "worker-7", 2.0, Unsent([b"", b"PING"], "full", MAIN), [])
    trace.tap("pool", "worker-7", 3.0, Received([[b"", b"PONG"], [b"", b"job"]]), [])
    table = TraceTable(id="table")
    seen: list[str] = []

    async def steps(table: TraceTable | LadderTable) -> None:
        table.set_arrows(trace.arrows(), 0.0)
        seen.extend(map(_ink, table.shown))

    run(table, steps)
    assert seen == ["bad", "warn", "label", "bad", "label", "text"]
