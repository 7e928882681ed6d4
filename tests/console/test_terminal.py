from __future__ import annotations

import io
import os
import signal
import termios
import tty
from pathlib import Path
from types import SimpleNamespace
from typing import IO, cast

import pytest

from console.terminal import Outlet, Terminal
from tests.helpers.fake_lab import FakeLab
from tests.helpers.pilot import Driver, drive


class Closing(io.StringIO):
    """A terminal that is closed after some writes."""

    left = 2

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(5, "Input/output error")
        return super().write(text)


def test_a_terminal_that_is_gone_is_said_once_and_swallows_the_rest() -> None:
    said: list[str] = []
    file = Closing()
    outlet = Outlet(file, lambda: said.append("gone"))
    for text in ("a", "b", "c", "d"):
        assert outlet.write(text) == 1
    outlet.flush()
    assert file.getvalue() == "ab"
    assert said == ["gone"]


def test_it_is_a_file_like_the_one_that_it_stands_for() -> None:
    with Path("/dev/null").open("w") as file:
        outlet = Outlet(cast(IO[str], file), lambda: None)
        assert outlet.fileno() == file.fileno()
        assert not outlet.isatty()


def test_a_process_that_is_frozen_and_woken_draws_again_and_reads_keys_once(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, screen = os.openpty()  # it controls no session: the system names no group that has it
    later: list[object] = []
    terminal = Terminal.__new__(Terminal)
    terminal.fileno, terminal._must_signal_resume = screen, False
    terminal._console = SimpleNamespace(call_later=lambda act, **how: later.append((act, how)), refresh="refresh")
    before = termios.tcgetattr(screen)
    terminal.attrs_before = before
    tty.setraw(screen)
    terminal._raw = termios.tcgetattr(screen)
    termios.tcsetattr(screen, termios.TCSANOW, before)  # as a shell does
    terminal._sigcont_application()
    assert termios.tcgetattr(screen) == terminal._raw != before
    assert (terminal.attrs_before, later) == (before, [("refresh", {"repaint": True, "layout": True})])
    later.clear()
    monkeypatch.setattr("os.tcgetpgrp", lambda fileno: os.getpgrp() + 1)
    terminal._sigcont_application()
    assert later == [], "another job of the shell has the terminal"
    terminal._must_signal_resume = True  # suspended by ctrl+z, and brought back
    monkeypatch.setattr("textual.drivers.linux_driver.LinuxDriver._sigcont_application", lambda _: None)
    terminal._sigcont_application()
    assert later == [("refresh", {"repaint": True, "layout": True})]
    os.close(keyboard)
    os.close(screen)


def test_keys_that_can_no_longer_be_read_hang_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("textual.drivers.linux_driver.LinuxDriver.run_input_thread", gone)

    async def scenario(driver: Driver) -> None:
        terminal = Terminal.__new__(Terminal)
        terminal._console = driver.app
        terminal.run_input_thread()
        await driver.pilot.pause()
        await driver.pilot.pause()
        assert not driver.app.is_running

    app = drive(scenario, tmp_path, lab=FakeLab(1, busy=False))
    assert app.signal_received == signal.SIGHUP
    assert app.return_code == 128 + signal.SIGHUP
