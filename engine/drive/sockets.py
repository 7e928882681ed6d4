"""Sockets: how they are opened and closed. ``engine.drive.pump`` reads and writes their messages."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import psutil
import zmq

from engine.core import Frames, Note
from engine.core import Socket as Spec
from engine.drive.links import Links, ZSocket
from engine.drive.pump.chosen import PUMP
from engine.drive.security.curve import Curve
from engine.drive.security.door import Door, Say
from engine.drive.security.greetings import HANDSHAKE
from engine.drive.security.guard import Guard
from engine.drive.security.ipc import SCHEME, Name, listen
from engine.drive.security.strangers import AGAIN, BROKER, PEER, Strangers
from engine.drive.security.streams import Streams
from engine.drive.security.users import Trust
from engine.drive.security.watched import Tell
from engine.parts.limits import MAX_FRAME, MAX_ROUTING_ID

Receive = Callable[[ZSocket, int, str], list[Frames]]

QUEUE = 100_000  # messages a peer, both ways, as the original programs set it; only STALLED bounds their bytes
STALLED = 6000  # ms in which a peer over TCP takes nothing of what it is sent, and is cut off: that frees its queue
WAITING = 100  # messages of a peer that wait for a core with many: more stay with the peer, whose memory that costs
MAX_SOCKETS = 65_536
ENDING = 1.0  # seconds that a thread may take after its sockets are closed
FILES = 65_536
IPV6 = "://["  # in an endpoint with an address of IPv6

receive, send = PUMP.receive, PUMP.send
_KINDS = {"router": zmq.ROUTER, "dealer": zmq.DEALER, "stream": zmq.STREAM}


class Context(zmq.Context[ZSocket]):
    """A context with a door, without which no socket that binds lets anybody in.

    ``names``: what its sockets have bound in folders, for ``close_socket`` to take away.
    """

    door: Door
    names: dict[ZSocket, list[Name]]
    threads: tuple[threading.Thread, ...] = ()  # that end with it
    curve: Curve | None = None  # what cores' sockets speak, where it is CURVE

    _complained: dict[str, float]

    def complain(self, words: str) -> None:
        """Say why no broker lets us in, at most every ``AGAIN`` seconds. Any thread."""
        now = time.monotonic()
        self._complained = {text: at for text, at in self._complained.items() if now < at + AGAIN}
        if words not in self._complained:
            self._complained[words] = now
            self.door.say(Note("bad", words))

    def term(self) -> None:
        """Terminate it when all its sockets are closed, and wait for the threads that this ends."""
        self.door.settle(ENDING)
        super().term()
        for thread in self.threads:
            thread.join(ENDING)


def make_context(say: Say = lambda note: None, trust: Trust | None = None, curve: Curve | None = None) -> Context:
    """A context fit for thousands of sockets, whose automatic routing ids a stranger can not predict.

    ``say`` is told, on another thread, who was refused. ``trust``: who may be at the other end of private sockets.
    ``curve``: the keys of all sockets that cores sit on.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(FILES, hard) if hard != resource.RLIM_INFINITY else FILES
    if soft < wanted:  # at the limit libzmq spins on accept
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    # libzmq draws its first automatic routing id from libc's rand(); a peer that claims the next one aborts the process
    ctypes.CDLL(None).srand(int.from_bytes(os.urandom(4), "little"))
    context = Context()
    context.set(zmq.MAX_SOCKETS, MAX_SOCKETS)
    context.linger = 0
    context.curve = curve
    context.door = Door(context, say, trust, keys=curve.ring if curve is not None else None)
    context.names, context._complained = {}, {}
    context.threads = (context.door.thread,)
    return context


def descriptors_of(endpoint: str) -> int:
    """File descriptors that a dealer takes: its mailbox; where it leaves this process its monitor and link too."""
    return 1 if endpoint.startswith("inproc://") else 4


def descriptors_left() -> int:
    """File descriptors that this process may still open."""
    limit = descriptor_limit()
    return max(0, limit - psutil.Process().num_fds()) if limit < sys.maxsize else limit


