"""Control sockets that one thread asks again and again: a process that comes back is heard again by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import zmq

from engine.drive.control.dial import Dial, Place
from engine.drive.control.found import Found, read_hello
from engine.drive.control.wire import Message, pack, read
from engine.drive.sockets import make_context, receive, send

PATIENCE = 5.0  # seconds after which a question that was not answered is asked again
HELLO, STATUS = 1, 2  # numbers of the two questions


class Heard(NamedTuple):
    """``found``: who is there; ``said``: the answer to ``status``. Without ``found``, ``trouble`` says why."""

    name: str
    found: Found | None = None
    said: Message | str | None = None
    trouble: str = ""


class Several:
    """``places``: by name. Use it as a context, on one thread."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = places
        self._found: dict[str, Found] = {}
        self._asked: dict[str, float] = {}  # since when an answer is waited for

    def __enter__(self) -> Several:
        self._context = make_context()
        self._dials: dict[str, Dial] = {}
        self._broken: dict[str, str] = {}  # why there is no socket for it
        for name, place in self._places.items():
            try:
                self._dials[name] = Dial(self._context, place)
            except zmq.ZMQError as error:  # of an address that is none, or of a key
                self._broken[name] = error.strerror
        return self

    def __exit__(self, *_: object) -> None:
        for dial in self._dials.values():
            dial.close()
        self._context.term()

    def ask(self) -> None:
        """Ask each process that answered the last question for its name and status."""
        now = time.monotonic()
        for name, dial in self._dials.items():
            if now < self._asked.get(name, now - PATIENCE) + PATIENCE:
                continue
            if not send(dial.socket, [pack("ask", Message(HELLO, "hello", {}))]):
                send(dial.socket, [pack("ask", Message(STATUS, "status", {"Brief": True}))])
                self._asked[name] = now

    def hear(self, timeout: float) -> Iterator[Heard]:
        """What is heard, after so many seconds at most."""
        while self._broken:
            name, trouble = self._broken.popitem()
            yield Heard(name, trouble=trouble)
        poller = zmq.Poller()
        for name, dial in self._dials.items():
            if trouble := dial.trouble():
                yield Heard(name, trouble=trouble)
            poller.register(dial.socket, zmq.POLLIN)
        readable = dict(poller.poll(int(timeout * 1000)))
        for name, dial in self._dials.items():
            if dial.socket in readable:
                for frames in receive(dial.socket, 100, "dealer"):
                    yield from self._read(name, read("say", frames[0]))

    def _read(self, name: str, said: Message | str) -> Iterator[Heard]:
        if isinstance(said, str):
            yield Heard(name, trouble=said)
        elif said.id == HELLO:
            found = read_hello(self._places[name], said)
            if found is None:
                yield Heard(name, trouble="what it says of itself can not be read")
            else:
                self._found[name] = found._replace(called=name)
        elif said.id == STATUS and name in self._found:
            self._asked.pop(name, None)
            yield Heard(name, self._found[name], said)
