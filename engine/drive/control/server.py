"""The broker's side of its control socket: one thread between the socket in the folder and the broker's own port.

The rules of this file:

- The socket is private (``engine.drive.security``): peers are of this user, and no other process is heard.
- Each request is checked and passed on under a number of our own; each answer goes back under the peer's. Of a request
  that nobody answers any more only its number is kept, ``PENDING`` of them at most: the oldest is forgotten first.
- ``hello`` is answered here: who this is.
- A read-only lab answers what only looks, and refuses the rest.
- The thread ends when its context is terminated.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zmq

from engine.core import Note
from engine.core import Socket as Spec
from engine.drive.control.place import make_folder, place
from engine.drive.control.wire import Message, pack, read
from engine.drive.sockets import Context, close_socket, open_socket, receive, send
from engine.system import Orders, System

PENDING = 10_000
LOOKS = ("hello", "jobs", "tasks", "pair")
LAST = ("refused", "job")  # after which nothing more is said about a request
READONLY = "readonly is set where the broker runs"


class Control:
    """Listens at ``endpoint`` for the broker that takes orders at ``broker``. ``about``: what ``hello`` is answered."""

    def __init__(
        self,
        context: Context,
        endpoint: str,
        orders: Orders,
        broker: str,
        about: dict[str, Any],
        *,
        readonly: bool = False,
    ) -> None:
        """Raises zmq.ZMQError where it can not listen there."""
        self.dead: str | None = None
        self.counts = {"requests": 0, "unreadable": 0, "refused": 0, "unsent": 0}
        self._context, self._orders, self._about, self._readonly = context, orders, about, readonly
        self._door = open_socket(context, Spec("router", bind=(endpoint,), private=True))
        self._broker = open_socket(context, Spec("dealer", connect=(broker,), routing_id=orders.client))
        self._asked: dict[int, tuple[bytes, int, bool]] = {}  # our number → the peer, its own, one answer of many?
        self._last = 0
        thread = threading.Thread(target=self._main, name="roundhouse-control", daemon=True)
        context.threads = (*context.threads, thread)
        thread.start()

    def _main(self) -> None:
        poller = zmq.Poller()
        poller.register(self._door, zmq.POLLIN)
        poller.register(self._broker, zmq.POLLIN)
        try:
            while True:
                ready = dict(poller.poll())
                if self._door in ready:
                    for frames in receive(self._door, 100, "router"):
                        self._request(frames)
                if self._broker in ready:
                    for frames in receive(self._broker, 100, "dealer"):
                        self._answer(frames)
        except Exception as error:
            if not isinstance(error, zmq.ZMQError) or error.errno != zmq.ETERM:
                self.dead = f"{type(error).__name__}: {error}"
                self._context.door.say(
                    Note("bad", f"no orders are taken any more: the control socket died: {self.dead}")
                )
        finally:
            close_socket(self._context, self._door)
            close_socket(self._context, self._broker)

    def _request(self, frames: list[bytes]) -> None:
        self.counts["requests"] += 1
        peer = frames[0]
        asked = read("ask", frames[1]) if len(frames) == 2 else "unreadable"
        if isinstance(asked, str):
            self.counts["unreadable"] += 1
            self._say(peer, Message(0, "refused", {"Why": asked}))
            return
        if asked.word == "hello":
            self._say(peer, Message(asked.id, "hello", self._about))
            return
        if self._readonly and asked.word not in LOOKS:
            self.counts["refused"] += 1
            self._say(peer, Message(asked.id, "refused", {"Why": READONLY}))
            return
        self._last += 1
        request = self._orders.parse({**asked.fields, "Ask": asked.word, "Ref": self._last})
        if isinstance(request, str):
            self.counts["unreadable"] += 1
            self._say(peer, Message(asked.id, "refused", {"Why": f"{asked.word}: {request}"}))
            return
        if len(self._asked) >= PENDING:
            del self._asked[next(iter(self._asked))]
        self._asked[self._last] = peer, asked.id, self._orders.follows(request[1])
        if send(self._broker, [self._orders.pack(*request)]):
            self.counts["unsent"] += 1
            del self._asked[self._last]
            self._say(peer, Message(asked.id, "refused", {"Why": "the broker is gone"}))

    def _answer(self, frames: list[bytes]) -> None:
        said = self._orders.load(frames[0])
        ref, word = said.pop("Ref"), said.pop("Say")
        if ref not in self._asked:
            return  # forgotten: too many others were asked since
        peer, number, followed = self._asked[ref]
        if not followed or word in LAST:
            del self._asked[ref]
        self._say(peer, Message(number, word, said))

    def _say(self, peer: bytes, message: Message) -> None:
        if send(self._door, [peer, pack("say", message)]):
            self.counts["unsent"] += 1  # the peer has gone, or does not read


def listen(context: Context, folder: Path, system: System, endpoints: Sequence[str], readonly: bool) -> Control | None:
    """The control socket of a broker at these endpoints, if its system takes orders; what is in the way is told."""
    if system.orders is None:
        return None
    about = {"system": system.name, "role": "broker", "endpoints": list(endpoints), "pid": os.getpid()}
    broker = system.orders.endpoint(f"inproc://{system.name}")
    try:
        make_folder(folder)
        at = f"ipc://{place(folder, endpoints[0])}"
        return Control(context, at, system.orders, broker, about, readonly=readonly)
    except (OSError, zmq.ZMQError) as error:
        words = f"orders of other processes do not reach this broker: no control socket: {error}"
        context.door.say(Note("bad", words))
        return None
