"""The load peers of ``zdrive.c`` in Python, for machines without a C compiler and for brokers on a thread.

``python -m tests.bench.peers`` takes the same arguments as ``zdrive`` and prints the same; see the head of that file.
The loops are as plain and fast as pyzmq allows: one thread, every socket drained, backend calls with integer flags.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import zmq
from zmq.backend import Socket as _Backend

Mode = Literal["wire", "raw", "one"]
Frames = list[bytes]
ZSocket = zmq.Socket[bytes]
ZContext = zmq.Context[ZSocket]

V = b"LMQv100"
NOBLOCK, MORE = int(zmq.DONTWAIT), int(zmq.SNDMORE)
SILENCE = 10_000  # ms without a reply after which a task counts as lost
AFTERWARDS = 50  # ms in which a second reply would come
_recv, _send = _Backend.recv, _Backend.send


class Foul(Exception):
    """A reply is missing, not as it should be, or the second one."""


def connect(context: ZContext, endpoint: str, number: int) -> ZSocket:
    """A DEALER as the wire wants it: the endpoint and a number are its routing id."""
    socket = context.socket(zmq.DEALER)
    socket.set(zmq.SNDHWM, 0)
    socket.set(zmq.RCVHWM, 0)
    socket.set(zmq.LINGER, 0)
    socket.set(zmq.ROUTING_ID, f"{endpoint}:{number}".encode())
    socket.connect(endpoint)
    return socket


def take(socket: ZSocket, flags: int = NOBLOCK) -> Frames | None:
    """One whole message; None where there is none, or within the socket's timeout none came."""
    try:
        frame = _recv(socket, flags, False)
    except zmq.Again:
        return None
    frames = [frame.bytes]
    while frame.more:
        frame = _recv(socket, 0, False)
        frames.append(frame.bytes)
    return frames


def give(socket: ZSocket, frames: Frames) -> None:
    """Send one message; the queues are unbounded."""
    last = frames.pop()
    for frame in frames:
        _send(socket, frame, MORE, True, False)
    _send(socket, last, 0, True, False)


def pong(socket: ZSocket, frames: Frames) -> bool:
    """Answer a link PING; whether it was one."""
    if len(frames) < 4 or frames[0] or frames[2] != b"\x01":
        return False
    give(socket, [b"", V, b"\x02", frames[3], b""])
    return True


def enlist(socket: ZSocket, slots: int) -> None:
    """Greet the broker, and with slots register with it."""
    socket.set(zmq.RCVTIMEO, SILENCE)
    give(socket, [b"", V, b"\x01", b"hbeat..1", b""])
    _await(socket, b"\x02")
    if slots:
        give(socket, [b"", V, b"\x04", b"\x01\0\0\0", b"\x08", b"%d" % slots, b""])
        _await(socket, b"\x06")


def _await(socket: ZSocket, command: bytes) -> None:
    while True:
        frames = take(socket, 0)
        if frames is None:
            raise Foul("no answer to a handshake")
        if len(frames) >= 4 and frames[2] == command:
            return
        pong(socket, frames)


def workers(context: ZContext, endpoint: str, k: int, slots: int, ready: Callable[[], None], halt: list[bool]) -> int:
    """k workers on this thread until ``halt`` is not empty; without slots they echo. Returns the tasks done."""
    sockets = [connect(context, endpoint, 1000 + i) for i in range(k)]
    poller = zmq.Poller()
    for socket in sockets:
        if slots:
            enlist(socket, slots)
        poller.register(socket, zmq.POLLIN)
    ready()
    done = 0
    while not halt:
        for socket, _ in poller.poll(100):
            for _ in range(64):
                frames = take(socket)
                if frames is None:
                    break
                if not slots:
                    give(socket, frames)
                    done += 1
                elif not pong(socket, frames) and len(frames) >= 7:
                    give(socket, [frames[-1], b"", V, b"\x06", frames[3], *frames[5 : len(frames) - 2], b""])
                    give(socket, [b"", V, b"\x03", b"\x02\0\0\0", b"\x07", b""])
                    done += 1
    for socket in sockets:
        socket.close(0)
    return done


