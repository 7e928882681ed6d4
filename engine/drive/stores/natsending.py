"""How the tasks of a shared backlog end: write the outcome, tell the broker that waits for it, acknowledge."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgpack

from engine.core import Ended, Outcome, Told
from engine.drive.stores.natsdead import letter_of
from engine.drive.stores.natslink import Ask, Link
from engine.drive.stores.natsstreams import (
    AGAIN,
    ANSWERED,
    FENCE,
    PAUSE,
    WRONG_LAST,
    Awaited,
    Lease,
    Result,
    Streams,
    result_of,
)
from engine.parts.store import Unavailable

TOLD = 256 * 1024  # bytes of outcomes that are told at a time


class Endings:
    """What one broker has leased, and what its clients wait for. ``me``: its name among brokers."""

    def __init__(self, link: Link, streams: Streams, me: bytes) -> None:
        self._link, self._streams, self._me = link, streams, me
        self.leases: dict[int, Lease] = {}  # by token
        self.seqs: dict[int, int] = {}  # message → token
        self.awaited: dict[bytes, Awaited] = {}  # what this broker's clients asked for and another may be doing
        self.told: Callable[[Told], None] = lambda told: None

    async def end(self, ended: list[Ended]) -> set[int]:
        """Write outcomes, then acknowledge. Returns the tokens that are fenced. Raises Unavailable."""
        fenced = {one.token for one in ended if one.token not in self.leases}
        mine = {one.token: (self.leases[one.token], one) for one in ended if one.token not in fenced}
        asks = [
            Ask(f"{self._streams.name}.result.{lease.key.hex()}", self._written(lease, one).packed(), FENCE)
            for lease, one in mine.values()
        ]
        answers, _ = await self._streams.settle(asks)
        there: dict[bytes, Lease] = {}
        for (lease, _one), answer in zip(mine.values(), answers, strict=True):
            error = self._streams.wrong(answer)
            if error is not None and error.code != WRONG_LAST:
                self._streams.fails()
                raise Unavailable(f"{self._streams.name}: {error.text}")
            if error is not None:
                there[lease.key] = lease
        others = await self._others(there) if there else {}
        told: list[tuple[Lease, Outcome]] = []
        for token, (lease, one) in mine.items():
            if (other := others.get(lease.key)) is not None and not self._is_mine(other, lease):
                fenced.add(token)
                if other.seq != lease.seq:
                    told += [(lease, other.outcome)] if one.wanted else []
                    await self._bury(lease, AGAIN)
                continue
            if one.outcome.why:
                await self._bury(lease, one.outcome.why)
            if lease.origin == self._me:
                self.awaited.pop(lease.key, None)
            elif one.wanted:
                told.append((lease, one.outcome))
        await self._tell(told)
        await self._acknowledge([lease for lease, _ in mine.values()])
        for token in mine:
            self.drop(token)
        return fenced

    def _written(self, lease: Lease, one: Ended) -> Result:
        outcome = one.outcome
        if outcome.data is not None and len(outcome.data) > self._link.max_payload - 1024:
            outcome = Outcome("the answer is larger than the NATS server takes", None, outcome.worker)
        return Result(lease.seq, lease.delivery, outcome, one.wanted)

    def _is_mine(self, found: Result, lease: Lease) -> bool:
        return found.seq == lease.seq and found.delivery == lease.delivery

    async def _others(self, there: dict[bytes, Lease]) -> dict[bytes, Result]:
        """Read the outcome that is there already. Raises Unavailable."""
        until = time.monotonic() + self._streams.patience
        while True:  # whoever answers may be a replica that is behind
            found = await self._streams.newest(self._streams.results, "result", [*there])
            if len(found) == len(there):
                return {key: result_of(payload) for key, payload in found.items()}
            if time.monotonic() >= until:
                missing = len(there) - len(found)
                raise Unavailable(f"{self._streams.name}: the outcomes of {missing} tasks can not be read")
            await asyncio.sleep(PAUSE)

    async def _bury(self, lease: Lease, why: str) -> None:
        """A dead letter: the task with its reason, once."""
        (answer,), _ = await self._streams.settle([letter_of(self._streams.name, lease, why)])
        if (error := self._streams.wrong(answer)) is not None:
            raise Unavailable(f"{self._streams.name}: {error.text}")

    async def _tell(self, told: list[tuple[Lease, Outcome]]) -> None:
        """Tell the broker that put a task how it ended; see ``_look`` for what is lost."""
        by_broker: defaultdict[bytes, list[list[Any]]] = defaultdict(list)
        sizes: defaultdict[bytes, int] = defaultdict(int)
        here: list[tuple[bytes, bytes, Outcome]] = []
        for lease, outcome in told:
            origin = lease.origin
            if origin == self._me:
                self.awaited.pop(lease.key, None)
                here.append((lease.client, lease.message[1], outcome))
                continue
            by_broker[origin].append([lease.key, list(outcome)])
            sizes[origin] += len(outcome.data or b"")
            if sizes[origin] > TOLD or len(by_broker[origin]) >= 1000:
                await self._send_told(origin, by_broker.pop(origin))
                sizes[origin] = 0
        for origin, outcomes in by_broker.items():
            await self._send_told(origin, outcomes)
        if here:
            self.told(Told(None, here))

    async def _send_told(self, origin: bytes, outcomes: list[list[Any]]) -> None:
        await self._link.say([Ask(f"{self._streams.name}.tell.{origin.hex()}", msgpack.packb(outcomes))])

    async def _acknowledge(self, leases: list[Lease]) -> None:
        """The last one with an answer, which comes when all before it are done; what is lost is delivered again."""
        if leases:
            await self._link.say([Ask(lease.reply, b"+ACK") for lease in leases[:-1]])
            await self._link.ask([Ask(leases[-1].reply, b"+ACK")], ANSWERED)

    def drop(self, token: int) -> None:
        lease = self.leases.pop(token, None)
        if lease is not None:
            self.seqs.pop(lease.seq, None)

    async def lose(self, tokens: list[int]) -> None:
        """A worker was lost with each of these."""
        asks = []
        for token in tokens:
            if (lease := self.leases.get(token)) is not None:
                lease = self.leases[token] = lease._replace(lost=lease.lost + 1)
                asks.append(Ask(f"{self._streams.name}.lost.{lease.key.hex()}", b"%d" % lease.lost))
        await self._streams.settle(asks)

    async def finish(self, lease: Lease, found: Result) -> None:
        """It has an outcome, and whoever wrote that did not come to acknowledge it."""
        if found.seq != lease.seq:
            await self._bury(lease, AGAIN)
        elif found.outcome.why:
            await self._bury(lease, found.outcome.why)
        if found.wanted:
            await self._tell([(lease, found.outcome)])
        await self._acknowledge([lease])
