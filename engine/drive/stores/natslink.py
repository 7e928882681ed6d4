"""A connection to NATS servers on a thread of its own, with many requests under way at once.

The rules of this file:

- One thread has the event loop, the connection and whatever is done with it: ``run`` has a coroutine done there.
- A request that is not answered in time, or that no server can answer, has None as its answer: ask again.
- While there is no connection nothing is sent, and nothing is kept to be sent later; it comes back by itself.
- Requests of one batch are written together, and a message is handed to whoever hears it where the library has read it:
  the library's own ways for one message at a time, with a task and a queue, took as long as all else of a broker.

Source: docs.nats.io, reference of the client protocol; ``nats-py`` 2.9 and later.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from engine.parts.store import Unavailable

RECONNECT = 0.2  # seconds between two attempts
CONNECT = 2  # seconds that one may take
PING = 2  # seconds; a server that leaves MISSED of them unanswered is gone
MISSED = 2

T = TypeVar("T")


class Ask(NamedTuple):
    """A request."""

    subject: str
    payload: bytes = b""
    headers: dict[str, str] | None = None

    def wire(self, reply: str) -> bytes:
        """As it is written: PUB, or HPUB where there are headers."""
        if self.headers is None:
            return b"%b%d\r\n%b\r\n" % (f"PUB {self.subject} {reply} ".encode(), len(self.payload), self.payload)
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        head = f"NATS/1.0\r\n{head}\r\n"
        size = len(head) + len(self.payload)
        return f"HPUB {self.subject} {reply} {len(head)} {size}\r\n{head}".encode() + self.payload + b"\r\n"


class Answer(NamedTuple):
    """A message; ``reply``: where to acknowledge it. ``status``: of the server itself, empty of anybody else."""

    subject: str
    reply: str
    payload: bytes
    headers: Mapping[str, str]

    @property
    def status(self) -> str:
        return self.headers.get("Status", "")


def headers_of(raw: bytes) -> dict[str, str]:
    """Of a message, as they were written; ``Status`` of one that the server itself says."""
    if not raw:
        return {}
    first, *lines = raw.decode("utf-8", "replace").split("\r\n")
    status = first.removeprefix("NATS/1.0").strip()[:3]
    found = {"Status": status} if status else {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip()] = value.strip()
    return found


def _client() -> Any:
    """The library's client; ``heard`` hands messages on by the number of their subscription."""
    from nats.aio.client import Client

    class Direct(Client):
        def __init__(self) -> None:
            super().__init__()
            self.heard: dict[int, Callable[[Answer], None]] = {}

        async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
            if (heard := self.heard.get(sid)) is not None:
                heard(Answer(subject.decode(), reply.decode(), data, headers_of(headers)))

    return Direct()


class _Batch:
    """Requests that are under way."""

    def __init__(self, size: int) -> None:
        self.answers: list[Answer | None] = [None] * size
        self.left = size
        self.done = asyncio.Event()

    def take(self, place: int, answer: Answer) -> None:
        """What was asked for at this place."""
        if answer.status != "503":
            self.answers[place] = answer
        self.left -= 1
        if not self.left:
            self.done.set()


class _Run:
    """One request that several messages answer: up to so many, or until the server says that there are no more."""

    def __init__(self, most: int) -> None:
        self.answers: list[Answer] = []
        self.most = most
        self.ended = False
        self.done = asyncio.Event()

    def take(self, answer: Answer) -> None:
        """One of them."""
        if answer.status:
            self.ended = answer.status != "503"
            self.done.set()
            return
        self.answers.append(answer)
        if len(self.answers) >= self.most:
            self.ended = True
            self.done.set()


