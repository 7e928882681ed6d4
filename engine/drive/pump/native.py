"""The pump in C (``native.c``): many whole messages in one call, on the libzmq that pyzmq has loaded.

The addresses of libzmq's functions come from pyzmq's own extension module, so there is no second libzmq and no header.
Where anything about that is not as it has to be, ``load`` says so and the pure pump runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import zmq

from engine.core import Command, Frames, Send
from engine.drive.links import Links, ZSocket
from engine.drive.pump.pure import Judge
from engine.parts.limits import MAX_FRAMES

INTERFACE = 2  # of the binary; native.c knows it too
BATCH = 4 * 1024 * 1024  # bytes from which on a batch ends: other threads wait for the GIL meanwhile
FUNCTIONS = (
    "zmq_msg_init",
    "zmq_msg_recv",
    "zmq_msg_close",
    "zmq_msg_more",
    "zmq_msg_get",
    "zmq_msg_data",
    "zmq_msg_size",
    "zmq_send",
    "zmq_errno",
    "zmq_msg_gets",
)
_REFUSED = (0, int(zmq.EAGAIN), int(zmq.EHOSTUNREACH))


class Unusable(Exception):
    """Why the native pump can not run here."""


class Native:
    """The pump of a loaded binary, as ``Pump``."""

    name = "native"

    def __init__(self, binary: Any) -> None:
        self._receive, self._send, self._send_run = binary.receive, binary.send, binary.send_run

    def receive(
        self, socket: ZSocket, limit: int, kind: str, links: Links | None = None, guard: Judge | None = None
    ) -> list[Frames]:
        """As ``Pump.receive``."""
        if links is None:
            got = self._receive(socket.underlying, limit, MAX_FRAMES, BATCH)
        else:
            asked = () if guard is None else (guard.users, guard.judge)
            looked = links.known, links.fresh, links.look
            got = self._receive(socket.underlying, limit, MAX_FRAMES, BATCH, *looked, *asked)
        if type(got) is not list:
            raise _error(got)
        return got

    def send(self, socket: ZSocket, frames: Frames) -> int:
        """As ``Pump.send``."""
        error: int = self._send(socket.underlying, frames)
        if error not in _REFUSED:
            raise _error(error)
        return error

    def send_run(self, socket: ZSocket, commands: Sequence[Command], start: int, name: str) -> tuple[int, int]:
        """As ``Pump.send_run``. ``commands`` has to be a list."""
        done: tuple[int, int] = self._send_run(socket.underlying, commands, start, Send, name)
        if done[1] not in _REFUSED:
            raise _error(done[1])
        return done


def load() -> Native:
    """The pump that was built when this was installed. Raises ``Unusable``."""
    try:
        return use(import_module("engine.drive.pump._native"))
    except ModuleNotFoundError:
        raise Unusable("it was not built when this was installed") from None
    except ImportError as error:
        raise Unusable(f"it does not load: {error}") from None


def use(binary: Any) -> Native:
    """Have a binary find the libzmq of pyzmq. Raises ``Unusable``."""
    if binary.INTERFACE != INTERFACE:
        raise Unusable("it was built from another version: install again")
    if zmq.zmq_version_info()[0] != 4:  # the size of a zmq_msg_t is known of these
        raise Unusable(f"libzmq {zmq.zmq_version()} is not known to it")
    try:
        library = ctypes.CDLL(import_module("zmq.backend.cython._zmq").__file__)  # finds what it is linked to as well
        addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in FUNCTIONS]
    except (ImportError, OSError, AttributeError) as error:
        raise Unusable(f"pyzmq does not show its libzmq: {error}") from None
    binary.load(*addresses)
    return Native(binary)


def _error(number: int) -> zmq.ZMQError:
    return zmq.ContextTerminated(number) if number == zmq.ETERM else zmq.ZMQError(number)
