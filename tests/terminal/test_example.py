"""The EXAMPLE of seed 000, word for word: in three terminals, and in the console from an empty start."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.helpers.processes import free_endpoint
from tests.helpers.terminal import Terminal, terminal_in

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux, which is not here")

SERVER, WORKER, CLIENT = "SERVER", "WORKER", "CLIENT"
PROGRAMS = {WORKER: ("worker", "--connect"), SERVER: ("broker", "--bind"), CLIENT: ("client", "--connect")}

EXAMPLE: list[tuple[str, str, dict[str, tuple[str, ...]]]] = [
    (WORKER, "register", {WORKER: ("1 worker registered at",)}),
    (SERVER, "workers", {SERVER: ("1 worker in the table", "10 of 10")}),
    (
        CLIENT,
        "pingt",
        {
            SERVER: ("TRACKEXEC PING", "RESPONSE"),
            WORKER: ("broker → w1: TRACKEXEC PING", "w1 → broker: RESPONSE"),
            CLIENT: ("client → broker: TRACKEXEC PING", "broker → client: RESPONSE"),
        },
    ),
    (CLIENT, "ping", {CLIENT: ("ping: sent, no reply is asked for",)}),
    (WORKER, "bulk", {WORKER: ("10 workers registered at",)}),
    (SERVER, "workers", {SERVER: ("10 workers in the table",)}),
    (CLIENT, "bulkping 100", {CLIENT: ("ping               100         100", "verdict   PASS")}),
    (CLIENT, "bulkdata 100", {CLIENT: ("data               100         100", "verdict   PASS")}),
    (WORKER, "endbulk", {WORKER: ("9 workers stopped", "messages passed: w2 ")}),
    (WORKER, "deregister", {WORKER: ("deregistered",)}),
]
"""Whose prompt, what is typed there, and what is seen thereupon in whose terminal. Each one's ``quit`` ends it."""


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[dict[str, Terminal]]:
    """The three programs at debug level 5, each in a terminal of its own."""
    endpoint = free_endpoint()
    with ExitStack() as stack:
        opened = {}
        for name, (program, at) in PROGRAMS.items():
            (tmp_path / name).mkdir()
            opened[name] = stack.enter_context(terminal_in(tmp_path / name))
            opened[name].open(program, at, endpoint, "-d", "5").sees(f"{program}>")
        yield opened


def types(terminal: Terminal, line: str) -> None:
    terminal.tmux("send-keys", "-t", "it", "-l", line)
    terminal.keys("Enter")


def test_the_example_in_three_terminals(terminals: dict[str, Terminal]) -> None:
    for whose, line, seen in EXAMPLE:
        types(terminals[whose], line)
        for name, texts in seen.items():
            terminals[name].sees(*texts)
    types(terminals[SERVER], "wor\t")
    terminals[SERVER].sees("0 workers in the table")
    types(terminals[WORKER], "pong")
    terminals[WORKER].sees("unknown command 'pong'")
    for terminal in terminals.values():
        types(terminal, "quit")
        terminal.ended(0)


def test_the_example_in_the_console_from_an_empty_start(tmp_path: Path) -> None:
    with terminal_in(tmp_path) as terminal:
        (tmp_path / "state" / "roundhouse" / "history").unlink()  # a first run, which is told what it can begin with
        terminal.open("--empty").sees("NO WORKERS", "new here? :register starts a worker, :bulk ten")
        for line, *seen in (
            ("register", "● 1 "),
            ("workers", "1 worker in the table", "10 of 10"),
            ("pingt", "ledger sent 1 = ok 1"),
            ("bulk", "● 10 "),
            ("workers", "10 workers in the table"),
            ("bulkping 100", "ledger sent 101 = ok 101"),
            ("bulkdata 100", "ledger sent 201 = ok 201"),
            ("endbulk", "● 1 "),
            ("deregister", "NO WORKERS"),
        ):
            terminal.command(line)
            terminal.sees(*seen)
            if line == "workers":
                terminal.keys("Escape")
                terminal.sees("╭─ events")  # or the terminal takes escape and what follows for one key
        terminal.command("quit")
        assert "bulkdata 100 × 1 KiB: PASS" in terminal.ended(0)
