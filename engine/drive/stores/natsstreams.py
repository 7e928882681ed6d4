"""The streams of a backlog that brokers share, as JetStream keeps them: how they are made, and what is said in them.

The rules of this file (NAME is the backlog's, ``roundhouse`` where none is given):

- ``NAME-tasks`` is a work queue: a task is there until a broker acknowledges it, under ``NAME.task.KEY``. A key is the
  task's id where that is global, else random.
- ``NAME-results`` has the outcome of each, under ``NAME.result.KEY``, for a day: the first that is written counts.
- ``NAME-dead`` has what failed, by reason; ``NAME-lost`` how often a worker was lost with a task.
- Three replicas where the servers are a cluster, else one. What is there already is used as it is.
- Each stream reserves its bytes on the servers. So a queue that is full leaves room for outcomes, and tasks end; of
  outcomes and dead letters the oldest go.

Source: docs.nats.io, reference of the JetStream wire API.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgpack

from engine.core import Outcome
from engine.drive.stores.natslink import Answer, Ask, Link
from engine.parts.store import Unavailable

SECOND = 1_000_000_000  # JetStream counts nanoseconds
DAY = 86_400 * SECOND
AGAIN = "asked again"  # why a task ended that was put while the same one ended
USUAL = "roundhouse"  # name of a backlog
CONSUMER = "brokers"
MOST_TASKS = 1_000_000
MOST_RESULTS = 1_000_000
MOST_DEAD = 100_000  # of one reason
MIB = 1024 * 1024
ROOM = {"results": 1024 * MIB, "dead": 256 * MIB, "lost": 64 * MIB, "tasks": 1024 * MIB}  # bytes that are reserved …
HALVES = 10  # … halved so often at most, until the server has as many
OLDEST = (2, 11)  # version of the servers: from then on many results can be asked for at once
WRONG_LAST = 10071  # something is there already
NO_CLUSTER = 10074  # replicas are for clusters
NOT_FOUND = (10014, 10059)  # no such consumer, no such stream
NO_MESSAGE = 10037
NO_ROOM = (10002, 10005, 10023, 10047, 10122)  # of an account, of a cluster's servers, of a server, of a stream
FENCE = {"Nats-Expected-Last-Subject-Sequence": "0"}  # only where nothing is there yet
SILENT = "JetStream does not answer: it is off, or has no leader now"
ANSWERED = 2.0  # seconds until a request without an answer is repeated
PAUSE = 0.2  # seconds before that, where no server could answer
AT_ONCE = 500  # keys that are asked for at a time


class Place(NamedTuple):
    """Which servers, and which of their backlogs."""

    servers: tuple[str, ...]
    name: str
    shown: str  # without a password


def place_of(url: str) -> Place:
    """``nats://HOST:PORT[,HOST:PORT…][/NAME]``. Raises ValueError."""
    netlocs, _, name = url.removeprefix("nats://").partition("/")
    name = name or USUAL
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
        raise ValueError(f"the name of a backlog is up to 32 letters, digits, - and _, not {name!r}")
    servers = tuple(f"nats://{one}" for one in netlocs.split(","))
    hosts = [urlsplit(server) for server in servers]
    if not all(host.hostname for host in hosts):
        raise ValueError(f"expected nats://HOST:PORT/NAME, got {url!r}")
    return Place(
        servers, name, "nats://" + ",".join(f"{host.hostname}:{host.port or 4222}" for host in hosts) + f"/{name}"
    )


class Error(NamedTuple):
    """What the API says went wrong."""

    code: int
    text: str


def error_of(answer: Answer) -> Error | None:
    """None where all is well."""
    if b'"error"' not in answer.payload:
        return None
    said = json.loads(answer.payload)["error"]
    return Error(said.get("err_code", 0), said.get("description", ""))


class Result(NamedTuple):
    """How a task ended. ``seq``, ``delivery``: of the task's message, and which delivery of it that was."""

    seq: int
    delivery: int
    outcome: Outcome
    wanted: bool

    def packed(self) -> bytes:
        """As it is written."""
        return bytes(msgpack.packb([self.seq, self.delivery, list(self.outcome), self.wanted]))


def result_of(payload: bytes) -> Result:
    """What ``packed`` wrote."""
    seq, delivery, outcome, wanted = msgpack.unpackb(payload)
    return Result(seq, delivery, Outcome(*outcome), wanted)


TOKEN = 20  # bits of a token that count deliveries


