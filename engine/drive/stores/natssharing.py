"""The brokers that share a backlog in NATS, and its queue: each broker tells its state once a second, and looks.

A broker tells its name, its workers and slots, and its leased tasks on ``NAME.here``. One that was silent for ``HEARD``
seconds is gone. All else comes from JetStream.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any

import msgpack

from engine.core import Shared, Sharer
from engine.drive.stores import natsdead
from engine.drive.stores.natslink import Answer, Ask, Link
from engine.drive.stores.natsstreams import Streams

HEARD = 5.0  # seconds
MOST = 1000  # brokers that are remembered


class Sharing:
    """``crew``: workers and slots of this broker; None of a process that is none, and only looks."""

    def __init__(self, link: Link, streams: Streams, me: bytes, place: str) -> None:
        """``me``: this broker's name among brokers; ``place``: of the backlog, as it is shown."""
        self._link, self._streams, self._me, self._place = link, streams, me, place
        self.crew: tuple[int, int] | None = None
        self._name = f"{socket.gethostname()} {os.getpid()}"
        self._others: dict[bytes, tuple[float, Sharer]] = {}  # by their names among brokers: when it was said, and what

    async def listen(self) -> None:
        """Hear the others from now on."""
        await self._link.hear(f"{self._streams.name}.here", self._heard)

    def _heard(self, answer: Answer) -> None:
        try:
            who, name, workers, slots, leased = msgpack.unpackb(answer.payload)
            said = Sharer(str(name), int(workers), int(slots), int(leased))
        except (ValueError, TypeError):
            return  # whoever may use the server may say anything here
        if type(who) is bytes and who != self._me and (who in self._others or len(self._others) < MOST):
            self._others[who] = time.monotonic(), said

    async def look(self, leased: int) -> Shared:
        """How it is; and say how this broker is, which has leased so many. Raises Unavailable."""
        queue = await self._streams.api(f"STREAM.INFO.{self._streams.tasks}", {})
        said = await self._streams.consumer()
        dead = (await natsdead.letters(self._streams)).dead
        now = time.monotonic()
        self._others = {who: told for who, told in self._others.items() if told[0] > now - HEARD}
        brokers = [sharer for _, sharer in self._others.values()]
        if self.crew is not None:
            mine = Sharer(self._name, *self.crew, leased)
            brokers.append(mine)
            await self._link.say([Ask(f"{self._streams.name}.here", msgpack.packb([self._me, *mine]))])
        cluster: dict[str, Any] = queue.get("cluster") or {}
        copies = cluster.get("replicas") or []
        return Shared(
            self._place,
            said["num_pending"],
            said["num_ack_pending"],
            said["num_redelivered"],
            dead,
            cluster.get("leader", ""),
            1 + len(copies),
            tuple(sorted(one["name"] for one in copies if one.get("offline") or not one.get("current"))),
            queue["state"]["bytes"],
            max(0, queue["config"].get("max_bytes", 0)),
            tuple(sorted(brokers)),
        )
