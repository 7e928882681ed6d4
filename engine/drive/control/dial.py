"""The socket of one that asks a control socket: over ipc as its user, or over tcp with a key."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import zmq

from engine.core import Socket as Spec
from engine.drive.links import FAILED, Monitor, ZSocket
from engine.drive.security.curve import Curve, failure
from engine.drive.sockets import Context, close_socket, open_socket

ANEW = 2.0  # seconds after which a socket is opened anew whose key was refused: libzmq does not try again


class Far(NamedTuple):
    """A control socket over tcp, and our keys."""

    endpoint: str
    curve: Curve

    @property
    def name(self) -> str:
        """What it is called."""
        return self.endpoint


Place = Path | Far
"""Where a control socket is; either has a ``name``."""


class Dial:
    """For one thread. Raises zmq.ZMQError for an address that is none."""

    socket: ZSocket

    def __init__(self, context: Context, place: Place) -> None:
        self._context, self._place = context, place
        self._monitor: Monitor | None = None
        self._anew_at = float("inf")
        self._open()

    def _open(self) -> None:
        if isinstance(self._place, Path):
            spec = Spec("dealer", connect=(f"ipc://{self._place}",), private=True)
            self.socket = open_socket(self._context, spec)
        else:
            spec = Spec("dealer", connect=(self._place.endpoint,))
            try:
                self.socket = open_socket(self._context, spec, monitor=self._watch, curve=self._place.curve)
            except BaseException:
                if self._monitor is not None:  # else its context could not end
                    self._monitor.close()
                raise

    def _watch(self, socket: ZSocket) -> None:
        self._monitor = Monitor(self._context, socket)

    def trouble(self) -> str:
        """Why the other side does not let us in, if it has said so since the last look."""
        if self._monitor is None or isinstance(self._place, Path):
            return ""
        now, words = time.monotonic(), ""
        for event, value in self._monitor.read():
            if event in FAILED:
                words = failure(event, value, self._place.endpoint, self._place.curve) or words
            if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self._anew_at = now + ANEW
        if now >= self._anew_at:
            self._anew_at = float("inf")
            self.close()
            self._open()
        return words

    def close(self) -> None:
        """Close it."""
        if self._monitor is not None:
            self._monitor.close()
        close_socket(self._context, self.socket)