def descriptor_limit() -> int:
    """File descriptors that this process may have open at once (``ulimit -n``)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else sys.maxsize


def open_socket(
    context: Context,
    spec: Spec,
    tell: Tell = lambda event, fd: None,
    monitor: Callable[[ZSocket], object] = id,
    curve: Curve | None = None,
) -> ZSocket:
    """Open, set, bind and connect one socket. Raises zmq.ZMQError with the endpoint in ``strerror`` if it can not.

    ``tell`` hears, on another thread, what the monitor of a socket tells at which the door stands; ``monitor`` is given
    any other before it connects. ``curve``: what it speaks where others can reach it; who has a key is no stranger.
    """
    socket, roles = context.socket(_KINDS[spec.kind]), None
    try:
        socket.set(zmq.LINGER, 0)
        socket.set(zmq.SNDHWM, QUEUE)
        socket.set(zmq.RCVHWM, QUEUE if spec.kind == "dealer" else WAITING)
        socket.set(zmq.MAXMSGSIZE, MAX_FRAME)
        socket.set(zmq.HANDSHAKE_IVL, int(HANDSHAKE * 1000))
        socket.set(zmq.TCP_MAXRT, STALLED)
        socket.set(zmq.TCP_KEEPALIVE, 1)
        socket.set(zmq.TCP_KEEPALIVE_IDLE, 30)
        socket.set(zmq.RECONNECT_IVL, 50)
        socket.set(zmq.RECONNECT_IVL_MAX, 1000)
        socket.set(zmq.BACKLOG, 4096)
        if any(IPV6 in endpoint for endpoint in spec.bind + spec.connect):  # without: the address is unknown to libzmq
            socket.set(zmq.IPV6, 1)
        if spec.kind == "router":
            socket.set(zmq.ROUTER_MANDATORY, 1)
            socket.set(zmq.ROUTER_HANDOVER, 1)
        if spec.kind == "dealer":
            socket.set(zmq.IMMEDIATE, 1)
        if len(spec.routing_id) > MAX_ROUTING_ID:
            raise zmq.ZMQError(zmq.EINVAL, f"{(spec.bind + spec.connect)[0]}: the routing id made of it is too long")
        if spec.routing_id:
            socket.set(zmq.ROUTING_ID, spec.routing_id)
        if curve is not None and keyed(spec):
            curve.set_up(socket, spec)
            spec, roles = replace(spec, private=False), spec.roles
        if spec.kind != "stream" and (outer := _watched(spec)):
            context.door.watch(socket, outer[0], private=spec.private, tell=tell, roles=roles)
        else:
            monitor(socket)
        for endpoint in spec.bind:
            _with_endpoint(
                partial(_bind_ipc, context, socket) if endpoint.startswith(SCHEME) else socket.bind, endpoint
            )
        for endpoint in spec.connect:
            _with_endpoint(socket.connect, endpoint)
    except BaseException:
        close_socket(context, socket)
        raise
    return socket


def receiver(context: Context, spec: Spec, links: Links | None = None, guard: Guard | None = None) -> Receive:
    """What takes the messages of a socket: the pump, or what leaves out those of strangers."""
    if spec.kind != "stream" or not spec.private:
        return partial(PUMP.receive, links=links, guard=guard)
    at, words = (spec.bind[0], PEER) if spec.bind else (spec.connect[0], BROKER)
    return Streams(Strangers(at, context.door.trust), context.door.say, words).receive


def keyed(spec: Spec) -> bool:
    """Whether a socket can have keys: one that others can reach, and not over plain TCP."""
    return spec.kind != "stream" and any(not at.startswith("inproc://") for at in spec.bind + spec.connect)


def _watched(spec: Spec) -> list[str]:
    """The endpoints for which the door asks: those that others can reach, and of a private socket those it goes to."""
    return [at for at in spec.bind + spec.connect * spec.private if not at.startswith("inproc://")]


def close_socket(context: Context, socket: ZSocket, linger: int = 0) -> None:
    """Close a socket, and take away what it bound in folders. ``linger``: ms that what is unsent may still take."""
    socket.close(linger)
    for name in context.names.pop(socket, ()):
        name.remove()


def _bind_ipc(context: Context, socket: ZSocket, endpoint: str) -> None:
    fd, name = listen(endpoint)
    context.names.setdefault(socket, []).append(name)
    socket.set(zmq.USE_FD, fd)
    try:
        socket.bind(endpoint)
    except zmq.ZMQError:
        os.close(fd)
        raise
    finally:
        socket.set(zmq.USE_FD, -1)


def _with_endpoint(act: Callable[[str], object], endpoint: str) -> None:
    try:
        act(endpoint)
    except zmq.ZMQError as error:
        raise zmq.ZMQError(error.errno, f"{endpoint}: {zmq.strerror(error.errno or 0)}") from None
    except OSError as error:
        raise zmq.ZMQError(error.errno, f"{endpoint}: {error.strerror or error}") from None
