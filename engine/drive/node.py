"""One thread, the cores that sit on it, and their sockets: the only loop that touches the world.

The rules of this file:

- One thread owns its sockets and cores. Everybody else posts to its inbox and, at most, waits for an answer.
- A readable socket is drained before anything waits again. libzmq's file descriptor only signals *changes*, and a send
  may consume the signal, so every socket that was written to is looked at once more before the thread sleeps.
- Nothing here blocks but the selector, and that for at most ``TICK``.
- A refused send is an event for its core. Only a DEALER's full queue (its broker is away) waits in a bounded outbox.
- An exception ends the node, visibly: ``dead`` holds its text and a fact says so.
"""

from __future__ import annotations

import selectors
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

import zmq

from engine.core import (
    Command,
    Event,
    Exit,
    Finished,
    Note,
    Ordered,
    Paused,
    Reopen,
    Save,
    Seat,
    Send,
    Share,
    Start,
    Started,
    Woken,
)
from engine.drive.cpus import share_one
from engine.drive.grouping import by_peer
from engine.drive.holding import PAUSE, Holds
from engine.drive.hosted import HostedCore, Keeper
from engine.drive.inbox import Inbox
from engine.drive.lateness import Lateness
from engine.drive.noting import noted
from engine.drive.ports import Ports
from engine.drive.sockets import Context
from engine.drive.wakes import Wakes
from engine.feed import Feed
from engine.journal.codec import kept
from engine.parts.plain import called

DRAIN = 64  # messages taken from a socket at a time, fewer where that many take long: the next peer's wait behind them
QUICK = 0.02  # seconds that a batch may take
ROUNDS = 32  # batches handled, TICK long at most, before timers and the inbox get their turn
TICK = 0.1  # seconds that the thread may sleep without looking at its stop flag
PUBLISH = 0.1  # seconds between pictures at least; none is drawn before somebody has looked at the last one
GOODBYE = 100  # ms that a leaving core's last words may take to be sent

Tap = Callable[[str, str, float, Event, list[Command]], None]
"""(node, seat, now, event, commands); called on the node's thread, so it must be quick and must not raise."""