class Link:
    """``start`` it, ``run`` coroutines that use it, ``close`` it. ``why``: what went wrong with the connection last."""

    def __init__(self, servers: Sequence[str], name: str) -> None:
        """Raises Unavailable where the client library is not installed."""
        try:
            self._client = _client()
        except ImportError:
            raise Unavailable("nats:// needs the extra [jetstream]: pip install 'roundhouse[jetstream]'") from None
        self._servers, self._name = list(servers), name
        self.why = "not connected yet"
        self._loop = asyncio.new_event_loop()
        self._ends = asyncio.Event()
        self._thread = threading.Thread(target=self._main, name="roundhouse-nats", daemon=True)
        self._waits: dict[int, tuple[_Batch, int]] = {}
        self._next = 0
        self._inbox = ""
        self._minds: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def start(self, *minds: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """``minds``: what runs on the thread from the first connection on until the end."""
        self._minds = list(minds)
        self._thread.start()

    def run(self, todo: Coroutine[Any, Any, T]) -> T:
        """Have this done on the thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(todo, self._loop).result()

    def close(self) -> None:
        """End the connection and the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ends.set)
            self._thread.join()
        self._loop.close()

    @property
    def connected(self) -> bool:
        """Whether there is a connection at the moment."""
        return bool(self._inbox) and self._client.is_connected

    @property
    def server(self) -> dict[str, Any]:
        """What the server says of itself."""
        return dict(self._client._server_info) if self.connected else {}

    @property
    def max_payload(self) -> int:
        """Bytes of the largest message."""
        return int(self._client.max_payload)

    # ---- on the thread -----------------------------------------------------------------------------------------------

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._live())

    async def _live(self) -> None:
        connects = asyncio.create_task(self._connect())
        await self._ends.wait()
        connects.cancel()
        await asyncio.wait([connects], timeout=0.5)  # it may be connecting, and then goes on in spite of that
        if self._client.is_connected:
            await _quietly(self._client.flush(1))
        await _quietly(self._client.close())
        for _ in range(5):
            if not (tasks := asyncio.all_tasks() - {asyncio.current_task()}):
                return
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=0.5)

    async def _connect(self) -> None:
        async def failed(error: Exception) -> None:
            self.why = str(error) or type(error).__name__

        async def lost() -> None:
            self.why = "the connection is lost"

        async def back() -> None:
            self.why = ""

        await self._client.connect(
            self._servers,
            name=self._name,
            error_cb=failed,
            disconnected_cb=lost,
            reconnected_cb=back,
            connect_timeout=CONNECT,
            reconnect_time_wait=RECONNECT,
            max_reconnect_attempts=-1,
            ping_interval=PING,
            max_outstanding_pings=MISSED,
            pending_size=0,
        )
        inbox = self._client.new_inbox()
        await self.hear(f"{inbox}.*", self._heard)
        self._inbox, self.why = inbox, ""
        await asyncio.gather(*(mind() for mind in self._minds))

    def _heard(self, answer: Answer) -> None:
        number = int(answer.subject.rpartition(".")[2])
        if (waits := self._waits.pop(number, None)) is not None:
            batch, place = waits
            batch.take(place, answer)

    async def hear(self, subject: str, took: Callable[[Answer], None]) -> int:
        """Have whatever is said there, now and after each new connection; the number to ``unhear`` it by."""

        async def unused(message: object) -> None:
            """The library wants it."""

        heard = await self._client.subscribe(subject, cb=unused)
        self._client.heard[heard._id] = took
        return int(heard._id)

    async def unhear(self, number: int) -> None:
        """No more of it."""
        self._client.heard.pop(number, None)
        if (heard := self._client._subs.get(number)) is not None:
            await heard.unsubscribe()

    async def say(self, said: Sequence[Ask]) -> bool:
        """Send what has no answer. False where it could not be sent."""
        try:
            await self._write([one.wire("") for one in said])
        except Exception as error:
            self._failed(error)
            return False
        return True

    async def _write(self, lines: list[bytes]) -> None:
        """All of it together. Raises ConnectionError."""
        if not self.connected:
            raise ConnectionError(self.why or "the connection is lost")
        await self._client._send_command(b"".join(lines))
        await self._client._flush_pending()

    async def ask(self, asked: Sequence[Ask], within: float) -> list[Answer | None]:
        """All of it at once; ``within``: seconds."""
        if not asked:
            return []
        batch = _Batch(len(asked))
        if not self.connected:
            return batch.answers
        first = self._next
        self._next += len(asked)
        try:
            for number in range(len(asked)):
                self._waits[first + number] = batch, number
            await self._write([one.wire(f"{self._inbox}.{first + number}") for number, one in enumerate(asked)])
            await asyncio.wait_for(batch.done.wait(), within)
        except TimeoutError:
            pass
        except Exception as error:
            self._failed(error)
        finally:
            for number in range(first, first + len(asked)):
                self._waits.pop(number, None)
        return batch.answers

    async def several(self, ask: Ask, most: int, within: float) -> tuple[list[Answer], bool]:
        """What one request is answered; and whether all of it came."""
        run = _Run(most)
        if not self.connected:
            return run.answers, False
        try:
            inbox = self._client.new_inbox()
            heard = await self.hear(inbox, run.take)  # its answers come under subjects of their own
            try:
                await self._write([ask.wire(inbox)])
                await asyncio.wait_for(run.done.wait(), within)
            finally:
                await self.unhear(heard)
        except TimeoutError:
            pass
        except Exception as error:
            self._failed(error)
        return run.answers, run.ended

    def _failed(self, error: Exception) -> None:
        """Of the library: the connection is gone, or is just going."""
        self.why = self.why or str(error) or type(error).__name__


async def _quietly(what: Awaitable[Any]) -> None:
    """The end of a connection that may be broken: what goes wrong with it changes nothing any more."""
    try:
        await asyncio.wait_for(what, 1.0)
    except Exception:
        return