def load(context: ZContext, endpoint: str, n: int, window: int, size: int, mode: Mode) -> dict[str, float]:
    """A client's run: n tasks and n / 10 in front that are not measured. Raises ``Foul``."""
    socket = connect(context, endpoint, 100_000 + (os.getpid() * 7 + time.monotonic_ns()) % 800_000)
    try:
        if mode == "wire":
            enlist(socket, 0)
        socket.set(zmq.RCVTIMEO, SILENCE)
        return _load(socket, n, window, size, mode)
    finally:
        socket.close(0)


def _load(socket: ZSocket, n: int, window: int, size: int, mode: Mode) -> dict[str, float]:
    warm, clock = n // 10, time.perf_counter
    count = n + warm
    payload = [bytes(size)] if size else []
    filler = bytes(max(8, size - 8))
    at, answered, latencies = [0.0] * count, bytearray(count), []
    sent = got = 0
    start = 0.0
    while got < count:
        while sent < count and sent - got < window:
            at[sent] = clock()
            ident = sent.to_bytes(8, "little")
            give(socket, [ident + filler] if mode == "one" else [b"", V, b"\x04", ident, b"\x01", *payload, b""])
            sent += 1
        frames = take(socket, 0)
        if frames is None:
            raise Foul(f"no reply: {sent - got} of {count} tasks")
        while frames is not None:
            task = _whose(socket, frames, size, mode)
            if task is not None:
                if not 0 <= task < sent:
                    raise Foul("a reply that is not as it should be")
                if answered[task]:
                    raise Foul("a second reply")
                answered[task] = 1
                got += 1
                if got == warm or not start:
                    start = clock()
                if task >= warm:
                    latencies.append(clock() - at[task])
            frames = take(socket)
    elapsed = clock() - start
    socket.set(zmq.RCVTIMEO, AFTERWARDS)
    while (frames := take(socket, 0)) is not None:
        if _whose(socket, frames, size, mode) is not None:
            raise Foul("a second reply")
    latencies.sort()
    p50, p99 = (latencies[len(latencies) * percent // 100] * 1e6 for percent in (50, 99))
    return {"tasks": count, "rate": n / elapsed, "p50_us": p50, "p99_us": p99}


def _whose(socket: ZSocket, frames: Frames, size: int, mode: Mode) -> int | None:
    """The task that a reply belongs to, -1 for one that is not as it should be; None for what is no reply."""
    if mode == "one":
        right = len(frames) == 1 and len(frames[0]) == max(16, size)
        return int.from_bytes(frames[0][:8], "little") if right else -1
    if pong(socket, frames):
        return None
    right = len(frames) == 6 + bool(size) and (not size or len(frames[5 if mode == "raw" else 4]) == size)
    return int.from_bytes(frames[3], "little") if right else -1


def proxy(context: ZContext, front: str, back: str, ready: Callable[[], None]) -> None:
    """libzmq's own proxy, until the context ends."""
    frontend, backend = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    for socket, endpoint in ((frontend, front), (backend, back)):
        socket.set(zmq.SNDHWM, 0)
        socket.set(zmq.RCVHWM, 0)
        socket.bind(endpoint)
    ready()
    try:
        zmq.proxy(frontend, backend)
    except zmq.ContextTerminated:
        frontend.close(0)
        backend.close(0)


def main(argv: list[str]) -> int:
    """The command line of ``zdrive``."""
    context: ZContext = zmq.Context()
    halt: list[bool] = []
    modes: dict[str, Mode] = {"client": "wire", "raw": "raw", "one": "one"}
    match argv:
        case [mode, endpoint, n, window, size] if mode in modes:
            try:
                print(json.dumps(load(context, endpoint, int(n), int(window), int(size), modes[mode])))
            except Foul as foul:
                print(foul, file=sys.stderr)
                return 3
        case ["workers" | "echo", endpoint, k, *slots] if len(slots) == (argv[0] == "workers"):
            signal.signal(signal.SIGTERM, lambda *_: halt.append(True))
            print(workers(context, endpoint, int(k), int(slots[0]) if slots else 0, say_ready, halt))
        case ["proxy", front, back]:
            proxy(context, front, back, say_ready)
        case _:
            print("see the head of zdrive.c", file=sys.stderr)
            return 2
    return 0


def say_ready() -> None:
    """What whoever started us waits for."""
    print("ready", flush=True)


def on_thread(act: Callable[..., Any], *arguments: Any) -> threading.Thread:
    """Start something on a thread of its own."""
    thread = threading.Thread(target=act, args=arguments, daemon=True)
    thread.start()
    return thread


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
