"""A disk for tests: drivers race on it one operation at a time, die between any two, find it full or forbidden.

The rules of this file:

- Nothing happens by itself: whoever owns the disk decides which actor does its next one thing.
- An operation is atomic here as it is on the real disk; what is between two operations is where actors die and race.
- Content that was not put on the disk (``Sync``) is lost with the power; names are not.
- Links, FIFOs, devices, folders and other users' files stand in folders as they do on the real disk. What a link names
  is not on this disk at all: an operation that followed one would find nothing to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from engine.core import NEVER, Cancel, Exit, Leave, Note, Ordered, Start, Started, Woken
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Command, Driver, Event
from engine.protocols.diskqueue.operations import (
    Append,
    Done,
    Entry,
    Error,
    Exists,
    List,
    Log,
    Operation,
    Process,
    Processed,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
    WriteOut,
)

FOLDER = "a folder"
KINDS = ("a link", "a FIFO", "a device", "a socket", FOLDER)
"""What may stand under a name and is no regular file."""

TORN = "\0"
"""What the power leaves of content that was not put on the disk."""

EPOCH = 1_000_000.0  # wall clock at virtual time 0, in seconds


@dataclass(slots=True)
class SimFile:
    """One file, or what stands in its place."""

    content: str
    mtime_ns: int
    synced: bool
    kind: str = ""  # of ``KINDS``; "" for a regular file
    foreign: bool = False  # it belongs to another user


class SimDisk:
    """Folders of files, and the locks on drivers' numbers."""

    def __init__(self, *folders: str, random: Random | None = None) -> None:
        """``random``: listings may be torn by what is renamed meanwhile; without it they never are."""
        self.folders: dict[str, dict[str, SimFile]] = {folder: {} for folder in folders}
        self.locks: set[tuple[str, str]] = set()  # (folder, number)
        self.full = False
        self.denied: set[str] = set()  # folders that may not be written
        self.meddle: Callable[[Operation], Error] = lambda operation: ""
        """Called before each operation: it may change anything, or give the answer that the disk gives instead."""
        self._random = random
        self._ticks = 0

    def put(
        self, folder: str, name: str, content: str = "", synced: bool = True, kind: str = "", foreign: bool = False
    ) -> None:
        """Create or overwrite a file, later than all before it."""
        self._ticks += 1
        self.folders[folder][name] = SimFile(content, self._ticks, synced, kind, foreign)

    def regular(self, folder: str, name: str) -> bool:
        """Whether there is such a file, and it is one."""
        file = self.folders[folder].get(name)
        return file is not None and not file.kind

    def text(self, folder: str, name: str) -> str:
        """A file's content."""
        return self.folders[folder][name].content

    def cut_power(self) -> None:
        """What was not put on the disk is gone; the names stay."""
        for files in self.folders.values():
            for file in files.values():
                if not file.synced:
                    file.content, file.synced = TORN, True

    def lock(self, src: str, dst: str, number: str) -> bool:
        """Hold a number in both queues; False where somebody does."""
        wanted = {(src, number), (dst, f"{number} writing")}
        if wanted & self.locks:
            return False
        self.locks |= wanted
        return True

    def unlock(self, src: str, dst: str, number: str) -> None:
        """Let go."""
        self.locks -= {(src, number), (dst, f"{number} writing")}

    def perform(self, operation: Operation, number: str) -> Done:
        """Do one operation for the holder of ``number``, as ``engine.drive.disk.perform`` does."""
        if error := self.meddle(operation):
            return Done(operation, error, "as it was told to")
        if isinstance(operation, WriteOut | Log):
            return Done(operation, "full", "no space") if self.full else Done(operation)
        files = self.folders.get(operation.folder)
        if files is None:
            return Done(operation, "broken", f"{operation.folder} is gone")
        if operation.folder in self.denied and not isinstance(operation, List | Exists | Read):
            return Done(operation, "denied", f"no permission: {operation.folder}")
        if self.full and isinstance(operation, Append | Touch):
            return Done(operation, "full", "no space")
        if isinstance(operation, List):
            return self._list(operation, files, number)
        if isinstance(operation, Read):
            error = self._missing(files, operation.name)
            file = files.get(operation.name)
            return (
                Done(operation, error)
                if error or not file
                else Done(operation, text=file.content, foreign=file.foreign)
            )
        return Done(operation, self._change(operation, files))

    @staticmethod
    def _missing(files: dict[str, SimFile], name: str) -> Error:
        return "gone" if name not in files else "odd" if files[name].kind else ""

    def _change(self, operation: Operation, files: dict[str, SimFile]) -> Error:
        match operation:
            case Exists(_, name):
                return self._missing(files, name)
            case Take(_, name, new) | Rename(_, name, new):
                if name not in files:
                    return "gone"
                if new in files:
                    return "exists"
                files[new] = files.pop(name)
            case Remove(_, name):
                if name in files and files[name].kind == FOLDER:
                    return "exists"
                return "" if files.pop(name, None) else "gone"
            case Touch(_, name) | Append(_, name) if name in files and files[name].kind == FOLDER:
                return "broken"
            case Touch(folder, name):
                if self._missing(files, name):
                    self.put(folder, name)
            case Append(folder, name, line):
                known = None if self._missing(files, name) else files[name]
                foreign = known is not None and known.foreign
                self.put(folder, name, f"{known.content if known else ''}{line}\n", synced=False, foreign=foreign)
            case Sync(_, name) if name:
                if error := self._missing(files, name):
                    return error
                files[name].synced = True
            case Sync():
                pass
            case _:
                raise AssertionError(operation)
        return ""

    def _list(self, operation: List, files: dict[str, SimFile], number: str) -> Done:
        odd = tuple((name, file.kind) for name, file in files.items() if file.kind)
        entries = tuple(Entry(name, file.mtime_ns, len(file.content)) for name, file in files.items() if not file.kind)
        if self._random is not None and self._random.random() < 0.3:
            # What was renamed meanwhile is found under its old name, its new one, or none; not so what is locked by
            # whoever lists, for nobody else renames that.
            own = f".{number}."
            seen = tuple(entry for entry in entries if own in entry.name or self._random.random() < 0.7)
            return Done(operation, entries=seen, still=False, odd=odd)
        return Done(operation, entries=entries, still=True, odd=odd)


# ---- actors -------------------------------------------------------------------------------------------------------

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
            self.disk.unlock(self.config.src, self.config.dst, self.config.number)

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
                self.disk.unlock(self.config.src, self.config.dst, self.config.number)
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
        text = self._input(body)
        if text is None:
            self._fail_document(body, now)
            return
        if self._fate(body.id, body.attempt) != "silent":
            self.disk.put(self.config.dst, self._output(body), result(text)[: len(text) // 2], synced=False)
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
        text = self._input(body)
        if text is None:
            self._fail_document(body, now)
            return
        if fate == "done":
            if self.disk.full or self.config.dst in self.disk.denied:
                self._give(Processed("blocked", "no space"), now)
                return
            self.disk.put(self.config.dst, self._output(body), result(text), synced=False)
        self.attempts.append((body.id, body.attempt))
        self._give(Processed("failed", "no good") if fate == "failed" else Processed("done"), now)

    def _fail_document(self, body: Process, now: float) -> None:
        self.attempts.append((body.id, body.attempt))
        self._give(Processed("failed", "is no regular file, or gone"), now)

    def _input(self, body: Process) -> str | None:
        name = names.working(body.id, self.config.number)
        return self.disk.text(self.config.src, name) if self.disk.regular(self.config.src, name) else None

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
