"""A core that sits on a node: its open sockets, its task bodies, its next deadline."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, cast

import zmq

from engine.core import (
    NEVER,
    Cancel,
    Command,
    Event,
    Frames,
    FromStore,
    Piped,
    Process,
    Received,
    Seat,
    Send,
    Start,
    Store,
    Unsent,
)
from engine.core import Socket as Spec
from engine.drive.jobs import Jobs
from engine.drive.links import FAILED, Calls, Links, Monitor, ZSocket, outer
from engine.drive.pump.chosen import PUMP
from engine.drive.security.curve import failure
from engine.drive.security.guard import Guard
from engine.drive.sharing.riders import Riders
from engine.drive.sockets import Context, close_socket, keyed, open_socket, receiver
from engine.drive.wallclock import WallClock

SMALL = 1024 * 1024  # bytes of a message below which no batch ends for its size
OUTBOX = 100_000  # messages that wait for a DEALER's broker to come back


class AnyPort(Protocol):
    """What a core's messages come and go by: a socket of its own (``Port``), or one that others use too
    (``engine.drive.sharing.ride``).
    """

    hosted: HostedCore
    spec: Spec
    fd: int
    held: bool
    stirred: bool
    batch: int
    more: bool
    outbox: deque[Frames]

    @property
    def line(self) -> AnyPort:
        """What is to be looked at when something was sent."""

    @property
    def fds(self) -> Sequence[int]: ...
    def receive(self) -> list[tuple[HostedCore, Event]]: ...
    def send(self, commands: list[Command], start: int) -> tuple[int, Sequence[Unsent]]: ...
    def flushes(self) -> bool: ...
    def close(self, linger: int = 0) -> None: ...


class Port:
    """One open socket of one core."""

    __slots__ = (
        "_context",
        "_receive",
        "batch",
        "calls",
        "fd",
        "guard",
        "held",
        "hosted",
        "links",
        "monitor",
        "more",
        "news",
        "outbox",
        "riders",
        "socket",
        "spec",
        "stirred",
    )

    def __init__(self, hosted: HostedCore, spec: Spec, context: Context, stir: Callable[[Port], None]) -> None:
        """Open it; raises zmq.ZMQError. ``stir`` is called on another thread when a connection came or has ended."""
        self.hosted, self.spec, self._context = hosted, spec, context
        self.links = Links(spec.name, self._cut_off) if spec.kind == "router" and spec.bind else None
        self.calls = Calls(spec.name)
        self.monitor: Monitor | None = None
        self.news: deque[tuple[int, int]] = deque()  # events of the monitor and descriptors, from the door's thread
        self.stirred = True  # whether there may be news
        curve = context.curve if keyed(spec) else None
        self.held = hosted.held  # nothing passes, either way

        def tell(event: int, fd: int) -> None:
            self.news.append((event, fd))
            stir(self)

        try:
            self.socket = open_socket(context, spec, tell, self._watch, curve)
        except zmq.ZMQError:
            self._unwatch()
            raise
        self.guard: Guard | None = None
        if curve is not None and self.links is not None:
            endpoints = [*spec.bind, self.socket.get_string(zmq.LAST_ENDPOINT)]
            self.guard = Guard(spec, endpoints, curve.ring, self.links, context.door.say)
        self._receive = receiver(context, spec, self.links, self.guard)
        self.fd = int(self.socket.get(zmq.FD))
        self.riders: Riders | None = None  # where peers were told that they may share a connection
        self.outbox: deque[Frames] = deque()
        self.batch = 1  # messages that are taken at a time
        self.more = True  # whether it is to be looked at again after something was there

    @property
    def line(self) -> AnyPort:
        """Itself."""
        return self

    def _watch(self, socket: ZSocket) -> None:
        if outer(self.spec):
            self.monitor = Monitor(self._context, socket)

    def _cut_off(self, fd: int, size: int) -> None:
        self._context.door.cut_off(bytes(self.socket.get(zmq.ZAP_DOMAIN)), fd, size)

    def _unwatch(self) -> None:
        if self.monitor is not None:
            self.monitor.close()

    @property
    def fds(self) -> list[int]:
        """What a selector is to watch: the socket, and its monitor where it has one."""
        return [self.fd] if self.monitor is None else [self.fd, self.monitor.fd]

    def share(self) -> None:
        """Peers of a ROUTER that binds may send for several routing ids from now on."""
        if self.links is not None and self.riders is None:
            self.riders = Riders(self.spec.name, self.links, self.guard)

    def receive(self) -> list[tuple[HostedCore, Event]]:
        """What has happened to connections, and what is there, of a batch; to whom each is to be told."""
        if self.held:
            return []
        if self.riders is not None and self.riders.runs:
            told, messages = self.riders.runs.popleft()
        elif self.links is None and not self.stirred and not self.news:  # what thousands of workers do each second
            told, messages = [], self._receive(self.socket, self.batch, self.spec.kind)
            self.more = not self._is_last(messages)
        else:
            told, messages = self._read()
        events = [(self.hosted, event) for event in told] if told else []
        if messages:
            events.append((self.hosted, Received(messages, self.spec.name)))
        return events

    def _read(self) -> tuple[list[Event], list[Frames]]:
        """What is there; nothing only where nothing more is there."""
        links, riders = self.links, self.riders
        told: list[Event] = []
        self.more = True
        if self.stirred or self.news:  # who was accepted is heard of before anything of it is read
            self.stirred = False
            told = self.hear()
        while True:
            messages = self._receive(self.socket, self.batch, self.spec.kind)
            empty = not messages
            if self.guard is not None:
                messages = self.guard.taken(messages)
            if links is not None:
                links.drained(empty)
                if links.told:
                    told, links.told = links.told, []
            if riders is not None:
                told = riders.told(told)
                if messages:
                    riders.take(messages)
                    riders.answers(partial(PUMP.send, self.socket))
                    first, messages = riders.runs.popleft()
                    told += first
            if told or messages or empty:
                return told, messages

    def _is_last(self, messages: list[Frames]) -> bool:
        """Whether a batch ended because nothing more is there: at a DEALER, unless one ends for its size or waits."""
        if len(messages) != 1 or self.batch == 1 or self.outbox or self.spec.kind != "dealer":
            return False
        return sum(map(len, messages[0])) < SMALL

    def hear(self) -> list[Event]:
        """What has happened to connections since."""
        if self.monitor is not None:
            self.news.extend(self.monitor.read())
        told: list[Event] = []
        while self.news:
            event, fd = self.news.popleft()
            if self.links is not None:
                self.links.hear(event, fd)
                if self.guard is not None:
                    self.guard.hear(event, fd)
            elif self.spec.kind == "dealer":
                told += self.calls.hear(event)
                if event in FAILED and (words := failure(event, fd, self.spec.connect[0], self._context.curve)):
                    self._context.complain(words)
        return told

    def send(self, commands: list[Command], start: int) -> tuple[int, Sequence[Unsent]]:
        """Carry out a ``Send`` by this socket, and those that follow it directly; at most until one is refused.

        Returns the place of the command that is next, and what its core is to be told.
        """
        if self.riders is not None and self.riders.carriers:
            cut = () if self.guard is None else self.guard.cut
            following, unsent = self.riders.send(partial(PUMP.send, self.socket), commands, start, cut)
            if self.guard is not None:
                self.guard.unsent += sum(one.frames[0] in cut for one in unsent)
            return following, unsent
        if self.guard is not None and self.guard.cut:
            frames = cast(Send, commands[start]).frames
            if frames[0] in self.guard.cut:
                self.guard.unsent += 1
                return start + 1, (Unsent(frames, "unreachable", self.spec.name),)
            following, error = start + 1, PUMP.send(self.socket, frames)
        elif self.outbox or self.calls.down or self.held:  # behind what waits already; or for the next connection
            following, error = start + 1, errno.EAGAIN
        else:
            following, error = PUMP.send_run(self.socket, commands, start, self.spec.name)
        if not error:
            return following, ()
        refused = self.refuse(cast(Send, commands[following - 1]).frames, error)
        return following, () if refused is None else (refused,)

    def flush(self) -> None:
        """Send what waits, as much as goes."""
        while self.outbox and not self.calls.down and not self.held and not PUMP.send(self.socket, self.outbox[0]):
            self.outbox.popleft()

    def flushes(self) -> bool:
        """Send what waits where a look at the socket says so, for a receive has eaten its signal; False: come later."""
        events = 0 if self.held else int(self.socket.get(zmq.EVENTS))
        if events & zmq.POLLOUT:
            self.flush()
        return bool(events)

    def refuse(self, frames: Frames, error: int) -> Unsent | None:
        """Handle a message that the socket did not take: keep it until a DEALER's broker is there, or tell the core."""
        if error == errno.EHOSTUNREACH:
            return Unsent(frames, "unreachable", self.spec.name)
        if self.spec.kind == "dealer" and len(self.outbox) < OUTBOX:
            self.outbox.append(frames)
            return None
        return Unsent(frames, "full", self.spec.name)

    def close(self, linger: int = 0) -> None:
        """Close the socket and drop what waits. ``linger``: ms that what it has taken to send may still take."""
        self.outbox.clear()  # its node asks a port with an outbox whether it can send
        self._unwatch()
        close_socket(self._context, self.socket, linger)


