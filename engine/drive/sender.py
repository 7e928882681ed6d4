"""What a driver's process tells those who watch its pipeline: every event of its core, and what the core answered.

The rules of this file:

- A watcher binds a socket in the pipeline's folder of watchers (``engine.drive.hub``). A driver looks there
  now and then; without a listener that is all that it does.
- A driver never waits for a watcher. What a socket does not take at once is kept, up to ``PENDING`` bytes; what exceeds
  that is lost, and the listener sees it by the numbers of the events.
- Only for a recorder, which must not miss anything, it waits: as long as that goes on taking, and ``PATIENCE`` seconds
  where it does not. A recorder's socket has a name that begins with ``RECORDER``.
- A watcher that died is left alone. A socket that is not of this user is none, nor is any in a folder that others can
  write.
- A message is its length (``>I``) and msgpack, in the journal's terms: first ``[VERSION, begun, at, pid, epoch,
  config]``, where ``begun`` is how many events the core had had by then, then ``[number, at, event, commands, spent]``
  for each.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from importlib import import_module

import msgpack

from engine.drive.disk import STILL_NS
from engine.drive.driverprocess import own_folder
from engine.journal.codec import Codec
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Command, Event

VERSION = "roundhouse.driver/1"
FOLDER = ".watchers"  # in a pipeline's root
LENGTH = struct.Struct(">I")
MAX_MESSAGE = 16 * 1024 * 1024  # bytes
PENDING = 16 * 1024 * 1024  # bytes that one watcher may leave unread
LOOK = 0.25  # seconds between two looks at who listens
LAST_WORDS = 0.2  # seconds that a driver that ends takes to get rid of what is pending
RECORDER = "all-"
HIGH = 256 * 1024  # bytes that a recorder may leave unread before a driver waits for it
PATIENCE = 1.0  # seconds
LISTENERS = 8
PATH = 100  # bytes of an address: systems take 104 or 108


class Teller:
    """Tells everybody who listens in a folder. Its methods never wait and never raise; ``close`` waits a little."""

    def __init__(self, folder: str, config: DriverConfig, epoch: float, now: float) -> None:
        self._folder = folder
        self._config, self._epoch = config, epoch
        self._ears: dict[str, _Ear] = {}
        self._deaf: set[str] = set()  # sockets without a listener
        self._told = 0  # events so far
        self._settled = -1  # the folder's time of change that has been seen for certain
        self._look_at = 0.0
        self._spent = 0.0  # seconds
        self._codec: Codec | None = None  # made when a listener comes
        self.look(now)

    def look(self, now: float) -> None:
        """See who listens, at most every ``LOOK`` seconds."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK
        began = time.time_ns()
        try:
            with own_folder(self._folder, os.geteuid()) as handle:
                changed = os.fstat(handle).st_mtime_ns
            if changed == self._settled:
                return
            found = {name for name in os.listdir(self._folder) if not name.startswith(".")}
        except OSError:
            return
        self._settled = changed if began - changed > STILL_NS else -1
        self._deaf &= found
        for name in sorted(found - self._ears.keys() - self._deaf)[: LISTENERS - len(self._ears)]:
            self._meet(name, now)

    def tell(self, now: float, event: Event, commands: list[Command]) -> None:
        """One event and what came of it."""
        self._told += 1
        if self._ears:
            assert self._codec is not None
            began = time.perf_counter()
            plain = [self._codec.plain(event), self._codec.plain(commands)]
            data = _message([self._told, now, *plain, self._spent])
            for name, ear in list(self._ears.items()):
                if not ear.say(data):
                    del self._ears[name]
                    self._deaf.add(name)
            self._spent += time.perf_counter() - began
        self.look(now)

    def close(self) -> None:
        """Say the rest, as far as that takes no time to speak of."""
        for ear in self._ears.values():
            ear.close()
        self._ears.clear()

    def _meet(self, name: str, now: float) -> None:
        path = f"{self._folder}/{name}"
        try:
            if os.lstat(path).st_uid != os.geteuid():
                raise PermissionError(path)
            ear = _Ear(path, name.startswith(RECORDER))
        except BlockingIOError:
            self._settled = -1  # too many knock there just now
            return
        except OSError:
            self._deaf.add(name)
            return
        if self._codec is None:
            self._codec = Codec(import_module(DriverConfig.__module__.rpartition(".")[0]))
        self._ears[name] = ear
        ear.say(_message([VERSION, self._told, now, os.getpid(), self._epoch, list(astuple(self._config))]))


class _Ear:
    """One listener. Raises OSError where none is there."""

    def __init__(self, path: str, recorder: bool) -> None:
        self._pending = bytearray()
        self._recorder = recorder
        self._stuck = False  # it has taken nothing for as long as it is waited for
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        try:
            with short(path) as address:
                self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise

    def say(self, data: bytes) -> bool:
        """False where the listener is gone."""
        if len(data) - LENGTH.size <= MAX_MESSAGE and len(self._pending) + len(data) <= PENDING:
            self._pending += data
        try:
            self._send(PATIENCE if self._recorder else 0.0, HIGH)
        except OSError:
            self._socket.close()
            return False
        return True

    def close(self) -> None:
        """The last words."""
        with self._socket, suppress(OSError):
            self._send(PATIENCE if self._recorder else LAST_WORDS, 0)

    def _send(self, patience: float, most: int) -> None:
        """Send what is taken; while more than ``most`` bytes are left, wait for so many seconds at a time."""
        while self._pending:
            try:
                del self._pending[: self._socket.send(self._pending)]
                self._stuck = False
            except BlockingIOError:
                if len(self._pending) <= most or self._stuck or not patience:
                    return
                self._stuck = not select.select([], [self._socket], [], patience)[1]


def _message(value: list[object]) -> bytes:
    content: bytes = msgpack.packb(value, unicode_errors="surrogateescape")
    return LENGTH.pack(len(content)) + content


@contextmanager
def short(path: str) -> Iterator[str]:
    """An address of this path that a socket takes, as long as this lasts: a longer one goes by way of a link."""
    if len(os.fsencode(path)) <= PATH:
        yield path
        return
    folder, name = os.path.split(path)
    made = tempfile.mkdtemp(prefix="rh-")
    try:
        os.symlink(os.path.abspath(folder), f"{made}/w")
        yield f"{made}/w/{name}"
    finally:
        shutil.rmtree(made, ignore_errors=True)
