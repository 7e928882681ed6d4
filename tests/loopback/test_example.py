"""000 EXAMPLE, word for word: server, worker and client on a terminal each."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from console.app import Console
from console.kinds import session_of
from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from tests.helpers.fake_lab import FakeLabs, FakeSettings
from tests.helpers.pilot import Driver
from tests.helpers.processes import ROOT, WAIT, free_endpoint, own_environment, until
from tests.helpers.settle import QuietPilot

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


class Terminal:
    """A program on a pseudo terminal: what is typed, and what it printed since."""

    def __init__(self, role: str, home: Path, *arguments: str) -> None:
        self.role, self.seen, self._at = role, "", 0
        self.ours, theirs = pty.openpty()
        os.set_blocking(self.ours, False)
        command = [sys.executable, "-m", "console", role, *arguments]
        environment = own_environment(home, PYTHONPATH=str(ROOT))
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=home, start_new_session=True
        )
        os.close(theirs)

    def types(self, line: str, *shown: str) -> None:
        """Type a line at the prompt, and wait until each of these texts is shown."""
        self.sees(f"{self.role}> ")
        self._at = len(self.seen)
        os.write(self.ours, line.encode() + b"\r")
        self.sees(*shown)

    def sees(self, *shown: str) -> None:
        for text in shown:
            until(lambda text=text: text in self._read(), f"{self.role}: {text!r}")  # type: ignore[misc]

    def quits(self) -> None:
        self.types("quit")
        until(lambda: self._read() is not None and self.process.poll() is not None, f"the end of {self.role}")
        assert self.process.returncode == 0, self.seen

    def _read(self) -> str:
        """What was shown since the last line was typed."""
        with suppress(BlockingIOError, OSError):  # the other end may be closed
            while more := os.read(self.ours, 65536):
                self.seen += SEQUENCE.sub("", more.decode("utf-8", "replace"))
        return self.seen[self._at :]


@contextmanager
def opened(role: str, home: Path, *arguments: str) -> Iterator[Terminal]:
    terminal = Terminal(role, home, *arguments)
    try:
        yield terminal
    finally:
        with suppress(ProcessLookupError):
            terminal.process.kill()
        terminal.process.wait(WAIT)
        os.close(terminal.ours)


@pytest.mark.parametrize("level", ["5"])
def test_the_example_in_three_terminals(tmp_path: Path, level: str) -> None:
    endpoint = free_endpoint()
    with ExitStack() as stack:
        server = stack.enter_context(opened("broker", tmp_path, "--bind", endpoint, "-d", level))
        server.sees(f"ready {endpoint}")
        worker = stack.enter_context(opened("worker", tmp_path, "--connect", endpoint, "-d", level))
        client = stack.enter_context(opened("client", tmp_path, "--connect", endpoint, "-d", level))
        worker.types("register", f"1 worker registered at {endpoint}")
        server.types("workers", "1 worker in the table", "10 of 10")
        client.types("pingt", "pingt: ", "client → broker: TRACKEXEC PING", "broker → client: RESPONSE")
        server.sees("TRACKEXEC PING", "RESPONSE")
        worker.sees("broker → worker-1: TRACKEXEC PING", "worker-1 → broker: RESPONSE")
        client.types("ping", "ping: sent, no reply is asked for")
        worker.types("bulk", f"10 workers registered at {endpoint}")
        server.types("workers", "10 workers in the table")
        client.types("bulkping 100", "ping               100         100", "verdict   PASS")
        client.types("bulkdata 100", "data               100         100", "verdict   PASS")
        client.types("bulkp\t 3", "bulkping", "3           3", "verdict   PASS")
        worker.types("endbulk", "9 workers stopped", "messages passed: worker-2 ")
        worker.types("deregister", "deregistered")
        server.types("workers", "0 workers in the table")
        worker.types("pong", "unknown command 'pong'")
        for terminal in (worker, server, client):
            terminal.quits()


def test_the_example_in_the_console_from_an_empty_start(tmp_path: Path) -> None:
    """``roundhouse --empty``: each command of the example on the ``:`` line, and what the screen shows then."""
    with LiveLab(SYSTEMS["roundrobin"], bind=(free_endpoint(),), workers=0) as lab:
        labs = FakeLabs(lab)
        session = session_of("roundrobin", lab, partial(labs.order, "roundrobin"))
        app = Console(labs, session, FakeSettings(tmp_path))

        async def scenario() -> None:
            async with app.run_test(size=(120, 36)):
                driver = Driver(labs, app, QuietPilot(app))

                async def types(line: str, *shown: str) -> None:
                    await driver.command(line)
                    for text in shown:
                        for _ in range(int(WAIT / 0.05)):
                            app.tick()
                            await asyncio.sleep(0.05)
                            if driver.shows(text):
                                break
                        else:
                            raise AssertionError(f"{line}: {text!r} is not shown\n" + "\n".join(driver.screen()))

                await types("register", "● 1")
                await types("workers", "1 worker in the table")
                await driver.press("escape")
                await types("pingt", "ledger sent 1 = ok 1")
                await types("bulk", "● 10")
                await types("bulkping 100", "ledger sent 101 = ok 101")
                await types("bulkdata 100", "ledger sent 201 = ok 201")
                await types("endbulk", "● 1")
                await types("deregister", "NO WORKERS")

        asyncio.run(scenario())
