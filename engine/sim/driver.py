"""A driver's core on a simulated disk, and documents as a simulated driver processes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from engine.core import NEVER, Cancel, Exit, Note, Ordered, Start, Started, Woken
from engine.parts.orders import Leave
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Command, Driver, Event
from engine.protocols.diskqueue.operations import (
    Append,
    List,
    Log,
    Operation,
    Process,
    Processed,
    Rename,
    Take,
    WriteOut,
)
from engine.sim.disk import FOLDER, SimDisk
from engine.sim.owners import READ

EPOCH = 1_000_000.0  # wall clock at virtual time 0, in seconds

Fate = Literal["done", "failed", "crash", "silent"]
"""What becomes of one attempt at a document; crash: the driver dies of it; silent: it ends well and wrote nothing."""


class SimDriver:
    """A driver's core on a simulated disk; ``step`` does one thing."""

    def __init__(
        self,
        disk: SimDisk,
        config: DriverConfig,
        fate: Callable[[str, int], Fate],
        now: float = 0.0,
        epoch: float = EPOCH,
        told: Callable[[float, Event, list[Command]], None] = lambda now, event, commands: None,
    ) -> None:
        """``told``: of every event of its core, and of what came of it.

        Raises ValueError where another driver holds the number.
        """
        if not disk.lock(config.src, config.dst, config.number):
            raise ValueError(f"another driver works under number {config.number}")
        self.disk = disk
        self.config = config
        self.core = Driver(config, epoch)
        self.alive = True
        self.ended = ""  # the reason of its exit,
        self.failed = False  # and whether that is an error
        self.said: list[str] = []  # every operation and note, as text
        self.attempts: list[tuple[str, int]] = []  # that it began and that counted: not blocked, not given back
        self._fate, self._told = fate, told
        self._todo: deque[Command] = deque()
        self._writing: Process | None = None  # half of its output is on the disk
        self._cancelled = False
        self._give(Started(), now)

    @property
    def busy(self) -> bool:
        """Whether it can do something without waiting for time to pass."""
        return self.alive and bool(self._todo or self._writing)

    @property
    def pending(self) -> Command | None:
        """What it does next, where that is a command of its core."""
        return self._todo[0] if self.alive and self._todo else None

    @property
    def writes(self) -> bool:
        """Whether it is at work on a document."""
        return self.alive and self._writing is not None

    def wake_at(self) -> float:
        """When it wants to go on; ``NEVER`` while it is busy or dead."""
        return self.core.wake_at() if self.alive and not self.busy else NEVER

    def step(self, now: float) -> None:
        """Do one thing: an operation, half a document, or a wake-up that is due."""
        if not self.alive:
            return
        if self._todo:
            self._do(self._todo.popleft(), now)
        elif self._writing is not None:
            self._finish_document(self._writing, now)
        elif now >= self.core.wake_at():
            self._give(Woken(), now)

    def leave(self, now: float) -> None:
        """SIGTERM."""
        if self.alive:
            self._give(Ordered(Leave()), now)

    def crash(self) -> None:
        """kill -9: what is on the disk stays, the locks go."""
        if self.alive:
            if self._writing is not None:
                self.attempts.append((self._writing.id, self._writing.attempt))
            self.alive = False
            self.disk.abandon(self.config.number)

    def _give(self, event: Event, now: float) -> None:
        commands = self.core.handle(event, now)
        self._told(now, event, commands)
        self._todo.extend(commands)
        self.core.check()

    def _do(self, command: Command, now: float) -> None:
        match command:
            case Note(level, text, subject):
                self.said.append(f"note {level} {subject.decode()}: {text}" if subject else f"note {level} {text}")
            case Exit(reason, failed):
                self.said.append(f"exit {reason}")
                self.ended, self.failed = reason, failed
                self.alive = False
                clean = not self.core.stuck and self.core.snapshot(now).document == ""
                self.disk.abandon(self.config.number)
                self.disk.unlock(self.config.src, self.config.dst, self.config.number, clean)
            case Start(_, body):
                assert isinstance(body, Process)
                self.said.append(f"process {body.id} {body.attempt}")
                self._begin_document(body, now)
            case Cancel():
                self.said.append("cancel")
                self._cancelled = True
            case _:
                answer = self.disk.perform(command, self.config.number)
                self.said.append(f"{describe(command)}{f' = {answer.error}' if answer.error else ''}")
                self._give(answer, now)

    def _begin_document(self, body: Process, now: float) -> None:
        if self.disk.full or self.config.dst in self.disk.denied:
            self._give(Processed("blocked", "no space"), now)
            return
        text, output = self._input(body), self._output(body)
        if text is None or not self._clear(output):
            self._fail_document(body, now)
            return
        if self._fate(body.id, body.attempt) != "silent":
            self.disk.put(self.config.dst, output, result(text)[: len(text) // 2], synced=False)
        self._writing = body

    def _finish_document(self, body: Process, now: float) -> None:
        cancelled, self._cancelled, self._writing = self._cancelled, False, None
        if cancelled:
            self._give(Processed("cancelled"), now)
            return
        fate = self._fate(body.id, body.attempt)
        if fate == "crash":
            self._writing = body
            self.crash()
            return
        text, output = self._input(body), self._output(body)
        swapped = output in self.disk.folders[self.config.dst] and not self.disk.own(self.config.dst, output)
        if text is None or swapped:
            self._fail_document(body, now)
            return
        if fate == "done":
            if self.disk.full or self.config.dst in self.disk.denied:
                self._give(Processed("blocked", "no space"), now)
                return
            self.disk.put(self.config.dst, output, result(text), synced=False)
        self.attempts.append((body.id, body.attempt))
        self._give(Processed("failed", "no good") if fate == "failed" else Processed("done"), now)

    def _fail_document(self, body: Process, now: float) -> None:
        self.attempts.append((body.id, body.attempt))
        self._give(Processed("failed", "is no regular file of ours, or gone"), now)

    def _clear(self, output: str) -> bool:
        """Remove what stands under its output's name; whether nothing does now."""
        files = self.disk.folders[self.config.dst]
        if output in files and (files[output].kind == FOLDER or self.disk.keeps(self.config.dst, output)):
            return False
        files.pop(output, None)
        return True

    def _input(self, body: Process) -> str | None:
        name = names.working(body.id, self.config.number)
        file = self.disk.folders[self.config.src].get(name)
        if file is None or file.kind or not file.access.allows(self.disk.user, READ):
            return None
        return file.content

    def _output(self, body: Process) -> str:
        return names.writing(body.id, self.config.number)


def result(text: str) -> str:
    """What processing makes of a document in the simulation; in brackets, so that a part of it is recognisable."""
    return f"<{text}>"


def config(src: str, dst: str, number: str, **changes: Any) -> DriverConfig:
    """A driver's configuration without limits, files or log, with changes."""
    return replace(DriverConfig(src, dst, number, max_files=0), **changes)


def describe(operation: Operation) -> str:
    """An operation in one line, as transcripts write it."""
    kind = type(operation).__name__.lower()
    match operation:
        case WriteOut(path):
            return f"{kind} {path}"
        case Log(path, line):
            return f"{kind} {path} {' '.join(line.split()[1:])}"
        case List(folder):
            return f"{kind} {folder}"
        case Take(folder, name, new) | Rename(folder, name, new):
            return f"{kind} {folder}/{name} {new}"
        case Append(folder, name, line):
            fields = line.split("\t")
            return f"{kind} {folder}/{name} {' '.join((*fields[:3], *fields[4:])).strip()}"
        case _:
            return f"{kind} {operation.folder}/{operation.name}".rstrip("/")