class Node:
    """A daemon thread for any number of seats; ``start`` it, ``seat`` cores, ``stop`` it."""

    def __init__(
        self,
        name: str,
        context: Context,
        feed: Feed,
        save: Callable[[str, bytes], None] = lambda name, content: None,
        *,
        share: bool = False,
        told: bool = False,
    ) -> None:
        """``share``: run on one processor with the process's other such nodes (``engine.drive.cpus``). ``told``: a
        broker in this process tells who leaves without an error, so this node does not."""
        self.name = name
        self.dead: str | None = None
        self.taps: tuple[Tap, ...] = ()  # shown every event and what came of it; replace it whole
        self._seated: dict[Tap, Callable[[str, Seat], None]] = {}
        self.failed = 0  # cores that left because of an error
        self._lateness = Lateness()
        self._feed, self._save = feed, save
        self._share, self._told = share, told
        self._hosted: dict[str, HostedCore] = {}
        self._wakes = Wakes(self._hosted)
        self._inbox = Inbox()
        self._selector = selectors.DefaultSelector()
        self._holds = Holds(self._selector)
        self._ports = Ports(context, self._selector, self._inbox.post, self._complain)
        self._touched = self._ports.touched
        self._halt = threading.Event()
        self._published = 0.0
        self._thread = threading.Thread(target=self._main, name=f"roundhouse-{name}", daemon=True)

    # ---- for other threads --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float = 1.5) -> bool:
        """Stop the thread, which closes its sockets; False if it did not within ``timeout`` seconds."""
        self._halt.set()
        self._inbox.ring()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def seat(self, name: str, seat: Seat, keeper: Keeper | None = None) -> Future[None]:
        """Open a seat's sockets and start its core; the future raises what opening raised (zmq.ZMQError)."""
        return self._call(lambda: self._open(name, seat, keeper))

    def order(self, name: str, order: object) -> None:
        """Hand an order to one core; of no effect if it is gone."""
        self._inbox.post(lambda: self._hand(name, Ordered(order)))

    def carry(self, name: str, order: object) -> Future[list[Note] | None]:
        """Hand an order to one core; what that notes of it, None where it is gone."""
        return self._inbox.call(lambda: noted(self, name, lambda: self._hand(name, Ordered(order))), ())

    def finish(self, name: str, key: object, ok: bool, result: bytes) -> None:
        """A task body of one core has ended (``engine.drive.jobs`` says so from its own threads)."""
        self._inbox.post(lambda: self._hand(name, Finished(key, ok, result)))

    def ask(self, name: str) -> Future[Any]:
        """A fresh picture of one core; KeyError in the future if it is gone."""
        return self._call(lambda: self._hosted[name].core.snapshot(time.monotonic()))

    def ask_all(self) -> Future[dict[str, Any]]:
        """Fresh pictures of all cores, by name."""
        return self._call(
            lambda: {name: hosted.core.snapshot(time.monotonic()) for name, hosted in self._hosted.items()}
        )

    def remove(self, name: str) -> Future[None]:
        """Close a seat without ceremony, as if its process had died."""
        return self._call(lambda: self._leave(name))

    def hold(self, name: str, seconds: float, stopped: bool) -> Future[None]:
        """Cut a core off for so long, and stop it meanwhile where ``stopped``. KeyError in the future if it is gone."""
        return self._call(lambda: self._holds.hold(self._hosted[name], time.monotonic() + seconds, stopped))

    @property
    def lag(self) -> float:
        """Seconds by which the loop was late for its timers lately, at most."""
        return self._lateness.worst

    def names(self) -> list[str]:
        """The seats that are taken."""
        return list(self._hosted)

    def attach(self, tap: Tap, seated: Callable[[str, Seat], None]) -> None:
        """Tell ``seated`` who sits here and who sits down later, and show ``tap`` what they do from then on."""

        def act() -> None:
            for name, hosted in self._hosted.items():
                seated(name, hosted.seat())
            self._seated[tap] = seated
            self.taps = (*self.taps, tap)

        self._inbox.post(act)

    def detach(self, tap: Tap) -> None:
        """Show it nothing more."""

        def act() -> None:
            self._seated.pop(tap, None)
            self.taps = tuple(other for other in self.taps if other != tap)

        self._inbox.post(act)

    def _call(self, act: Callable[[], Any]) -> Future[Any]:
        return self._inbox.call(act, (zmq.ZMQError, KeyError))  # a taken endpoint, a seat that is gone

    # ---- the thread ---------------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            if self._share:
                share_one()
            self._selector.register(self._inbox.bell, selectors.EVENT_READ, None)
            self._loop()
        except Exception as error:
            self.dead = f"{type(error).__name__}: {error}"
            self._feed.fact(Note("bad", f"the {self.name} thread died: {self.dead}"), self.name, time.time())
            self._feed.show(f"{self.name}.traceback", traceback.format_exc())
        finally:
            try:
                self._ports.disband()
                for hosted in list(self._hosted.values()):
                    self._close(hosted)
            finally:  # whoever waits for an answer is told in any case
                self._hosted.clear()
                self._selector.close()
                self._inbox.close(self.dead or f"the {self.name} node has stopped")

    def _loop(self) -> None:
        last = time.monotonic()
        while not self._halt.is_set():
            sleep = 0.0
            if not self._touched:
                sleep = max(0.0, min(self._wakes.next() - last, TICK))
            for key, _ in self._selector.select(sleep):
                if key.data is None:
                    self._inbox.hush()
                else:
                    key.data.stirred |= key.fd != key.data.fd
                    self._touched[key.data] = None
            self._inbox.answer()  # after the loop: an order may close a socket that has just become readable
            now = time.monotonic()
            if now - last > sleep + PAUSE:
                self._pause(now - last - sleep, now)
            self._drain()
            last = time.monotonic()
            self._wake(last)
            if self._feed.looked(self.name) > self._published and last - self._published >= PUBLISH:
                self._publish(last)

    def _drain(self) -> None:
        touched, began = self._touched, time.monotonic()
        until = began + TICK
        for _ in range(ROUNDS):
            if not touched or began > until:
                return
            port, _ = touched.popitem(last=False)
            events = port.receive()
            if events:
                if port.more:
                    touched[port] = None
                for hosted, event in events:
                    self._handle(hosted, event)
                began, before = time.monotonic(), began
                port.batch = min(DRAIN, 2 * port.batch) if began - before < QUICK else max(1, port.batch // 2)
            elif port.outbox and port.flushes():
                touched[port.line] = None

    def _handle(self, hosted: HostedCore, event: Event) -> None:
        if hosted.later is not None:
            hosted.later.append(event)
            return
        now = time.monotonic()
        core = hosted.core
        decide = core.handle if not self.taps else partial(self._tapped, hosted)
        events = [event] if hosted.wall is None else hosted.wall.before(event)
        while events and self._hosted.get(hosted.name) is hosted:  # it may have left at an event before this one
            commands = decide(events.pop(0), now)
            if commands:
                events[:0] = self._perform(hosted, commands)
        at = core.wake_at()
        if at < hosted.scheduled:
            self._wakes.put(hosted, at)

    def _tapped(self, hosted: HostedCore, event: Event, now: float) -> list[Command]:
        shown = kept(event)
        commands = hosted.core.handle(event, now)
        for tap in self.taps:
            tap(self.name, hosted.name, now, shown, commands)
        return commands

    def _perform(self, hosted: HostedCore, commands: list[Command]) -> list[Event]:
        """Carry out commands in order; returns the events that refused sends give."""
        refused: list[Event] = []
        if hosted.routes:
            commands = by_peer(commands)
        at, end = 0, len(commands)
        while at < end:
            command = commands[at]
            if type(command) is not Send:
                self._rarely(hosted, command)
                at += 1
                continue
            port = hosted.ports.get(command.socket)
            if port is None:
                at += 1  # the core left with this command still in hand
                continue
            self._touched[port.line] = None
            at, unsent = port.send(commands, at)
            refused += unsent
        return refused

    def _rarely(self, hosted: HostedCore, command: Command) -> None:
        if hosted.does(command):
            return
        match command:
            case Note():
                note = command if command.subject else command._replace(subject=hosted.signature)
                self._feed.fact(note, self.name, time.time())
            case Reopen():
                self._ports.reopen(hosted, command)
            case Share():
                self._ports.share(hosted, command)
            case Exit(reason, failed):
                self.failed += failed
                self._leave(hosted.name, GOODBYE)
                if failed or not self._told:
                    note = Note("bad" if failed else "info", f"{called(hosted.name)} left: {reason}", hosted.signature)
                    self._feed.fact(note, self.name, time.time())
            case Start(key, body):
                words = f"nothing here runs a {type(body).__name__}"
                self._complain(f"{hosted.name}: {words}")
                self.finish(hosted.name, key, False, words.encode())
            case Save(name, content):
                self._save(name, content)
            case _:
                raise TypeError(f"{hosted.name} wants what no driver here does: {command!r}")

    def _wake(self, now: float) -> None:
        for hosted, events in self._holds.due(now):
            self._touched |= dict.fromkeys(hosted.ports.values())
            for event in events if self._hosted.get(hosted.name) is hosted else ():
                self._handle(hosted, event)
        due, late = self._wakes.due(now)
        for hosted in due:
            for port in hosted.ports.values():
                if port.outbox:
                    self._touched[port] = None
            self._handle(hosted, Woken())
        self._lateness.note(late, now)

    def _complain(self, words: str) -> None:
        self._feed.fact(Note("bad", words), self.name, time.time())

    def _pause(self, seconds: float, now: float) -> None:
        if self._hosted:
            self._feed.fact(Note("warn", f"paused for {seconds:.1f} s"), self.name, time.time())
        for hosted in list(self._hosted.values()):
            self._handle(hosted, Paused(seconds))

    def _publish(self, now: float) -> None:
        began = time.thread_time()
        pictures = {name: hosted.core.snapshot(now) for name, hosted in self._hosted.items()}
        self._published = now
        self._feed.show(self.name, pictures.get(self.name, pictures), time.thread_time() - began)

    def _hand(self, name: str, event: Event) -> None:
        if (hosted := self._hosted.get(name)) is not None:
            self._handle(hosted, event)

    # ---- opening and closing ------------------------------------------------------------------------------------

    def _open(self, name: str, seat: Seat, keeper: Keeper | None) -> None:
        hosted = HostedCore(name, seat, partial(self.finish, name), keeper)
        try:
            for spec in seat.sockets:
                self._ports.plug(hosted, spec)
        except BaseException:
            self._close(hosted)
            raise
        self._hosted[name] = hosted
        hosted.routes = all(spec.kind == "router" for spec in seat.sockets)
        hosted.signature = seat.sockets[0].routing_id if seat.sockets and name != self.name else b""
        for seated in self._seated.values():
            seated(name, seat)
        hosted.begin(self._inbox.post, partial(self._hand, name))
        self._handle(hosted, Started())

    def _leave(self, name: str, linger: int = 0) -> None:
        if (hosted := self._hosted.pop(name, None)) is not None:
            self._close(hosted, linger)

    def _close(self, hosted: HostedCore, linger: int = 0) -> None:
        for port in hosted.ports.values():
            self._ports.shut(port, linger)
        hosted.ports.clear()
        hosted.close()