class Lease(NamedTuple):
    """A task that is this broker's to have done."""

    token: int
    key: bytes
    reply: str  # where its message is acknowledged
    origin: bytes  # the broker that put it
    client: bytes
    message: list[bytes]
    lost: int

    @property
    def seq(self) -> int:
        """The number of its message."""
        return self.token >> TOKEN

    @property
    def delivery(self) -> int:
        """Which delivery of it that was."""
        return self.token & (1 << TOKEN) - 1


class Awaited(NamedTuple):
    """Who asked for a task, and under which id."""

    client: bytes
    ident: bytes


class Delivery(NamedTuple):
    """What the subject of an acknowledgement says: which message, its how manieth delivery, how many wait behind it."""

    delivered: int
    seq: int
    pending: int
    stamp: int = 0  # when it was stored, in nanoseconds since the epoch


def delivery_of(reply: str) -> Delivery:
    """Of ``$JS.ACK.…``, as servers without and with a domain write it."""
    parts = reply.split(".")
    at = 4 if len(parts) == 9 else 6
    return Delivery(int(parts[at]), int(parts[at + 1]), int(parts[at + 4]), int(parts[at + 3]))


class Streams:
    """The streams of one backlog. ``lease``: seconds after which a task is another broker's, if it hears nothing.

    ``patience``: seconds for which a request without an answer is repeated.
    """

    def __init__(self, link: Link, name: str, lease: float, patience: float) -> None:
        self._link, self.name, self._lease = link, name, lease
        self.patience = patience
        self._since: float | None = None  # when it began that nothing can be done
        self.tasks, self.results = f"{name}-tasks", f"{name}-results"
        self.dead, self.lost = f"{name}-dead", f"{name}-lost"
        self.next = f"$JS.API.CONSUMER.MSG.NEXT.{self.tasks}.{CONSUMER}"

    def check(self) -> None:
        """Raises Unavailable where the server is too old."""
        said = str(self._link.server.get("version", "0"))
        version = tuple(map(int, re.findall(r"\d+", said)[:2]))
        if version < OLDEST:
            raise Unavailable(f"the server is NATS {said}, and 2.11 is the oldest that will do")

    async def make(self) -> None:
        """Have all of it there. Raises Unavailable."""
        self.check()
        name, days = self.name, {"max_age": DAY}
        results = {"allow_direct": True, "max_msgs": MOST_RESULTS} | days
        part = await self._first(self.results, f"{name}.result.*", results)
        dead = {"max_msgs_per_subject": MOST_DEAD, "max_bytes": ROOM["dead"] // part}
        await self.have(self.dead, f"{name}.dead.*", dead)
        lost = {"allow_direct": True, "max_msgs_per_subject": 1, "max_age": 7 * DAY, "max_bytes": ROOM["lost"] // part}
        await self.have(self.lost, f"{name}.lost.*", lost)
        queue = {"retention": "workqueue", "discard": "new", "max_msgs": MOST_TASKS, "max_bytes": ROOM["tasks"] // part}
        await self.have(self.tasks, f"{name}.task.*", queue)
        consumer = {
            "durable_name": CONSUMER,
            "name": CONSUMER,
            "ack_policy": "explicit",
            "ack_wait": int(self._lease * SECOND),
            "max_deliver": -1,
            "max_ack_pending": -1,
        }
        asked = {"stream_name": self.tasks, "config": consumer}
        await self.api(f"CONSUMER.CREATE.{self.tasks}.{CONSUMER}", asked)

    async def _first(self, name: str, subject: str, config: dict[str, Any]) -> int:
        """The first stream, and what part of ROOM there is on the servers for all of them: one of so many."""
        found = await self._found(name, subject, config)
        if found is not None:
            most = found["config"].get("max_bytes", -1)
            return max(1, ROOM["results"] // most) if most > 0 else 1
        for halved in range(HALVES + 1):
            whole = sum(ROOM.values()) >> halved  # asked for by one stream, which then leaves the others theirs
            made = await self._make(name, subject, config | {"max_bytes": whole}, allowed=NO_ROOM)
            if "error" not in made:
                asked = made["config"] | {"max_bytes": ROOM["results"] >> halved}
                await self.api(f"STREAM.UPDATE.{name}", asked)
                return 1 << halved
        raise Unavailable(f"the NATS server has no room for a backlog: {made['error'].get('description', 'no reason')}")

    async def have(self, name: str, subject: str, config: dict[str, Any]) -> None:
        """A stream, as it is or as a new one is to be. Raises Unavailable."""
        if await self._found(name, subject, config) is None:
            await self._make(name, subject, config)

    async def _found(self, name: str, subject: str, config: dict[str, Any]) -> dict[str, Any] | None:
        """What is said of a stream that is there; None where none is. Raises Unavailable where it is another."""
        found = await self.api(f"STREAM.INFO.{name}", {}, allowed=NOT_FOUND)
        if "error" in found:
            return None
        kind = found["config"].get("retention")
        if kind != config.get("retention", "limits") or found["config"].get("subjects") != [subject]:
            raise Unavailable(f"the stream {name} is somebody else's: choose another name for the backlog")
        return found

    async def _make(
        self, name: str, subject: str, config: dict[str, Any], allowed: tuple[int, ...] = ()
    ) -> dict[str, Any]:
        """What is said of a new stream, or why there is none, where that is ``allowed``."""
        config = {"name": name, "subjects": [subject], "storage": "file", "num_replicas": 3, **config}
        made = await self.api(f"STREAM.CREATE.{name}", config, allowed=(NO_CLUSTER, *allowed))
        if made.get("error", {}).get("err_code") == NO_CLUSTER:
            made = await self.api(f"STREAM.CREATE.{name}", config | {"num_replicas": 1}, allowed=allowed)
        return made

    async def api(self, what: str, asked: dict[str, Any], allowed: tuple[int, ...] = ()) -> dict[str, Any]:
        """One request. Raises Unavailable where it is not answered, or with an error that is not ``allowed``."""
        (answer,), _ = await self.settle([Ask(f"$JS.API.{what}", json.dumps(asked).encode())])
        if answer is None:
            raise Unavailable(self._link.why or SILENT)
        said: dict[str, Any] = json.loads(answer.payload)
        if "error" in said and said["error"].get("err_code") not in allowed:
            raise Unavailable(f"JetStream: {said['error'].get('description', 'an error without words')}")
        return said

    def until(self) -> float:
        """How long it is tried."""
        return (time.monotonic() if self._since is None else self._since) + self.patience

    def goes(self) -> None:
        """All is well."""
        self._since = None

    def fails(self) -> None:
        """It was tried for so long: from now on everything is tried once, until it goes again."""
        if self._since is None:
            self._since = time.monotonic() - self.patience

    async def settle(self, asks: Sequence[Ask]) -> tuple[list[Answer | None], set[int]]:
        """Ask until all is answered or it takes too long; and which were asked more than once."""
        answers: list[Answer | None] = [None] * len(asks)
        again: set[int] = set()
        until, left = self.until(), list(range(len(asks)))
        while left:
            began = time.monotonic()
            for place, answer in zip(left, await self._link.ask([asks[n] for n in left], ANSWERED), strict=True):
                answers[place] = answer
            left = [n for n in left if answers[n] is None]
            if not left or time.monotonic() >= until:
                break
            again.update(left)
            await asyncio.sleep(max(0.0, PAUSE - (time.monotonic() - began)))
        return answers, again

    def wrong(self, answer: Answer | None) -> Error | None:
        """What is wrong where a message was to be stored; None where it was."""
        if answer is None:
            return Error(0, self._link.why or SILENT)
        return error_of(answer)

    async def newest(self, stream: str, kind: str, keys: list[bytes]) -> dict[bytes, bytes]:
        """Of these keys those that there is something of. Raises Unavailable."""
        found: dict[bytes, bytes] = {}
        for at in range(0, len(keys), AT_ONCE):
            wanted = [f"{self.name}.{kind}.{key.hex()}" for key in keys[at : at + AT_ONCE]]
            ask = Ask(f"$JS.API.DIRECT.GET.{stream}", json.dumps({"multi_last": wanted}).encode())
            until = self.until()
            while True:
                answers, whole = await self._link.several(ask, len(wanted) + 1, ANSWERED)
                if whole:
                    break
                if time.monotonic() >= until:
                    raise Unavailable(self._link.why or f"the stream {stream} does not answer")
                await asyncio.sleep(PAUSE)
            for answer in answers:
                found[bytes.fromhex(answer.headers["Nats-Subject"].rpartition(".")[2])] = answer.payload
        return found

    async def task(self, key: bytes) -> bytes | None:
        """The task of this key, as its stream's leader has it. Raises Unavailable."""
        return await self.stored(self.tasks, f"{self.name}.task.{key.hex()}")

    async def stored(self, stream: str, subject: str) -> bytes | None:
        """The newest message of a subject, as its stream's leader has it. Raises Unavailable."""
        said = await self.api(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject}, allowed=(NO_MESSAGE,))
        return None if "error" in said else b64decode(said["message"].get("data", ""))

    async def consumer(self) -> dict[str, Any]:
        """What JetStream says of the leases. Raises Unavailable."""
        return await self.api(f"CONSUMER.INFO.{self.tasks}.{CONSUMER}", {})
