"""Documents of disk queues from one machine to another, through NATS JetStream.

The rules of this file (NAME is the relay's):

- A document is sent once per file: its key is made of its id, inode, time of change and size, which a rename leaves as
  they are. It stands under ``NAME.doc.KEY`` until it is published in the other folder; what does not fit into one
  message stands before it under ``NAME.part.KEY.N``.
- ``NAME.got.KEY`` says for a week which folder takes a document, and is written before anything is published there; and
  that it has, before it is acknowledged. So no other folder publishes it too, nor this one twice, also where it is sent
  again after a crash.
- Send: take (``.ready`` becomes ``.N.working``), write to NATS, delete. A crash leaves the file, which is sent next.
- Receive: write to the disk, note that it is whole, publish by a rename that replaces nothing, acknowledge. A crash
  leaves the note: where it stands and the file does not, the document was published.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import msgpack

from engine.drive.locks import Lock, sign
from engine.drive.renaming import rename
from engine.drive.stores.natslink import Answer, Ask, Link
from engine.drive.stores.natsstreams import (
    ANSWERED,
    DAY,
    FENCE,
    MIB,
    MOST_TASKS,
    PAUSE,
    SECOND,
    WRONG_LAST,
    Place,
    Streams,
)
from engine.files import safely
from engine.parts.store import Unavailable
from engine.protocols.diskqueue import names

CHUNK = 512 * 1024  # bytes of one message
LEASE = 30.0  # seconds in which a document has to be published, or it is delivered again
ROOM = 1024 * MIB  # bytes that wait at a time
NUMBER = "990000000"  # of the driver that a sender is for its folder
WAIT = b'{"batch":1,"expires":1000000000}'
AWAY = b'-NAK {"delay": 5000000000}'  # what is another folder's, or comes too early
NOTE, WHO = ".note", ".relay"
DONE = b" done"


class Document(NamedTuple):
    """What is said of one: ``parts`` are messages beside this one, ``content`` is all of it where there are none.

    An empty ``id``: no more will come.
    """

    id: str
    mode: int
    size: int
    parts: int
    digest: bytes
    content: bytes


class Relay:
    """``link`` is started. One thread. Methods raise Unavailable where NATS can not be used, OSError of a folder."""

    def __init__(self, link: Link, place: Place, folder: Path, patience: float = 10.0) -> None:
        self.link, self._name, self._shown, self._folder = link, place.name, place.shown, folder
        self._streams = Streams(link, place.name, LEASE, patience)
        self._docs, self._parts, self._got = (f"{place.name}-{kind}" for kind in ("docs", "parts", "got"))
        self._made = False

    async def _make(self) -> None:
        until = self._streams.until()
        while not self.link.connected:
            if time.monotonic() >= until:
                self._streams.fails()
                raise Unavailable(f"no NATS server at {self._shown}: {self.link.why}")
            await asyncio.sleep(PAUSE)
        self._streams.goes()
        if self._made:
            return
        self._streams.check()
        got = {"allow_direct": True, "max_age": 7 * DAY}
        await self._streams.have(self._got, f"{self._name}.got.*", got)
        parts = {"allow_direct": True, "discard": "new", "max_bytes": ROOM}
        await self._streams.have(self._parts, f"{self._name}.part.*.*", parts)
        docs = {"retention": "workqueue", "discard": "new", "max_msgs": MOST_TASKS, "max_bytes": ROOM}
        await self._streams.have(self._docs, f"{self._name}.doc.*", docs)
        consumer = {
            "durable_name": WHO[1:],
            "ack_policy": "explicit",
            "ack_wait": int(LEASE * SECOND),
            "max_deliver": -1,
        }
        asked = {"stream_name": self._docs, "config": consumer}
        await self._streams.api(f"CONSUMER.DURABLE.CREATE.{self._docs}.{WHO[1:]}", asked)
        self._made = True

    async def _write(self, asks: list[Ask]) -> None:
        """What is there already stays as it is."""
        answers, _ = await self._streams.settle(asks)
        for answer in answers:
            if (error := self._streams.wrong(answer)) is not None and error.code != WRONG_LAST:
                raise Unavailable(f"{self._name}: {error.text}")

    # ---- from a folder -----------------------------------------------------------------------------------------------

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Be the only sender of this folder. Raises BlockingIOError where another one is."""
        lock = Lock(str(self._folder), names.working_lock(NUMBER))
        if not lock.acquire():
            raise BlockingIOError(f"another relay sends from {self._folder}")
        try:
            sign(lock)
            yield
        finally:
            lock.release()

    def send(self) -> list[str]:
        """What is ready now, and what a dead sender left; the ids that were sent."""
        sent = []
        for name in sorted(os.listdir(self._folder)):
            item = names.parse(name)
            if not isinstance(item, names.Item):
                continue
            held = names.working(item.id, NUMBER)
            if item.state == "ready" and not (self._folder / held).exists():
                try:
                    self._rename(name, held, contended=True)
                except FileNotFoundError:
                    continue  # somebody was quicker
            elif name != held:
                continue
            self.link.run(self._send(item.id, held))
            os.unlink(self._folder / held)
            sent.append(item.id)
        return sent

    def end(self) -> bool:
        """Where the queue is done and empty, say so; whether it is."""
        left = (names.parse(name) for name in os.listdir(self._folder))
        if any(isinstance(item, names.Item) and item.live for item in left) or not (self._folder / names.DONE).exists():
            return False
        self.link.run(self._send("", names.DONE))
        return True

    def _rename(self, old: str, new: str, contended: bool) -> None:
        with safely.folder(str(self._folder)) as at:
            rename(old, new, at, contended)
            os.fsync(at)

    async def _send(self, id: str, name: str) -> None:
        await self._make()
        with os.fdopen(safely.open_file(str(self._folder / name)), "rb") as file:
            found = os.fstat(file.fileno())
            told = (id, found.st_ino, found.st_mtime_ns, found.st_size)
            key = blake2b(repr(told).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
            parts, digest, content = 0, blake2b(digest_size=16), b""
            while chunk := file.read(CHUNK):
                digest.update(chunk)
                if found.st_size <= CHUNK:
                    content = chunk
                    break
                await self._write([Ask(f"{self._name}.part.{key}.{parts}", chunk, FENCE)])
                parts += 1
        body = msgpack.packb(
            Document(id, found.st_mode & 0o777, found.st_size, parts, digest.digest(), content),
            unicode_errors="surrogateescape",
        )
        await self._write([Ask(f"{self._name}.doc.{key}", body, FENCE)])

    # ---- into a folder -----------------------------------------------------------------------------------------------

    def receive(self) -> str | None:
        """Publish the next document, waiting for it for a second; its id. None where nothing was published.

        The empty id: no more will come, and the folder says so.
        """
        return self.link.run(self._receive())

    async def _receive(self) -> str | None:
        if not self._made:
            await self._make()
            await self._tidy()
        await self._make()
        ask = Ask(f"$JS.API.CONSUMER.MSG.NEXT.{self._docs}.{WHO[1:]}", WAIT)
        came, _ = await self.link.several(ask, 1, ANSWERED)
        if not came:
            return None
        key = came[0].subject.rpartition(".")[2]
        one = Document(*msgpack.unpackb(came[0].payload, unicode_errors="surrogateescape"))
        who = await self._claim(key)
        if who not in (self._me(), self._me() + DONE) or (not one.id and await self._waits()):
            await self.link.say([Ask(came[0].reply, AWAY)])
            return None
        if not one.id:
            (self._folder / names.DONE).touch()
        elif who == self._me():
            await self._publish(one, key, came[0].reply)
            await self._write([Ask(f"{self._name}.got.{key}", who + DONE)])
        await self._streams.api(f"STREAM.PURGE.{self._parts}", {"filter": f"{self._name}.part.{key}.*"})
        await self._acknowledge(came[0])
        (self._folder / f".{key}{NOTE}").unlink(missing_ok=True)
        return one.id

    async def _waits(self) -> bool:
        """Whether a document before the end is not published yet."""
        said = await self._streams.api(f"CONSUMER.INFO.{self._docs}.{WHO[1:]}", {})
        return bool(said["num_ack_pending"] > 1)

    async def _tidy(self) -> None:
        """Remove the notes of a receiver that died behind an acknowledgement."""
        for note in self._folder.glob(f".*{NOTE}"):
            if (
                await self._streams.stored(self._got, f"{self._name}.got.{note.name[1 : -len(NOTE)]}")
                == self._me() + DONE
            ):
                note.unlink(missing_ok=True)

    async def _claim(self, key: str) -> bytes:
        """The folder that takes it, with ``DONE`` behind it where it has."""
        subject = f"{self._name}.got.{key}"
        await self._write([Ask(subject, self._me(), FENCE)])
        return await self._streams.stored(self._got, subject) or b""

    def _me(self) -> bytes:
        """The folder's own name, made at the first document."""
        path = str(self._folder / WHO)
        with suppress(FileNotFoundError):
            return safely.read(path, 100)
        safely.replace(path, token_hex(8).encode(), sync=True)
        return safely.read(path, 100)

    async def _publish(self, one: Document, key: str, reply: str) -> None:
        if why := names.why_not(one.id):
            raise Unavailable(f"a document's name can not be used: {why}")
        part, note = f".{key}.part", f".{key}{NOTE}"
        if (self._folder / note).exists():
            if (self._folder / part).exists():
                self._rename(part, names.ready(one.id), contended=False)
            return
        (self._folder / part).unlink(missing_ok=True)
        descriptor = safely.create(str(self._folder / part))
        digest, size = blake2b(digest_size=16), 0
        try:
            for number in range(max(1, one.parts)):
                chunk = await self._part(key, number) if one.parts else one.content
                digest.update(chunk)
                size += len(chunk)
                safely.write(descriptor, chunk)
                await self.link.say([Ask(reply, b"+WPI")])
            os.fchmod(descriptor, one.mode)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if (size, digest.digest()) != (one.size, one.digest):
            raise Unavailable(f"the document {one.id} is not what was sent")
        os.close(safely.create(str(self._folder / note)))
        with safely.folder(str(self._folder)) as at:
            os.fsync(at)
        self._rename(part, names.ready(one.id), contended=False)

    async def _part(self, key: str, number: int) -> bytes:
        content = await self._streams.stored(self._parts, f"{self._name}.part.{key}.{number}")
        if content is None:
            raise Unavailable(f"part {number} of a document is missing")
        return content

    async def _acknowledge(self, message: Answer) -> None:
        (answer,) = await self.link.ask([Ask(message.reply, b"+ACK")], ANSWERED)
        if answer is None:
            raise Unavailable(self.link.why or f"the stream {self._docs} does not answer")
