"""The wheel on the newest other Python of this machine: it starts in a real terminal, runs and leaves.

Skipped where there is no other Python from 3.11 on, or no tmux. ``python -m tests.matrix`` runs all tests on each.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.helpers.interpreters import interpreters
from tests.helpers.terminal import terminal_in
from tests.helpers.wheels import build_wheel, install_wheel


@pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux, which is not here")
def test_the_console_starts_runs_and_leaves_on_the_newest_other_python(tmp_path: Path) -> None:
    others = [one for one in interpreters() if one.minor != sys.version_info[:2]]
    if not others:
        pytest.skip("there is no other Python of 3.11 or newer on this machine")
    wheel = build_wheel(tmp_path / "wheel")
    python = install_wheel(wheel, others[0].path, tmp_path / "environment")
    with terminal_in(tmp_path, python) as terminal:
        terminal.open()
        terminal.sees("● READY", "● 10 ", "? help")
        terminal.keys("p")
        terminal.sees("bulkping 100", "PASS", "ok 100  fail 0")
        terminal.keys("5")
        terminal.sees("╭─ stages")
        terminal.command("quit")
        terminal.ended(0)
