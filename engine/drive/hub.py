"""Listens to the drivers of a pipeline, and puts in order what they and this process tell of themselves.

The rules of this file:

- Without a listener there is no socket and no thread, and a tap of this process costs one comparison.
- What is told is held for ``HOLD`` seconds and then passed on in the order of its times: processes tell each for
  itself, and a document must not be taken before it was published. Ears are called on one thread.
- What comes through a socket is checked to its last field. A peer that sends anything else is cut off, and counted.
- A driver whose events were all heard from the first on has the role ``driver``, and its core can be run again;
  any other (it ran before, or some events were lost) has the role ``""``.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import secrets
import selectors
import socket
import stat
import threading
import time
from collections.abc import Callable
from importlib import import_module
from itertools import count
from math import isfinite
from typing import Any, NamedTuple, Protocol

from engine.core import Note, Start
from engine.drive.driverprocess import own_folder
from engine.drive.sender import FOLDER, LENGTH, MAX_MESSAGE, PENDING, RECORDER, VERSION, short
from engine.journal.checks import fits
from engine.journal.codec import Codec
from engine.parts.plain import several
from engine.parts.unpacking import UNREADABLE, unpack
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Command, Event
from engine.protocols.diskqueue.explain import queue_of
from engine.protocols.diskqueue.explain import seat_of as seat
from engine.protocols.diskqueue.operations import Process

HOLD = 0.05  # seconds
HELD = 100_000  # calls that are held at most; more are passed on before their time
READ = 256 * 1024  # bytes at once
LINKS = 1100  # drivers that are listened to at once
ARRAYS = 2_000_000  # in one message
VALUES = 4_000_000  # in all of them together, each up to a hundred bytes in memory


class Ear(Protocol):
    """A listener, such as a journal. ``role``: driver or watchdog; "" where its core can not be run again."""

    def seated(
        self, node: str, name: str, role: str, args: list[Any], world: dict[str, Any], at: float | None = None
    ) -> None: ...
    def left(self, node: str, name: str) -> None: ...
    def tap(self, node: str, name: str, now: float, event: Any, commands: list[Any]) -> None: ...


class _Held(NamedTuple):
    at: float
    serial: int  # so that what has one time keeps its order, and no two calls are compared
    call: Callable[[Ear], None]


class Hub:
    """All events under one root. Its methods are for any thread."""

    def __init__(self, root: str, say: Callable[[Note], None] = lambda note: None) -> None:
        self.lost = 0  # events of drivers that were told and not heard
        self.refused = 0  # connections that said what is no driver's
        self.spent = 0.0  # seconds that drivers took to tell what was heard
        self._folder, self._say = f"{root}/{FOLDER}", say
        self._ears: list[Ear] = []
        self._held: list[_Held] = []
        self._serial = count()
        self._seats: dict[tuple[str, str], tuple[list[Any], dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._door = threading.Lock()  # one comes or goes at a time
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    # ---- who listens ------------------------------------------------------------------------------------------------

    def attach(self, ear: Ear, recorder: bool = False) -> None:
        """Tell it everything from now on. Raises OSError where the pipeline's folder takes no socket.

        ``recorder``: drivers wait for it rather than lose anything; it is to be the first who listens.
        """
        with self._door:
            if self._thread is None:
                bound = _bound(self._folder, RECORDER if recorder else "")
                self._ended.clear()
                self._thread = threading.Thread(
                    target=self._serve, args=(bound,), name="roundhouse-listener", daemon=True
                )
                self._thread.start()
            with self._lock:
                for (node, name), (args, world) in list(self._seats.items()):
                    ear.seated(node, name, "", args, world)
                self._ears.append(ear)

    def detach(self, ear: Ear) -> None:
        """Tell it the rest, and nothing more."""
        with self._door:
            if self._ears == [ear] and self._thread is not None:
                self._ended.set()
                self._thread.join()
                self._thread = None
            with self._lock:
                if ear in self._ears:
                    self._ears.remove(ear)

    # ---- who tells --------------------------------------------------------------------------------------------------

    def seated(
        self, node: str, name: str, role: str, args: list[Any], world: dict[str, Any], at: float | None = None
    ) -> None:
        """A core begins."""
        self._seats[(node, name)] = (args, world)
        at = time.monotonic() if at is None else at
        self._hold(at, lambda ear: ear.seated(node, name, role, args, world, at))

    def left(self, node: str, name: str, at: float | None = None) -> None:
        """A core has left."""
        self._seats.pop((node, name), None)
        self._hold(time.monotonic() if at is None else at, lambda ear: ear.left(node, name))

    def tap(self, node: str, name: str, now: float, event: Any, commands: list[Any]) -> None:
        """What one core was given and what it answered."""
        if self._ears:
            self._hold(now, lambda ear: ear.tap(node, name, now, event, commands))

    def miss(self, name: str, events: int) -> None:
        """Count what was told and not heard; the first time it is said."""
        if not self.lost:
            self._say(Note("warn", f"{name} told more than could be heard: {several(events, 'event')} missing"))
        self.lost += events

    # ---- the thread -------------------------------------------------------------------------------------------------

    def _hold(self, at: float, call: Callable[[Ear], None]) -> None:
        if self._ears:
            with self._lock:
                heapq.heappush(self._held, _Held(at, next(self._serial), call))

    def _pass_on(self, until: float) -> None:
        while True:
            with self._lock:
                if not self._held or (self._held[0].at > until and len(self._held) <= HELD):
                    return
                call, ears = heapq.heappop(self._held).call, list(self._ears)
            for ear in ears:
                try:
                    call(ear)
                except Exception as error:  # one that fails is told nothing more, and that is said
                    with self._lock:
                        self._ears.remove(ear)
                    self._say(Note("bad", f"a listener has died: {type(error).__name__}: {error}"))

    def _serve(self, bound: _Bound) -> None:
        with bound, selectors.DefaultSelector() as selector:
            selector.register(bound.socket, selectors.EVENT_READ)
            while not self._ended.is_set():
                for key, _ in selector.select(HOLD):
                    if key.data is None:
                        self._accept(bound, selector)
                    elif not key.data.read():
                        selector.unregister(key.fileobj)
                self._pass_on(time.monotonic() - HOLD)
            while self._accept(bound, selector):
                pass
            for link in [key.data for key in selector.get_map().values() if key.data is not None]:
                link.drain()
            self._pass_on(float("inf"))

    def _accept(self, bound: _Bound, selector: selectors.BaseSelector) -> bool:
        try:
            connection, _ = bound.socket.accept()
        except OSError:  # the driver is gone, or there are no descriptors left
            return False
        if len(selector.get_map()) > LINKS:
            connection.close()
        else:
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ, _Link(self, connection))
        return True


class _Link:
    """A connection of a driver, or of a peer that claims to be one."""

    def __init__(self, hub: Hub, connection: socket.socket) -> None:
        self._hub, self._socket = hub, connection
        self._data = bytearray()
        self._codec = Codec(import_module(DriverConfig.__module__.rpartition(".")[0]))
        self._seat: tuple[str, str] | None = None
        self._about: tuple[list[Any], dict[str, Any]] = ([], {})
        self._next = 0  # the number of the event that is due
        self._spent = 0.0
        self._quiet = False  # there is nothing to read just now; looked at in the end only
        self._at = 0.0  # when it was heard last, by its own clock

    def read(self) -> bool:
        """Take what is there; False where nothing more will come."""
        try:
            fresh = self._socket.recv(READ)
        except BlockingIOError:
            self._quiet = True
            return True
        except OSError:
            fresh = b""
        self._data += fresh
        try:
            while (message := self._message()) is not None:
                self._take(message)
        except UNREADABLE:
            self._hub.refused += 1
            fresh = b""
        if not fresh:
            self.close()
        return bool(fresh)

    def drain(self) -> None:
        """Take what was said until now, then close: the last listener has left."""
        self._quiet = False
        reads = PENDING // READ  # one that never stops is not waited for
        while reads and not self._quiet and self.read():
            reads -= 1
        self.close()

    def close(self) -> None:
        """The driver is gone, or the last listener has left."""
        self._socket.close()
        if self._seat is not None:
            self._hub.left(*self._seat, at=self._at)
            self._seat = None

    def _message(self) -> Any:
        if len(self._data) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._data)
        if length > MAX_MESSAGE:
            raise ValueError("too long")
        end = LENGTH.size + length
        if len(self._data) < end:
            return None
        content = bytes(self._data[LENGTH.size : end])
        del self._data[:end]
        return unpack(content, ARRAYS, values=VALUES, unicode_errors="surrogateescape")

    def _take(self, message: Any) -> None:
        """One message. Raises ``UNREADABLE`` for what is none."""
        if self._seat is None:
            self._begin(message)
            return
        if not (type(message) is list and fits(tuple(message), tuple[int, float, object, object, float])):
            raise ValueError("no event")
        number, at, event, commands, spent = message
        event, commands = self._codec.value(event), self._codec.value(commands)
        if not fits(event, Event) or not fits(commands, list[Command]) or number < self._next or not isfinite(at):
            raise ValueError("no event of a driver")
        if any(type(command) is Start and not fits(command.body, Process) for command in commands):
            raise ValueError("no document")
        if number > self._next:
            self._hub.miss(self._seat[1], number - self._next)
            self._hub.left(*self._seat, at=self._at)
            self._hub.seated(*self._seat, "", *self._about, at=at)
        self._next = number + 1
        self._hub.spent += max(0.0, spent - self._spent)
        self._spent, self._at = spent, at
        self._hub.tap(*self._seat, at, event, commands)

    def _begin(self, message: Any) -> None:
        if not (type(message) is list and fits(tuple(message), tuple[str, int, float, int, float, list[object]])):
            raise ValueError("no beginning")
        version, begun, at, pid, epoch, values = message
        config = DriverConfig(*values)
        if version != VERSION or begun < 0 or not isfinite(at) or not fits(config, DriverConfig):
            raise ValueError("no driver of this version")
        if not names.number(config.number):
            raise ValueError("no driver's number")
        self._seat = seat_of(config)
        self._about = ([values, epoch], {"pid": pid})
        self._next, self._at = begun + 1, at
        self._hub.seated(*self._seat, "" if begun else "driver", *self._about, at=at)


def seat_of(config: DriverConfig) -> tuple[str, str]:
    """Node and seat of a driver: one name, made of its stage and its number."""
    name = seat(queue_of(config.dst.rstrip("/")), config.number)
    return name, name


# ---- the socket ----------------------------------------------------------------------------------------------------


class _Bound:
    """A socket with a name in a folder, until it is left."""

    def __init__(self, path: str, bound: socket.socket) -> None:
        self._path, self.socket = path, bound

    def __enter__(self) -> _Bound:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _bound(folder: str, kind: str) -> _Bound:
    """Listen in the folder, which is made where it is missing; takes away what watchers left that died."""
    os.makedirs(folder, 0o700, exist_ok=True)
    with own_folder(folder, os.geteuid()):
        pass  # else others could take away what we bind, or put theirs in its place
    for name in os.listdir(folder):
        if not name.startswith("."):
            _sweep(f"{folder}/{name}")
    name = kind + secrets.token_hex(4)
    early, path = f"{folder}/.{name}", f"{folder}/{name}"  # no driver knocks before we listen
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short(early) as address:
            bound.bind(address)
        os.chmod(early, 0o600)
        bound.listen(LINKS)
        bound.setblocking(False)
        os.rename(early, path)
    except OSError:
        bound.close()
        raise
    return _Bound(path, bound)


def _sweep(path: str) -> None:
    """Remove a socket that no process listens at."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
        knock.setblocking(False)
        try:
            with short(path) as address:
                knock.connect(address)
        except ConnectionRefusedError:
            os.unlink(path)
