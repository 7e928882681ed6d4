"""The door of a context: one thread that answers ZAP for all its sockets and hears who was refused.

The rules of this file:

- Every socket that binds has the domain ``DOMAIN`` and enforces it. libzmq then asks here about every newcomer over tcp
  and ipc, and serves nobody who greets in ZMTP 1 or 2: those have no handshake that could be asked about, and the body
  of a web page's POST can speak them.
- An error here must not end the thread, for then nobody could join any more: it is told, and the newcomer refused.
- Newcomers are put off while descriptors are short (``descriptors``): the connection ends, or is answered 300 where it
  was accepted before, and they try again by themselves.
- Who was refused is counted, and said at most every ``AGAIN`` seconds for each socket.
- The thread ends when its context is terminated.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import zmq
from zmq.utils.monitor import parse_monitor_message

from engine.core import Note
from engine.drive.inbox import Inbox
from engine.drive.security.descriptors import Descriptors, hang_up
from engine.drive.security.greetings import Greetings

ZSocket = zmq.Socket[bytes]
Say = Callable[[Note], None]

ENDPOINT = "inproc://zeromq.zap.01"  # where libzmq asks
DOMAIN = b"roundhouse"
AGAIN = 10.0  # seconds between two lines about the same thing
MASK = (
    zmq.EVENT_ACCEPTED
    | zmq.EVENT_DISCONNECTED
    | zmq.EVENT_HANDSHAKE_SUCCEEDED
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_MONITOR_STOPPED
)


class _Watched:
    """One socket that binds: its monitor, and what was counted."""

    def __init__(self, monitor: ZSocket, name: str) -> None:
        self.monitor, self.name = monitor, name
        self.greetings = Greetings()
        self.told = 0
        self.at = float("-inf")

    def note(self, now: float) -> Note | None:
        """What to say of those that were refused since the last time, if it is time to say it."""
        fresh = self.greetings.refused - self.told
        if not fresh or now < self.at + AGAIN:
            return None
        self.told, self.at = self.greetings.refused, now
        some = "a connection was" if fresh == 1 else f"{fresh:,} connections were"
        return Note("warn", f"{some} refused at {self.name}: only ZMTP 3 is served, which a web page can not speak")


class Door:
    """Answers for one context until that is terminated. ``say`` is called on the door's thread."""

    def __init__(self, context: zmq.Context[ZSocket], say: Say, descriptors: Descriptors | None = None) -> None:
        self._say, self._descriptors = say, descriptors or Descriptors()
        self._own: zmq.Context[ZSocket] = zmq.Context.shadow(context.underlying)  # whose sockets nobody else closes
        self._zap = self._own.socket(zmq.REP)
        self._zap.bind(ENDPOINT)
        self._inbox = Inbox()
        self._watched: dict[ZSocket, _Watched] = {}
        self._count = 0
        self._put_off = 0
        self._wronged = float("-inf")  # when an error of our own was said last
        self._thread = threading.Thread(target=self._main, name="roundhouse-door", daemon=True)
        self._thread.start()

    # ---- for other threads --------------------------------------------------------------------------------------

    @property
    def refused(self) -> int:
        """Connections that were refused so far."""
        return sum(watched.greetings.refused for watched in list(self._watched.values()))

    @property
    def put_off(self) -> int:
        """Newcomers that were told to try again later."""
        return self._put_off

    def watch(self, socket: ZSocket, name: str) -> None:
        """Hear who is refused at a socket that is about to bind, which is called ``name``. On its owner's thread."""
        self._count += 1
        address = f"inproc://door-{self._count}-{id(socket)}"
        socket.monitor(address, int(MASK))
        self._inbox.post(lambda: self._attach(address, name))

    # ---- the thread ---------------------------------------------------------------------------------------------

    def _main(self) -> None:
        poller = self._poller = zmq.Poller()
        poller.register(self._zap, zmq.POLLIN)
        poller.register(self._inbox.bell.fileno(), zmq.POLLIN)
        try:
            while True:
                ready = [key for key, _ in poller.poll(1000 if self._told_late() else None)]
                now = time.monotonic()
                if self._inbox.bell.fileno() in ready:
                    self._inbox.hush()
                    self._inbox.answer()
                if self._zap in ready:
                    self._answer(now)
                for watched in list(self._watched.values()):
                    self._hear(watched, now, there=watched.monitor in ready)
        except zmq.ContextTerminated:
            pass
        finally:
            for watched in self._watched.values():
                watched.monitor.close(0)
            self._zap.close(0)
            self._inbox.close("the context has ended")

    def _told_late(self) -> bool:
        return any(watched.greetings.refused > watched.told for watched in self._watched.values())

    def _answer(self, now: float) -> None:
        """One question: version, number, domain, address, identity, mechanism, and more for some mechanisms."""
        asked = self._zap.recv_multipart()
        number = asked[1] if len(asked) > 1 else b""
        status, text = b"500", b"no answer"
        try:
            status, text = self._judge(asked, now)
        except Exception as error:
            if now >= self._wronged + AGAIN:
                self._wronged = now
                self._say(Note("bad", f"newcomers are refused because of an error of our own: {error!r}"))
        self._zap.send_multipart([b"1.0", number, status, text, b"", b""])

    def _judge(self, asked: list[bytes], now: float) -> tuple[bytes, bytes]:
        if len(asked) < 6 or asked[0] != b"1.0" or asked[2] != DOMAIN:
            return b"500", b"not understood"
        return (b"300", b"try again later") if self._full(now) else (b"200", b"OK")

    def _full(self, now: float) -> bool:
        """Whether a newcomer has to be put off."""
        if not self._descriptors.short(now):
            return False
        self._put_off += 1
        if (words := self._descriptors.words(now)) is not None:
            self._say(Note("bad", words))
        return True

    def _attach(self, address: str, name: str) -> None:
        monitor = self._own.socket(zmq.PAIR)
        monitor.connect(address)
        self._watched[monitor] = _Watched(monitor, name)
        self._poller.register(monitor, zmq.POLLIN)

    def _hear(self, watched: _Watched, now: float, *, there: bool) -> None:
        greetings = watched.greetings
        while there and watched.monitor.poll(0):
            told = parse_monitor_message(watched.monitor.recv_multipart())
            match told["event"]:
                case zmq.EVENT_ACCEPTED:
                    greetings.accepted(told["value"], now)
                    if self._full(now):
                        hang_up(told["value"], told["endpoint"].decode())
                case zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    greetings.greeted()
                case zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL:
                    greetings.failed(refused=True)
                case zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                    greetings.failed(refused=False)
                case zmq.EVENT_DISCONNECTED:
                    greetings.ended(told["value"])
                case zmq.EVENT_MONITOR_STOPPED:
                    self._poller.unregister(watched.monitor)
                    del self._watched[watched.monitor]
                    watched.monitor.close(0)
                    return
        greetings.settle(now)
        if (note := watched.note(now)) is not None:
            self._say(note)
