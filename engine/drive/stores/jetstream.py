"""A store of tasks in NATS JetStream, which brokers on several machines share.

The rules of this file:

- A lease is a delivery of the task's message. It is extended as long as this broker lives, and comes back when it has
  said nothing for ``lease`` seconds. Its token is the message's number and which delivery of it that was.
- An outcome is written only where none is yet: that is the fence. When it is there its task is acknowledged. A task
  that is delivered again and has an outcome is acknowledged, and not done again.
- A request without an answer is repeated, for ``patience`` seconds in all: a new leader is elected meanwhile.
  Then tasks are refused. One that was sent and not answered may have been taken, and its reason says so.
- The broker that put a task hears of its outcome from the one that had it done. Should that be lost, it looks itself.
- A broker that puts more than it leases tells the others, and those that got less than they asked for ask then. Once
  a second a broker asks for a task as long as others have leases: no event tells when a dead broker's come back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from hashlib import blake2b
from itertools import islice
from secrets import token_bytes

import msgpack

from engine.core import Entry, Leased, Outcome, Shared, Store, Stored, Told
from engine.drive.stores import natsdead
from engine.drive.stores.dead import Dead
from engine.drive.stores.natsending import Endings
from engine.drive.stores.natslink import Answer, Ask, Link
from engine.drive.stores.natssharing import Sharing
from engine.drive.stores.natsstreams import (
    AGAIN,
    ANSWERED,
    FENCE,
    PAUSE,
    TOKEN,
    WRONG_LAST,
    Awaited,
    Delivery,
    Lease,
    Streams,
    delivery_of,
    place_of,
    result_of,
)
from engine.parts.store import GLOBAL, KEPT, REFUSED, Counts, Unavailable

LEASE = 10.0  # seconds that a task stays with a broker that says nothing
PATIENCE = 10.0  # seconds until tasks are refused: longer than the election of a leader takes
LOOK = 1.0  # seconds between two looks at what others do
LOOKED = 500  # tasks whose outcome is looked for at a time
MOST_AWAITED = 200_000  # tasks of this broker's clients that are looked for
HEADS = 1024  # bytes that a message's headers, and the reason of a dead letter, may take


class JetStream:
    """See ``engine.parts.store.Keeps``. ``trouble`` stays empty: what is wrong is said by what can not be done."""

    def __init__(self, url: str, *, lease: float = 0.0, patience: float = PATIENCE) -> None:
        """It begins to connect; no server need be there. Raises Unavailable where the client library is missing."""
        try:
            place = place_of(url)
        except ValueError as error:
            raise Unavailable(str(error)) from None
        self.name, self.trouble = place.shown, ""
        self._lease_for = lease or LEASE
        self._me = token_bytes(8)
        self.link = Link(place.servers, "roundhouse")
        self.streams = Streams(self.link, place.name, self._lease_for, patience)
        self._endings = Endings(self.link, self.streams, self._me)
        self._sharing = Sharing(self.link, self.streams, self._me, place.shown)
        self._shared: Shared | None = None  # as it was seen last
        self._waiting = self._dead = 0
        self._ready = False
        self._hungry = False  # fewer were there than were asked for
        self.link.start(self._listen, self._extend, self._look)

    def listen(self, told: Callable[[Told], None]) -> None:
        """See ``Keeps``."""
        self._endings.told = told
        self._sharing.crew = (0, 0)

    def perform(self, commands: list[Store]) -> list[Stored]:
        """See ``Keeps``."""
        return self.link.run(self._perform(commands))

    def counts(self) -> Counts:
        """See ``Keeps``."""
        return self.link.run(self._counts())

    def result(self, ident: bytes) -> Outcome | str | None:
        """See ``Keeps``."""
        return self.link.run(self._result(ident))

    def results(self, idents: list[bytes]) -> dict[bytes, Outcome]:
        """The outcomes of those of these tasks that have ended. Raises Unavailable."""
        found = self.link.run(self.streams.newest(self.streams.results, "result", idents))
        return {ident: result_of(payload).outcome for ident, payload in found.items()}

    def dead(self) -> list[Dead]:
        """What can be revived, the newest first. Raises Unavailable."""
        return self.link.run(self._listed())

    def close(self) -> None:
        """See ``Keeps``: what was leased goes to others at once."""
        self.link.run(self._give_back())
        self.link.close()

    def kill(self) -> None:
        """End as a process does that is killed: leases end when their time is over."""
        self.link.close()

    # ---- what a broker asks for --------------------------------------------------------------------------------------

    async def _perform(self, commands: list[Store]) -> list[Stored]:
        await self._prepare()
        if self._sharing.crew is not None:
            self._sharing.crew = commands[-1].crew
        ended = [one for command in commands for one in command.ended]
        fenced = await self._endings.end(ended) if ended else set[int]()
        why, fates, revived = "", list[Outcome | str | None](), list[int]()
        try:
            await self._endings.lose([token for command in commands for token in command.lost])
            for command in commands:
                revived.append(await self._revive(command.revive))
            tasks = [entry for command in commands for entry in command.tasks]
            fates, why = await self._put(tasks) if tasks else ([], "")
            leased = await self._lease(sum(command.lease for command in commands))
            if fates.count(None) + sum(revived) > len(leased):
                await self.link.say([Ask(f"{self.streams.name}.more", self._me)])
        except Unavailable as error:
            self._fails()
            if not ended and not fates:
                raise
            why, leased = why or str(error), []
            fates = fates or [REFUSED] * sum(len(command.tasks) for command in commands)
        else:
            self.streams.goes()
        done = _shared_out(commands, fates, why, leased, fenced, self._waiting)
        revived += [0] * (len(done) - len(revived))
        return [one._replace(revived=n, dead=self._dead) for one, n in zip(done, revived, strict=True)]

    def _fails(self) -> None:
        self._ready = False  # the streams may be gone
        self.streams.fails()

    async def _prepare(self) -> None:
        """Have the streams there. Raises Unavailable."""
        until = self.streams.until()
        while not (self._ready and self.link.connected):
            try:
                if not self.link.connected:
                    refused = "uthoriz" in self.link.why or "uthentic" in self.link.why
                    who = "the NATS server refuses us" if refused else "no NATS server"
                    raise Unavailable(f"{who} at {self.name}: {self.link.why}")
                await self.streams.make()
                self._waiting = (await self.streams.consumer())["num_pending"]
                self._ready = True
            except Unavailable:
                if time.monotonic() >= until:
                    self._fails()
                    raise
                await asyncio.sleep(PAUSE)

    # ---- tasks -------------------------------------------------------------------------------------------------------

    async def _put(self, entries: list[Entry]) -> tuple[list[Outcome | str | None], str]:
        """Their fates, and why some were refused. Raises Unavailable: then none was sent."""
        keys = [one.message[1] if len(one.message[1]) == GLOBAL else token_bytes(GLOBAL) for one in entries]
        known = [one.message[1] for one in entries if len(one.message[1]) == GLOBAL]
        ended = await self.streams.newest(self.streams.results, "result", known)
        fates: list[Outcome | str | None] = [KEPT] * len(entries)
        sent: list[tuple[int, Ask]] = []
        why = ""
        for place, (key, (client, message)) in enumerate(zip(keys, entries, strict=True)):
            body = msgpack.packb([self._me, client, *message])
            if key in ended:
                fates[place] = result_of(ended[key]).outcome
            elif len(body) > self.link.max_payload - HEADS:
                fates[place], why = REFUSED, "a task is larger than the NATS server takes"
            else:
                sent.append((place, Ask(f"{self.streams.name}.task.{key.hex()}", body, FENCE)))
        answers, again = await self.streams.settle([ask for _, ask in sent])
        for number, ((place, ask), answer) in enumerate(zip(sent, answers, strict=True)):
            error = self.streams.wrong(answer)
            if error is None:
                fates[place] = None
                self._waiting += 1
            elif error.code != WRONG_LAST:
                fates[place], why = REFUSED, f"the backlog is full: {error.text}" if answer else error.text
                if answer is None:
                    self._fails()
                    why = f"{error.text}; it may have been taken"
                continue
            elif number in again and await self.streams.task(keys[place]) == ask.payload:
                fates[place] = None
            self._await(keys[place], *entries[place])
        return fates, why

    async def _revive(self, numbers: tuple[int, ...]) -> int:
        """How many of these dead tasks wait again. Raises Unavailable."""
        revived = 0
        for number in numbers:
            revived += await natsdead.revive(self.streams, number)
        if numbers:
            self._waiting += revived
            self._dead = (await natsdead.letters(self.streams)).dead
        return revived

    def _await(self, key: bytes, client: bytes, message: list[bytes]) -> None:
        if len(self._endings.awaited) < MOST_AWAITED:
            self._endings.awaited.setdefault(key, Awaited(client, message[1]))

    async def _lease(self, most: int) -> list[Leased]:
        """Up to so many of those that wait. Raises Unavailable."""
        if not most:
            return []
        ask = Ask(self.streams.next, b'{"batch":%d,"no_wait":true}' % most)
        came, _ = await self.link.several(ask, most, ANSWERED)
        self._hungry = len(came) < most
        # Pending does not count what comes back from a dead broker: only fewer than asked for means that none is left
        self._waiting = 0 if self._hungry else max(1, delivery_of(came[-1].reply).pending)
        return await self._take(came)

    async def _take(self, came: list[Answer]) -> list[Leased]:
        leases: list[tuple[Lease, Delivery]] = []
        held = self._endings
        for answer in came:
            at = delivery_of(answer.reply)
            token = held.seqs.get(at.seq)
            if token is not None:  # the server did not hear in time that it is held
                held.leases[token] = held.leases[token]._replace(reply=answer.reply)
                continue
            origin, client, *message = msgpack.unpackb(answer.payload)
            key = bytes.fromhex(answer.subject.rpartition(".")[2])
            leases.append((Lease(at.seq << TOKEN | at.delivered, key, answer.reply, origin, client, message, 0), at))
        again = [lease.key for lease, at in leases if at.delivered > 1]
        ended: dict[bytes, bytes] = {}
        lost: dict[bytes, bytes] = {}
        if again:
            ended = await self.streams.newest(self.streams.results, "result", again)
            lost = await self.streams.newest(self.streams.lost, "lost", again)
        found: list[Leased] = []
        for lease, at in leases:
            if lease.key in ended:
                await self._endings.finish(lease, result_of(ended[lease.key]))
                continue
            lease = lease._replace(lost=int(lost.get(lease.key, b"0")))
            self._endings.leases[lease.token], self._endings.seqs[at.seq] = lease, lease.token
            far = lease.origin != self._me
            client = _far(lease) if far else lease.client
            found.append(Leased(lease.token, client, lease.message, at.delivered - 1, lease.lost, far))
        return found

    # ---- what goes on meanwhile --------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        awaited = self._endings.awaited

        def more(answer: Answer) -> None:
            if self._hungry and answer.payload != self._me:
                self._endings.told(Told(1, []))

        def took(answer: Answer) -> None:
            said = [(awaited.pop(key, None), Outcome(*outcome)) for key, outcome in msgpack.unpackb(answer.payload)]
            self._endings.told(Told(None, [(*who, outcome) for who, outcome in said if who is not None]))

        await self.link.hear(f"{self.streams.name}.tell.{self._me.hex()}", took)
        await self.link.hear(f"{self.streams.name}.more", more)
        await self._sharing.listen()

    async def _extend(self) -> None:
        """Say of all leases that they go on."""
        while True:
            await asyncio.sleep(self._lease_for / 4)
            await self.link.say([Ask(lease.reply, b"+WPI") for lease in self._endings.leases.values()])

    async def _look(self) -> None:
        """What others do: tasks that wait, and outcomes that were told and not heard."""
        seen = 0
        while True:
            await asyncio.sleep(LOOK)
            if not (self._ready and self.link.connected):
                continue
            try:
                shared = self._shared = await self._sharing.look(len(self._endings.leases))
                ended = await self._missed(seen)
            except Unavailable:
                if self._shared is not None:  # whoever asks next is told why
                    self._endings.told(Told(None, [], self._shared._replace(leader="")))
                continue
            seen = seen + LOOKED if seen + LOOKED < len(self._endings.awaited) else 0
            self._waiting, self._dead = shared.waiting, shared.dead
            back = shared.leased > len(self._endings.leases)  # others' leases, which may come back
            asks = ended or self._waiting or back
            self._endings.told(Told(max(self._waiting, back) if asks else None, ended, shared))

    async def _missed(self, at: int) -> list[tuple[bytes, bytes, Outcome]]:
        keys = list(islice(self._endings.awaited, at, at + LOOKED))
        found = await self.streams.newest(self.streams.results, "result", keys)
        ended = []
        for key, payload in found.items():
            result = result_of(payload)
            if result.seq in self._endings.seqs:
                continue  # it is just being acknowledged, and then its client hears of it
            who = self._endings.awaited.pop(key, None)
            if who is not None and result.wanted:
                ended.append((*who, result.outcome))
        return ended

    async def _give_back(self) -> None:
        await self.link.say([Ask(lease.reply, b"-NAK") for lease in self._endings.leases.values()])

    # ---- books -------------------------------------------------------------------------------------------------------

    async def _counts(self) -> Counts:
        """The sum of all brokers' books. Raises Unavailable."""
        await self._prepare()
        streams = self.streams
        tasks = (await streams.api(f"STREAM.INFO.{streams.tasks}", {}))["state"]
        results = (await streams.api(f"STREAM.INFO.{streams.results}", {}))["state"]
        failed, dead, revived = await natsdead.letters(streams)
        leased = (await streams.consumer())["num_ack_pending"]
        known = sum(n for why, n in failed.items() if why != AGAIN)
        return Counts(
            tasks["last_seq"] - revived,
            results["last_seq"] - known - revived,
            tuple(sorted(failed.items())),
            tasks["messages"] - leased,
            leased,
            results["messages"],
            dead,
        )

    async def _listed(self) -> list[Dead]:
        await self._prepare()
        return await natsdead.listed(self.link, self.streams)

    async def _result(self, ident: bytes) -> Outcome | str | None:
        await self._prepare()
        found = await self.streams.newest(self.streams.results, "result", [ident])
        if ident in found:
            return result_of(found[ident]).outcome
        return None if await self.streams.task(ident) is None else KEPT


def _far(lease: Lease) -> bytes:
    """A name for another broker's client that no client of ours has."""
    return b"\xff" + blake2b(lease.origin + lease.client, digest_size=11).digest()


def _shared_out(
    commands: list[Store],
    fates: list[Outcome | str | None],
    why: str,
    leased: list[Leased],
    fenced: set[int],
    waiting: int,
) -> list[Stored]:
    """An answer for each command."""
    done: list[Stored] = []
    for command in commands:
        mine, fates = fates[: len(command.tasks)], fates[len(command.tasks) :]
        given, leased = leased[: command.lease], leased[command.lease :]
        refused = why if REFUSED in mine else ""
        tokens = [one.token for one in command.ended if one.token in fenced]
        done.append(Stored(command.number, mine, given, tokens, waiting, refused))
    return done
