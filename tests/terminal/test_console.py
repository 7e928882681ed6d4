"""The console in a real terminal: what is typed, what it shows, how it leaves. Skipped where there is no tmux."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.terminal import SYSTEMS, Terminal, terminal_in

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux, which is not here")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with terminal_in(tmp_path) as made:
        yield made


def ready(terminal: Terminal) -> None:
    terminal.sees("● READY", "● 10 ", "? help")


def test_an_operators_first_minute(terminal: Terminal) -> None:
    terminal.open()
    ready(terminal)
    terminal.keys("p")
    terminal.sees("bulkping 100", "PASS", "ok 100  fail 0")
    terminal.command("bulkdata 100")
    terminal.sees("bulkdata 100 × 1 KiB", "PASS", "ok 100  fail 0")
    terminal.command("workers")
    terminal.sees("10 workers in the table", "10 of 10")
    terminal.keys("Escape")
    terminal.sees("╭─ events")  # or the terminal takes escape and what follows for one key
    terminal.command("endbulk")
    terminal.sees("● 1 ", "  1 · by worker")
    terminal.command("deregister")
    terminal.sees("NO WORKERS", "no workers")
    terminal.command("quit")
    shown = terminal.ended(0)
    assert "bulkdata 100 × 1 KiB: PASS" in shown


def test_every_system_in_turn_and_none_is_lost(terminal: Terminal) -> None:
    terminal.open()
    ready(terminal)
    for number, name in enumerate(SYSTEMS, 1):
        terminal.keys(str(number))
        terminal.sees("● READY", name, "● 10 ", "ledger sent 0 ")  # the header names all of them
        terminal.keys("p")
        terminal.sees("bulkping 100", "PASS", "ok 100  fail 0")
    terminal.keys("v")
    terminal.sees("primary", "serves", "fallback", "stands by", "10 ready, 0 queued")
    terminal.keys("1")
    terminal.sees("roundrobin", "PASS", "ledger sent 100 = ok 100")
    terminal.keys("4")
    terminal.sees("stands by")
    terminal.keys("q")
    terminal.sees("╭─ events")
    terminal.keys("q")
    shown = terminal.ended(0)
    assert all(f"{name}: bulkping 100: PASS" in shown for name in SYSTEMS)


def test_the_console_of_disk_queues_and_back(terminal: Terminal) -> None:
    terminal.open()
    ready(terminal)
    terminal.keys("p")
    terminal.sees("PASS")
    terminal.keys("5")
    terminal.until(lambda shown: "diskqueue" in shown and "ledger sent" not in shown, "the pipeline")
    terminal.keys("3")
    terminal.sees("1● roundrobin 3● pingpong", "● 10 ")
    terminal.keys("1")
    terminal.sees("PASS", "ledger sent 100 = ok 100")
    terminal.keys("q")
    assert "bulkping 100: PASS" in terminal.ended(0)


def test_a_system_that_can_not_be_opened_is_told_and_the_console_stays(terminal: Terminal) -> None:
    (terminal.folder / "pingpong").mkdir()
    terminal.open()
    ready(terminal)
    terminal.keys("3")
    terminal.sees("pingpong can not be opened: can not bind")
    terminal.keys("p")
    terminal.sees("PASS", "roundrobin")
    terminal.keys("q")
    terminal.ended(0)


@pytest.mark.parametrize(
    ("leave", "status"),
    [
        ("q", 0),
        ("C-c", 0),
        ("C-q", 0),
        (signal.SIGINT, 130),
        (signal.SIGQUIT, 131),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
    ],
    ids=["q", "ctrl+c", "ctrl+q", "SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"],
)
def test_it_leaves_under_load_and_the_terminal_is_as_before(
    terminal: Terminal, leave: str | signal.Signals, status: int
) -> None:
    terminal.open()
    ready(terminal)
    terminal.command("bulkping 10000000")
    terminal.sees("▶ running", "● RUNNING")
    if isinstance(leave, signal.Signals):
        (process,) = terminal.processes()
        process.send_signal(leave)
    else:
        terminal.keys(leave)
        if leave != "C-q":
            terminal.sees("Quit roundhouse?", "the run bulkping: ")
            terminal.keys("y")
    assert "bulkping 10,000,000: not finished" in terminal.ended(status)


def test_it_leaves_although_its_broker_stands_still(terminal: Terminal) -> None:
    """Frozen in the middle of a run and told to end, it does so as soon as it is woken."""
    terminal.open()
    ready(terminal)
    terminal.command("bulkping 10000000")
    terminal.sees("▶ running")
    (process,) = terminal.processes()
    process.send_signal(signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGCONT)
    terminal.ended(143)


def test_it_fits_every_size(terminal: Terminal) -> None:
    terminal.open()
    ready(terminal)
    terminal.sees("╭─ latency", "╭─ events")
    for width, height, sees, lacks in ((80, 24, "╭─ backlog", "╭─ latency"), (40, 10, "● READY", "╭─ backlog")):
        terminal.resize(width, height)
        wanted = (sees, "? help", "q quit")
        shown = terminal.until(
            lambda shown: all(text in shown for text in wanted) and lacks not in shown,  # noqa: B023
            f"{width} × {height}",
        )
        assert max(map(len, shown.splitlines())) <= width
    terminal.resize(120, 36)
    terminal.sees("╭─ latency", "● 10 ")
    terminal.keys("q")
    terminal.ended(0)
