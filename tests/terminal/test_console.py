"""The console in a real terminal: what is typed, what it shows, how it leaves. Skipped where there is no tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux, which is not here")

ROOT = Path(__file__).parents[2]
WAIT = 20.0  # seconds at most for what takes a few tenths
STEP = 0.04
SYSTEMS = ("roundrobin", "conversation", "pingpong", "negotiated")


class Terminal:
    """One tmux server of our own, with one window in which a shell runs the console and then says how it ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server = f"roundhouse-test-{os.getpid()}-{folder.name}"
        self._pause = threading.Event()

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._server, "-f", os.devnull, *words], capture_output=True, text=True, check=False
        )
        return done.stdout

    def open(self, *arguments: str, width: int = 120, height: int = 36) -> Terminal:
        """Start the console. Its ports are its own: whatever else runs on this machine is left alone."""
        environ = {
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "COLORTERM": "truecolor",
            "PYTHONPATH": str(ROOT),
            **{f"ROUNDHOUSE_{name.upper()}_BIND": f"ipc://{self.folder}/{name}" for name in SYSTEMS},
        }
        words = [*(f"{name}={value}" for name, value in environ.items()), sys.executable, "-m", "console", *arguments]
        then = "echo ended with $?; stty -a | grep -c ' echo '; exec sleep 600"
        command = f"env -u COLUMNS -u LINES {shlex.join(words)}; {then}"
        size = ("-x", str(width), "-y", str(height))
        self.tmux("new-session", "-d", "-s", "it", *size, "-c", str(self.folder), command)
        return self

    def close(self) -> None:
        self.tmux("kill-server")

    def shown(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "it")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", "-t", "it", *keys)

    def command(self, line: str) -> None:
        self.tmux("send-keys", "-t", "it", "-l", f":{line}")
        self.keys("Enter")

    def resize(self, width: int, height: int) -> None:
        self.tmux("resize-window", "-t", "it", "-x", str(width), "-y", str(height))

    def until(self, what: Callable[[str], bool], name: str) -> str:
        """Look until the screen is as wanted; what stands on it then."""
        for _ in range(int(WAIT / STEP)):
            if what(shown := self.shown()):
                return shown
            self._pause.wait(STEP)
        raise AssertionError(f"it never showed {name}; it shows\n{self.shown()}")

    def sees(self, *texts: str) -> str:
        return self.until(lambda shown: all(text in shown for text in texts), " and ".join(texts))

    def processes(self) -> list[psutil.Process]:
        """The consoles that run in this terminal, and their children."""
        found = []
        for process in psutil.process_iter(["cmdline", "environ"]):
            home = (process.info["environ"] or {}).get("XDG_STATE_HOME")
            if home == str(self.folder / "state") and "console" in (process.info["cmdline"] or ()):
                found.append(process)
        return found

    def ended(self, status: int) -> str:
        """It has left with this status, the screen is restored, and nothing of it runs any more."""
        shown = self.sees(f"ended with {status}")
        assert "╭" not in shown, "the screen is not restored"
        self.until(lambda shown: shown.partition("ended with")[2].split()[1:2] == ["1"], "a terminal that echoes")
        flags = self.tmux("display-message", "-p", "-t", "it", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}")
        assert flags.split() == ["0", "0", "1"]
        assert self.processes() == []
        return shown


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    left = made.processes()
    made.close()
    for process in left:
        process.kill()
    assert left == []


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
    terminal.sees("╭─ facts")  # or the terminal takes escape and what follows for one key
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
        terminal.sees("● READY", name, "● 10 ")
        terminal.keys("p")
        terminal.sees("bulkping 100", "PASS", "ok 100  fail 0")
    terminal.keys("v")
    terminal.sees("primary", "serves", "fallback", "stands by", "10 ready, 0 queued")
    terminal.keys("1")
    terminal.sees("roundrobin", "PASS", "ledger sent 100 = ok 100")
    terminal.keys("4")
    terminal.sees("stands by")
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
    [("q", 0), ("C-c", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["q", "ctrl+c", "SIGTERM", "SIGHUP"],
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
    terminal.sees("╭─ latency", "╭─ facts")
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
