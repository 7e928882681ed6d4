"""A disk for tests: actors race on it one operation at a time, die between any two, find it full or forbidden.

The rules of this file:

- Nothing happens by itself: whoever owns the disk decides which actor does its next one thing.
- An operation is atomic here as it is on the real disk; what is between two operations is where actors die and race.
- Content that was not put on the disk (``Sync``) is lost with the power; names are not.
- Links, FIFOs, devices, folders and other users' files stand in folders as they do on the real disk. What a link names
  is not on this disk at all: an operation that followed one would find nothing to do.
- Operations are this disk's ``user``'s. A folder's owner and mode count for each of them anew, as for a process that
  has just opened the folder.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from random import Random
from typing import Any, NamedTuple, Self

from engine.protocols.diskqueue.operations import (
    Append,
    Disown,
    Done,
    Entry,
    Error,
    Exists,
    Inherit,
    List,
    Log,
    Operation,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
    WriteOut,
)
from engine.sim.owners import READ, SEARCH, USER, WRITE, Access

FOLDER = "a folder"
KINDS = ("a link", "a FIFO", "a device", "a socket", FOLDER)
"""What may stand under a name and is no regular file."""

TORN = "\0"
"""What the power leaves of content that was not put on the disk."""


class SimFile(NamedTuple):
    """One file, or what stands in its place. It never changes: another one takes its place, so copies may share it."""

    content: str
    mtime_ns: int
    synced: bool
    kind: str  # of ``KINDS``; "" for a regular file
    access: Access


class SimDisk:
    """Folders of files, and the locks on drivers' numbers."""

    def __init__(self, *folders: str, random: Random | None = None, user: int = USER) -> None:
        """``random``: listings may be torn by what is renamed meanwhile; without it they never are.

        ``user``: the uid whose operations are performed, and whose the folders are.
        """
        self.folders: dict[str, dict[str, SimFile]] = {folder: {} for folder in folders}
        self.access = {folder: Access(user, 0o700) for folder in folders}
        self.user = user
        self.locks: dict[tuple[str, str], str] = {}  # (folder, number) → who holds it
        self.signed: set[tuple[str, str]] = set()  # locks that there are, held or not
        self.full = False
        self.denied: set[str] = set()  # folders that may not be written
        self.meddle: Callable[[Operation], Error] = lambda operation: ""
        """Called before each operation: it may change anything, or give the answer that the disk gives instead."""
        self._random = random
        self._ticks = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Files are shared, for they never change; folders are copied."""
        copied = copy(self)
        memo[id(self)] = copied
        copied.folders = {folder: dict(files) for folder, files in self.folders.items()}
        copied.access, copied.denied = dict(self.access), set(self.denied)
        copied.locks, copied.signed = dict(self.locks), set(self.signed)
        copied.meddle = deepcopy(self.meddle, memo)
        copied._random = deepcopy(self._random, memo)
        return copied

    def put(
        self,
        folder: str,
        name: str,
        content: str = "",
        synced: bool = True,
        kind: str = "",
        owner: int | None = None,
        mode: int = 0o644,
    ) -> None:
        """Create or overwrite a file, later than all before it, whoever may. ``owner``: None for this disk's user."""
        self._ticks += 1
        access = Access(self.user if owner is None else owner, mode)
        self.folders[folder][name] = SimFile(content, self._ticks, synced, kind, access)

    def regular(self, folder: str, name: str) -> bool:
        """Whether there is such a file, and it is one."""
        file = self.folders[folder].get(name)
        return file is not None and not file.kind

    def own(self, folder: str, name: str) -> bool:
        """Whether there is such a file, and it is a regular one of this disk's user."""
        return self.regular(folder, name) and self.folders[folder][name].access.owner == self.user

    def keeps(self, folder: str, name: str) -> bool:
        """Whether something stands there that only another user may rename or remove."""
        file = self.folders[folder].get(name)
        return file is not None and self.access[folder].keeps(self.user, file.access.owner)

    def text(self, folder: str, name: str) -> str:
        """A file's content."""
        return self.folders[folder][name].content

    def cut_power(self) -> None:
        """What was not put on the disk is gone; the names stay."""
        for files in self.folders.values():
            for name, file in files.items():
                if not file.synced:
                    files[name] = file._replace(content=TORN, synced=True)

    def lock(self, src: str, dst: str, number: str, holder: str = "") -> bool:
        """Hold a number in both queues; False where somebody does. ``holder``: who does, where it is another."""
        wanted = {(src, number), (dst, f"{number} writing")}
        if wanted & self.locks.keys():
            return False
        self.locks.update(dict.fromkeys(wanted, holder or number))
        self.signed |= wanted
        return True

    def unlock(self, src: str, dst: str, number: str, clean: bool = True) -> None:
        """Let go. ``clean``: nothing is left that bears the number, so the locks go as well."""
        for lock in ((src, number), (dst, f"{number} writing")):
            self.locks.pop(lock, None)
            if clean:
                self.signed.discard(lock)

    def abandon(self, holder: str) -> None:
        """A process is dead: nobody holds what it held."""
        self.locks = {lock: who for lock, who in self.locks.items() if who != holder}

    def perform(self, operation: Operation, number: str) -> Done:
        """Do one operation for the holder of ``number``, as ``engine.drive.disk.perform`` does."""
        if error := self.meddle(operation):
            return Done(operation, error, "as it was told to")
        if isinstance(operation, WriteOut | Log):
            return Done(operation, "full", "no space") if self.full else Done(operation)
        if isinstance(operation, Inherit):
            src, dst, other = operation.folder, operation.dst, operation.number
            known = {(src, other), (dst, f"{other} writing")} <= self.signed or operation.word
            why: Error = "gone" if not known else "" if self.lock(src, dst, other, number) else "exists"
            return Done(operation, why, f"driver {other} has it: {why}" if why else "")
        if isinstance(operation, Disown):
            self.unlock(operation.folder, operation.dst, operation.number, operation.clean)
            return Done(operation)
        folder = operation.folder
        files = self.folders.get(folder)
        if files is None:
            return Done(operation, "broken", f"{folder} is gone")
        denied = Done(operation, "denied", f"no permission: {folder}")
        if folder in self.denied and not isinstance(operation, List | Exists | Read):
            return denied
        if self.full and isinstance(operation, Append | Touch):
            return Done(operation, "full", "no space")
        named = bool(files) if isinstance(operation, List) else bool(operation.name)
        if not self.access[folder].allows(self.user, READ | SEARCH if named else READ):
            return denied
        match operation:
            case List():
                return self._list(operation, files, number)
            case Exists(_, name) | Read(_, name) | Sync(_, name):
                return self._look(operation, name, files)
            case Touch() | Append():
                return Done(operation, self._write(operation, files))
            case _:
                return Done(operation, self._change(operation, files))

    def _look(self, operation: Exists | Read | Sync, name: str, files: dict[str, SimFile]) -> Done:
        if isinstance(operation, Sync) and not name:
            return Done(operation)
        file = files.get(name)
        if file is None or file.kind:
            return Done(operation, "odd" if file else "gone")
        foreign = file.access.owner != self.user
        if isinstance(operation, Exists):
            return Done(operation, foreign=foreign)
        if not file.access.allows(self.user, READ):
            return Done(operation, foreign=True) if foreign else Done(operation, "denied", f"no permission: {name}")
        if isinstance(operation, Sync):
            files[name] = file._replace(synced=True)
            return Done(operation, foreign=foreign)
        return Done(operation, text=file.content, foreign=foreign)

    def _change(self, operation: Take | Rename | Remove, files: dict[str, SimFile]) -> Error:
        """In the order in which a system looks for what forbids it."""
        folder, name = operation.folder, operation.name
        if name not in files:
            return "gone"
        if not isinstance(operation, Remove) and operation.new in files:
            return "exists"
        if not self.access[folder].allows(self.user, WRITE):
            return "denied"
        if self.keeps(folder, name):
            return "foreign"
        if not isinstance(operation, Remove):
            files[operation.new] = files.pop(name)
        elif files[name].kind == FOLDER:
            return "exists"
        else:
            del files[name]
        return ""

    def _write(self, operation: Touch | Append, files: dict[str, SimFile]) -> Error:
        """See to a file of ours: what else stands there goes, if it may."""
        folder, name = operation.folder, operation.name
        file = files.get(name)
        if file is not None and not file.kind:
            if isinstance(operation, Touch):
                return ""
            if file.access.owner == self.user:
                if not file.access.allows(self.user, WRITE):
                    return "denied"
                self.put(folder, name, f"{file.content}{operation.line}\n", synced=False, mode=file.access.mode)
                return ""
        if not self.access[folder].allows(self.user, WRITE) or self.keeps(folder, name):
            return "denied"
        if file is not None and file.kind == FOLDER:
            return "broken"
        content = f"{operation.line}\n" if isinstance(operation, Append) else ""
        mode = 0o600 | self.access[folder].mode & 0o066
        self.put(folder, name, content, synced=isinstance(operation, Touch), mode=mode)
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
