"""The keys that may connect, as they are on the disk now. For any thread to ask, and one to keep it up to date.

The rules of this file:

- Each file is looked at for itself: when it is new, changed or gone. One that can not be used disables its own key
  alone and is said once.
- What can not be looked at for want of descriptors stays as it was: that says nothing about the key.
- Of two files with one key the first by name counts.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from engine.core import Note
from engine.drive.security.keys import AUTHORIZED, MAX_KEYS, PUBLIC, SHOWN, Key, read, reason
from engine.files.personal import OTHERS

POLL = 0.5  # seconds between two looks
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class _File(NamedTuple):
    stamp: tuple[int, ...]
    key: Key | None
    wrong: str  # why there is none


class Keyring:
    """The authorized keys of a folder of keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / AUTHORIZED
        self._files: dict[str, _File] = {}
        self._keys: dict[str, Key] = {}  # public key → key; replaced whole
        self._former: dict[str, Key] = {}  # that were authorized
        self._said: set[str] = set()

    def key(self, public: str) -> Key | None:
        """The authorized key; None where it is not one. Any thread."""
        return self._keys.get(public)

    def former(self, public: str) -> Key | None:
        """A key that was authorized and is not any more."""
        return self._former.get(public)

    def __iter__(self) -> Iterator[Key]:
        """All of them, by name."""
        return iter(sorted(self._keys.values()))

    def refresh(self) -> tuple[bool, list[Note]]:
        """Look at the files. Returns whether other keys are authorized now, and what is to be said."""
        wrongs: list[str] = []
        try:
            self._files = self._look()
        except OSError as error:
            wrongs.append(f"{self._folder}: {reason(error)}")
            if error.errno not in _SHORT:
                self._files = {}
        keys: dict[str, Key] = {}
        for name, file in sorted(self._files.items()):
            wrong = file.wrong
            if file.key is not None and keys.setdefault(file.key.public, file.key) is not file.key:
                wrong = f"the same key is {keys[file.key.public].name}'s"
            if wrong:
                wrongs.append(f"{self._folder / name}: {wrong}")
        notes = [Note("bad", f"a key is not used: {wrong}") for wrong in wrongs if wrong not in self._said]
        self._said = set(wrongs)
        changed, before = keys != self._keys, self._keys
        for public in before.keys() - keys.keys():
            self._former.pop(public, None)
            self._former[public] = before[public]
            if len(self._former) > MAX_KEYS:
                del self._former[next(iter(self._former))]
        self._keys = keys
        return changed, notes

    def _look(self) -> dict[str, _File]:
        try:
            found = os.stat(self._folder)
            names = [name for name in os.listdir(self._folder) if name.endswith(PUBLIC) and not name.startswith(".")]
        except FileNotFoundError:
            return {}
        if found.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(found.st_mode) & OTHERS:
            mode = stat.S_IMODE(found.st_mode)
            raise PermissionError(
                errno.EPERM, f"none is used: its mode is {mode:o}, so others can reach it: chmod 700 {self._folder}"
            )
        return {name: self._file(name) for name in sorted(names)[:MAX_KEYS]}

    def _file(self, name: str) -> _File:
        before, path = self._files.get(name), self._folder / name
        try:
            found = os.lstat(path)
            stamp = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)
            if before is not None and before.stamp == stamp:
                return before
            return _File(stamp, read(path), "")
        except (OSError, ValueError) as error:
            if before is not None and isinstance(error, OSError) and error.errno in _SHORT:
                return before
            return _File((), None, reason(error))


def refusal(ring: Keyring | None, public: str, roles: tuple[str, ...]) -> str:
    """Why a key may not connect where these roles may, none for all; empty where it may."""
    key = ring.key(public) if ring is not None else None
    if key is None and ring is not None and (former := ring.former(public)) is not None:
        return f"{former.words} is not authorized any more"
    if key is None:
        return (
            f"the key {public[:SHOWN]}… is not authorized: roundhouse keys authorize {public} --name NAME --role "
            f"{roles[0] if roles else 'ROLE'}"
        )
    return (
        f"{key.words} may not do what is done there by a {' or '.join(roles)}"
        if roles and key.role not in roles
        else ""
    )
