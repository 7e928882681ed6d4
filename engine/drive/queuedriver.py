"""One driver of disk queues as a process: ``python -m engine.drive.queuedriver worker.par``.

It runs the core on its main thread: performs what the core asks of the disk,
processes documents in between, sleeps until the core's next deadline or a signal.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import Protocol

from engine.core import Cancel, Exit, Note, Ordered, Start, Started, Woken
from engine.drive import disk, documents, environment, queuefolders
from engine.drive.locks import number_locks
from engine.drive.queuefolders import QUEUE_MODE
from engine.drive.sender import Teller
from engine.errors import Refused
from engine.files import safely
from engine.parts.orders import Leave
from engine.parts.plain import clean
from engine.protocols.diskqueue.config import DriverConfig, driver_config
from engine.protocols.diskqueue.driver import Command, Driver, Event
from engine.protocols.diskqueue.operations import Process, Processed
from engine.protocols.diskqueue.parameters import MAX_SIZE, ParameterError, read_parameters

USAGE = 2  # exit status: wrong configuration


class Hears(Protocol):
    """Gets each event of the core, and its commands."""

    def tell(self, now: float, event: Event, commands: list[Command]) -> None: ...
    def close(self) -> None: ...


def run_driver(
    config: DriverConfig,
    watchers: str = "",
    hears: Callable[[DriverConfig, float], Hears] | None = None,
    mode: int = QUEUE_MODE,
) -> int:
    """Drive until the source is done, the quit file appears or a signal comes.

    ``watchers``: the folder of those who watch (``engine.drive.sender``), "" for none. ``hears``: makes somebody in
    this process who is told instead, out of the configuration and the wall clock's distance from monotonic time.
    ``mode``: of the destination, where that is to be made.

    Returns the exit status: 0 for done and quit, 128+n after signal n, 1 where a disk in trouble made it give up, 2
    where it could not start, with the reason on stderr. Call it on the main thread of a process of its own.
    """
    config = replace(config, src=os.path.abspath(config.src), dst=os.path.abspath(config.dst))
    if config.quit_file:
        config = replace(config, quit_file=os.path.abspath(config.quit_file))
    try:
        queuefolders.check_queues(config.src, config.dst, config.number, mode)
        with number_locks(config.src, config.dst, config.number) as locks:
            about = {
                "start_stage": config.start_stage,
                "end_stage": config.end_stage,
                "format": config.format,
                "driver": config.number,
            }
            work = documents.parse_work(config.work, tuple(lock.descriptor for lock in locks), about)
            now = time.monotonic()
            epoch = time.time() - now
            told = hears(config, epoch) if hears else Teller(watchers, config, epoch, now) if watchers else None
            runner = _Runner(config, work, epoch, told)
            with runner.signals():
                code = runner.run()
            if told is not None:
                told.close()
            if runner.holds:
                for lock in locks:
                    lock.release(remove=False)  # what it holds is to be recovered under its number
            return code
    except Refused as error:
        _say(sys.stderr.fileno(), f"roundhouse drive: {error}")
        return USAGE


def load_config(path: str, work: str = "copy", log_file: str = "", keep_input: bool = True) -> DriverConfig:
    """A driver's configuration from a parameter file of the original's kind; raises ``Refused``."""

    def load(name: str) -> str:
        with os.fdopen(safely.open_file(name, follow=True), encoding="utf-8") as file:  # somebody named it; no FIFO
            return file.read(MAX_SIZE + 1)  # one more is refused; what has no end is not read to it

    try:
        found = read_parameters(os.path.abspath(path), load)
    except ParameterError as error:
        raise Refused(str(error)) from error
    for warning in found.warnings:
        _say(sys.stderr.fileno(), f"roundhouse drive: {warning}")
    return replace(driver_config(found.values, work, log_file), keep_input=keep_input)


class _Runner:
    def __init__(self, config: DriverConfig, work: documents.Work, epoch: float, told: Hears | None) -> None:
        self._core = Driver(config, epoch)
        self._disk = disk.Disk()
        self._hears = told
        self._work = work
        self._signal = 0  # the newest
        self._orders = 0  # signals that the core has not been told of
        self._processing = False
        self._told = 0
        self._bell, self._rope = os.pipe()
        self.holds = False  # ended with a document in its hands

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Take SIGTERM and SIGINT as orders to leave, for as long as this lasts."""
        os.set_blocking(self._rope, False)
        former = signal.set_wakeup_fd(self._rope, warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self._disk.close()
            signal.set_wakeup_fd(former)
            os.close(self._bell)
            os.close(self._rope)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signal = number
        self._orders += 1
        if self._processing and self._told + self._orders > 1:
            self._processing = False
            documents.cancel()

    def run(self) -> int:
        """From the first event to the exit status."""
        core = self._core
        commands = self._give(Started())
        while True:
            event: Event | None = None
            for command in commands:
                match command:
                    case Exit(_, failed):
                        self.holds = core.stuck or bool(core.snapshot(time.monotonic()).document)
                        return 1 if failed else 128 + self._signal if self._signal else 0
                    case Note(level, text, subject):
                        self._tell(level, text, subject)
                    case _:
                        event = self._do(command) or event
            commands = []
            while self._orders:
                self._orders -= 1
                self._told += 1
                commands += self._give(Ordered(Leave()))
            commands += self._give(event or self._sleep())

    def _give(self, event: Event) -> list[Command]:
        now = time.monotonic()
        commands = self._core.handle(event, now)
        if self._hears is not None:
            self._hears.tell(now, event, commands)
        return commands

    def _do(self, command: Command) -> Event | None:
        match command:
            case Start(_, body):
                assert isinstance(body, Process)
                return self._process(body)
            case Cancel():
                return None  # the signal that led to it has ended the document already
            case Exit() | Note():
                raise AssertionError(command)
            case _:
                return self._disk.perform(command)

    def _process(self, body: Process) -> Processed:
        if moved := self._disk.moved(os.path.dirname(body.input), os.path.dirname(body.output)):
            return Processed("blocked", moved)
        try:
            self._processing = True
            result = Processed("cancelled")
            if self._told + self._orders < 2:
                result = documents.process(self._work, body)
            self._processing = False
        except documents.Cancelled:
            result = Processed("cancelled")
        return result

    def _sleep(self) -> Woken:
        """Until the core's next deadline, or a signal."""
        seconds = min(max(0.0, self._core.wake_at() - time.monotonic()), 60.0)
        if not self._orders:
            ready, _, _ = select.select([self._bell], [], [], seconds)
            if ready:
                os.read(self._bell, 1024)
        return Woken()

    @staticmethod
    def _tell(level: str, text: str, subject: bytes) -> None:
        about = f"{subject.decode('utf-8', 'backslashreplace')}: " if subject else ""
        _say(sys.stdout.fileno(), f"{time.strftime('%H:%M:%S')} {level} {about}{text}")


def _say(descriptor: int, text: str) -> None:
    """One line; a full disk under a log, or a closed terminal, must not stop a driver."""
    with contextlib.suppress(OSError):
        os.write(descriptor, f"{clean(text, len(text) + 1)}\n".encode())


def main(arguments: list[str] | None = None) -> int:
    """What a watchdog starts."""
    parser = argparse.ArgumentParser("queuedriver", description="One driver of disk queues.")
    parser.add_argument("parameters", help="parameter file")
    parser.add_argument("--work", default="copy", help="what to do with a document")
    parser.add_argument("--log", default="", help="file that gets one line a document")
    parser.add_argument("--discard", action="store_true", help="delete the input of a document that failed twice")
    parser.add_argument(
        "--bound", type=int, default=0, metavar="PID", help="die with this process, which started it, if the system can"
    )
    parser.add_argument("--env", metavar="NAMES", help="variables that commands get, with commas (all)")
    parser.add_argument("--watchers", default="", metavar="DIR", help="where those listen who watch")
    given = parser.parse_args(arguments)
    if given.env is not None:
        environment.narrow(given.env.split(","))
    if given.bound:
        documents.die_with_parent(given.bound)
    try:
        config = load_config(given.parameters, given.work, given.log, not given.discard)
    except Refused as error:
        _say(sys.stderr.fileno(), f"roundhouse drive: {error}")
        return USAGE
    return run_driver(config, given.watchers)


if __name__ == "__main__":
    sys.exit(main())
