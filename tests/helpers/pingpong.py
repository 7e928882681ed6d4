"""Ping-pong cores joined back to back: what one sends, the other has at once, and everything is noted."""

from __future__ import annotations

from collections import deque
from typing import Any

from engine.core import (
    Command,
    Core,
    Event,
    Exit,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Drain, Leave, Slow, StopRun
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.client import Client
from engine.protocols.pingpong.messages import ID, PING, PONG
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.worker import Worker


def words(frames: Frames) -> str:
    """A message for people, without routing id and delimiter: ``#7 ping``."""
    shown = []
    for i, frame in enumerate(frames):
        if i == 0 and len(frames) > 1 and len(frame) == ID and frame[2:] in (bytes(6), bytes(5) + b"\x80"):
            shown.append(f"#{int.from_bytes(frame[:2], 'little')}")
        else:
            shown.append(frame.decode("ascii") if frame.isascii() and len(frame) < 64 else f"<{len(frame)} bytes>")
    return " ".join(shown)


class Bench:
    """A broker and its peers by name: ``w…`` workers, ``c…`` clients, ``p…`` plain DEALERs that a test speaks for.

    ``said`` is everything that happened since it was last taken, one line each.
    """

    def __init__(self, options: Options | None = None) -> None:
        self.options = Options() if options is None else options
        self.now = 100.0
        self.broker = Broker(self.options)
        self.cores: dict[str, Any] = {}
        self.plain: set[str] = set()
        self.askers: set[str] = set()  # of them, those that keep their link to the frontend alive, unseen
        self.deaf = False  # nothing reaches the broker
        self.said: list[str] = []
        self.notes: list[tuple[str, Note]] = []
        self._post: deque[tuple[str, Event]] = deque([("broker", Started())])
        self._settle()

    def do(self, line: str) -> list[str]:
        """Carry out one line of a transcript; returns what was said in consequence."""
        verb, _, rest = line.partition(" ")
        name, _, rest = rest.partition(" ")
        match verb:
            case "start":
                self.start(name)
            case "wait":
                self.wait(float(name))
            case "crash":
                self.cores.pop(name, None)
                self.plain.discard(name)
                self.askers.discard(name)
            case "cut" | "heal":
                self.deaf = verb == "cut"
            case "plain":
                self.plain.add(name)
                self._post.append(("broker", Received([[name.encode(), b"", rest.encode()]], "backend")))
            case "ask":
                self.plain.add(name)
                self.askers.add(name)
                number, _, job = rest.partition(" ")
                frames = [name.encode(), b"", int(number[1:]).to_bytes(ID, "little"), job.encode()]
                self._post.append(("broker", Received([frames], "frontend")))
            case "run":
                kind, n, size = (*rest.split(), "0")[:3]
                assert kind in ("ping", "data")
                self.order(name, BulkSpec("ping" if kind == "ping" else "data", int(n), int(size)))
            case "slow":
                self.order(name, Slow(float(rest)))
            case "pause":
                self._post.append((name, Paused(float(rest))))
            case "leave" | "stop" | "drain":
                order = {"leave": Leave(), "stop": StopRun(), "drain": Drain(name.encode())}[verb]
                self.order("broker" if verb == "drain" else name, order)
            case _:
                raise AssertionError(f"no such line: {line}")
        self._settle()
        said, self.said = self.said, []
        return said

    def start(self, name: str) -> None:
        """Seat a new worker or client, connected."""
        self.cores[name] = (Worker if name.startswith("w") else Client)(self.options)
        self._post.append((name, Started()))

    def order(self, name: str, order: object) -> None:
        """Hand an order to a core."""
        self._post.append((name, Ordered(order)))

    def wait(self, seconds: float) -> None:
        """Let time pass; every core is woken at the times that it names."""
        end = self.now + seconds
        while True:
            cores: dict[str, Core] = {"broker": self.broker, **self.cores}
            at, name = min((core.wake_at(), name) for name, core in cores.items())
            if at > end:
                break
            for asker in self.askers:
                self._post.append(("broker", Received([[asker.encode(), b"", PING]], "frontend")))
            self.now = max(self.now, at)
            self._post.append((name, Woken()))
            self._settle()
        self.now = end

    def give(self, line: str) -> None:
        """Nothing can be given beforehand."""
        raise AssertionError(line)

    def shown(self, line: str) -> str:
        """``NAME STATE`` of a worker."""
        name = line.split()[0]
        return f"{name} {self.state(name)}"

    def state(self, name: str) -> str:
        """How the broker sees a worker."""
        rows = {row.key: row for row in self.broker.snapshot(self.now).workers}
        row = rows.get(name.encode())
        return "unknown" if row is None else row.state

    def counter(self, name: str) -> int:
        """One of the broker's counters."""
        return dict(self.broker.snapshot(self.now).counters)[name]

    def check(self) -> None:
        """Every invariant of everybody."""
        for core in (self.broker, *self.cores.values()):
            core.check()

    def _settle(self) -> None:
        while self._post:
            name, event = self._post.popleft()
            core = self.broker if name == "broker" else self.cores.get(name)
            if core is not None:
                self._perform(name, core.handle(event, self.now))
                self.check()

    def _perform(self, name: str, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Note():
                    self.notes.append((name, command))
                case Exit(reason):
                    self.said.append(f"{name} exits: {reason}")
                    del self.cores[name]
                case Reopen():
                    self.said.append(f"{name} reopens")
                case Send() if name == "broker":
                    self._from_broker(command)
                case Send(frames):
                    self.said.append(f"{name} > {words(frames[1:])}")
                    socket = "backend" if name.startswith("w") else "frontend"
                    if not self.deaf:
                        self._post.append(("broker", Received([[name.encode(), *frames]], socket)))
                case _:
                    raise AssertionError(f"{name} commands {command}")

    def _from_broker(self, command: Send) -> None:
        name = command.frames[0].decode()
        if name in self.askers and command.frames[1:] == [b"", PONG]:
            return
        if name in self.cores or name in self.plain:
            self.said.append(f"{name} < {words(command.frames[2:])}")
            self._post.append((name, Received([command.frames[1:]])))
        else:
            self.said.append(f"{name} is unreachable")
            self._post.appendleft(("broker", Unsent(command.frames, "unreachable", command.socket)))
