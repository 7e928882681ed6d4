"""Cores that are cut off from their peers for a while, and those that are stopped: faults of an operator.

- Nothing passes over the sockets of a core that is held. Its connections stand; what is sent by it and to it waits,
  and arrives at the end. Its own timers go on.
- One that is stopped as well does nothing at all, as a process after SIGSTOP. It is told ``Paused`` at the end, and
  then what has happened meanwhile.
"""

from __future__ import annotations

import selectors
import time

from engine.core import Event, Paused
from engine.drive.hosted import HostedCore

PAUSE = 2.0  # seconds of not being run that cores are told


class Holds:
    """The cores of one node that are held. ``selector``: the node's, which watches nothing of them meanwhile."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector
        self._until: dict[HostedCore, tuple[float, float]] = {}  # when each was held, and until when

    def hold(self, hosted: HostedCore, until: float, stopped: bool) -> None:
        """Hold a core until then, or longer where it is held for longer already."""
        since, end = self._until.get(hosted, (time.monotonic(), until))
        self._until[hosted] = since, max(end, until)
        if stopped and hosted.later is None:
            hosted.later = []
        if hosted.held:
            return
        hosted.held = True
        for port in hosted.ports.values():
            port.held = True
            for fd in port.fds:
                self._selector.unregister(fd)

    def due(self, now: float) -> list[tuple[HostedCore, list[Event]]]:
        """Release the cores whose time has come, each with its events. The caller reads their ports."""
        found: list[tuple[HostedCore, list[Event]]] = []
        for hosted, (since, until) in list(self._until.items()) if self._until else ():
            if now < until:
                continue
            del self._until[hosted]
            hosted.held = False
            for port in hosted.ports.values():
                port.held = False
                port.stirred = True
                for fd in port.fds:
                    self._selector.register(fd, selectors.EVENT_READ, port)
            later, hosted.later = hosted.later, None
            paused: list[Event] = [] if later is None or now - since < PAUSE else [Paused(now - since)]
            found.append((hosted, [*paused, *(later or ())]))
        return found