class Keeper(Protocol):
    """What does a core's ``Store`` commands, on a thread of its own (``engine.drive.stores.writer``)."""

    def start(self, answer: Callable[[list[FromStore]], None]) -> None:
        """``answer`` is called on that thread."""

    def submit(self, command: Store) -> None:
        """Do this after what was submitted before."""

    def close(self) -> bool:
        """Do what was submitted, and end."""


class HostedCore:
    """One core that sits on the node."""

    __slots__ = (
        "core",
        "held",
        "jobs",
        "keeper",
        "later",
        "name",
        "ports",
        "routes",
        "scheduled",
        "signature",
        "wall",
        "without",
    )

    def __init__(
        self, name: str, seat: Seat, done: Callable[[object, bool, bytes], None], keeper: Keeper | None = None
    ) -> None:
        """``keeper``: of a core that gives ``Store`` commands."""
        self.name, self.core, self.keeper = name, seat.core, keeper
        self.wall = None if seat.wall is None else WallClock(seat.wall)
        self.ports: dict[str, AnyPort] = {}
        self.without: dict[str, Spec] = {}  # sockets that could not be opened again (``engine.drive.reopening``)
        self.held = False  # nothing passes over its sockets (``engine.drive.holding``)
        self.later: list[Event] | None = None  # what has happened while it was stopped; None while it goes on
        self.scheduled = NEVER  # the earliest time in the agenda for this core
        self.jobs = Jobs(done)  # costs nothing before the first body
        self.routes = False  # whether all its sockets are ROUTERs
        self.signature = b""  # its routing id, where it is one of many on its node

    def begin(self, post: Callable[[Callable[[], None]], None], hand: Callable[[Event], None]) -> None:
        """It sits. ``post``: have its node's thread do this; ``hand``: have it take an event, on that thread."""

        def answer(answers: list[FromStore]) -> None:
            def act() -> None:
                for event in answers:
                    hand(event)

            post(act)

        if self.keeper is not None:
            self.keeper.start(answer)

    def does(self, command: Command) -> bool:
        """Carry out what needs no node; False for any other command."""
        match command:
            case Start(key, Process() | Piped() as body):
                self.jobs.start(key, body)
            case Cancel(key):
                self.jobs.cancel(key)
            case Store() if self.keeper is not None:
                self.keeper.submit(command)
            case _:
                return False
        return True

    def close(self) -> None:
        """End its task bodies, and what its store has to do."""
        self.jobs.close()
        if self.keeper is not None:
            self.keeper.close()

    def seat(self) -> Seat:
        """The core and its sockets as they are now: some may have been opened anew, elsewhere or under another id."""
        return Seat(self.core, tuple(port.spec for port in self.ports.values()))
