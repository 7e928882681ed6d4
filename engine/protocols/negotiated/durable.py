"""A broker of seed 004 with a store: what it accepts is on the disk, and so is how it ended, before anybody hears it.

The rules of this file (rulings O31 and O32; the store's half is ``engine.parts.keeping``):

- A request waits at the dispatcher when it is leased, and its client is told how it ended when the store has that.
- What a client that is gone asked for is done all the same. All clients share the backlog and the store.
- A worker's error is part of its reply, so it is kept with the body.
- It is none of a pair: what a fallback knows is a copy of the dispatcher, and not what is on the disk.
"""

from __future__ import annotations

from collections.abc import Collection

import msgpack

from engine.core import Command, Event, Leased, Outcome, Send
from engine.parts.inflight import Task, TaskKey
from engine.parts.keeping import Keeping
from engine.parts.limits import MAX_HELD
from engine.parts.store import AGAIN
from engine.parts.view import BrokerView
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.broker import Broker
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.dispatcher import MAX_ASKED
from engine.protocols.negotiated.operated import Operated
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.tasks import FRONTEND, UNOFFERED, WITHDRAWN

_ERROR = b"\xc1error"  # before a kept reply with an error, or one that begins so: 0xc1 begins no msgpack
_CODES = {WITHDRAWN: names.REFUSED}  # of a request that has ended otherwise: 503


class Durable(Broker):
    """The core of the broker's role, where a store keeps its requests: the ``Holder`` of ``keeping``."""

    def __init__(self, options: Options, config: Config, here: Address, *, wall_offset: float = 0.0) -> None:
        super().__init__(options, config, here, wall_offset=wall_offset)
        self.keeping = Keeping(self, options.backlog)
        self.service: _Service = _Service(options, config, here, wall_offset, self.keeping)
        self._loaded: dict[str, None] = {}  # services of requests that were loaded and not given

    def handle(self, event: Event, now: float) -> list[Command]:
        """See ``Broker``; it takes the order ``Revive`` as well."""
        out: list[Command] = []
        self.service.out = out
        if not self.keeping.handle(event, now, out):
            out = super().handle(event, now)
        self.keeping.ask(out)
        return out

    def wake_at(self) -> float:
        """The broker's next deadline, or when the store is asked again."""
        return min(super().wake_at(), self.keeping.wake_at())

    def check(self) -> None:
        """The same, and each request at the dispatcher is leased."""
        super().check()
        self.keeping.check()
        assert all(map(self.keeping.is_leased, self.service.dispatcher.tasks)), "a request that nobody keeps"

    def snapshot(self, now: float) -> BrokerView:
        """The same, with what the store does."""
        return self.keeping.shown(super().snapshot(now))

    # ---- what ``keeping`` asks for -----------------------------------------------------------------------------------

    def holds(self, key: TaskKey) -> bool:
        """See ``Holder``."""
        return key in self.service.dispatcher.tasks

    def is_full(self) -> bool:
        """See ``Holder``."""
        return self.service.dispatcher.size >= MAX_HELD // 2

    def slots(self) -> int:
        """See ``Holder``."""
        return sum(member.slots for member in self.service.dispatcher.members.values() if not member.draining)

    def load(self, one: Leased, now: float) -> TaskKey | None:
        """See ``Holder``."""
        service, ident, body = one.message
        key, name = (one.client, ident), service.decode()
        if one.attempts:
            self.service.count("redelivered")
        if self.holds(key):
            self.service.ledger.fail(AGAIN)
            return None
        task = Task(key, name, [body], now)
        task.attempt = min(one.lost, self.service.options.max_deliveries - 1)
        self.service.dispatcher.accept(task)
        self._loaded[name] = None
        return key

    def pump(self, now: float, out: list[Command]) -> None:
        """See ``Holder``."""
        self.service.loaded(list(self._loaded), now)
        self._loaded.clear()

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        """See ``Holder``."""
        header: wire.Header = {names.IDENTIFIER: ident}
        if not outcome.why:
            error, body = _loads(outcome.data or b"")
            if error:
                header[names.ERROR] = error
            out.append(Send([client, *wire.build(names.WORKREPLY, header, body)], FRONTEND))
            return
        header |= {"code": _CODES.get(outcome.why, names.NO_BROKER), "message": outcome.why}
        if outcome.why == UNOFFERED:
            header["service"] = (outcome.data or b"").decode()
        out.append(Send([client, *wire.build(names.DISCONNECTERROR, header)], FRONTEND))

    def known(self) -> None:
        """See ``Holder``."""
        self.service.count("repeated requests")

    def refuse(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """See ``Holder``."""
        self.service.ledger.sent += 1
        self.service.ledger.dropped += 1
        self.service.count("denied")
        header = {"code": names.TOO_MANY, "message": why[: wire.MAX_TEXT], names.IDENTIFIER: key[1]}
        out.append(Send([key[0], *wire.build(names.DISCONNECTERROR, header)], FRONTEND))

    def stored(self, news: int, waiting: int) -> None:
        """See ``Holder``."""
        self.service.ledger.sent += news
        self.service.kept = waiting


class _Service(Operated):
    """What messages mean where requests go into the store and come out of it."""

    def __init__(self, options: Options, config: Config, here: Address, wall_offset: float, keeping: Keeping) -> None:
        super().__init__(options, config, here, wall_offset)
        self._keeping = keeping

    def request(self, key: TaskKey, service: str, body: bytes, now: float) -> None:
        """See ``Tasks``."""
        keeping = self._keeping
        self.callers.sent(key[0], 1, now)
        if key in self.dispatcher.tasks or key in keeping.putting:
            self.count("repeated requests")
        elif len(keeping.putting) + self.dispatcher.queued + self.kept >= self.options.max_backlog:
            keeping.drop(key, "the backlog is full", self.out)
        elif why := self._excess(key[0], service, len(body)):
            keeping.drop(key, why, self.out)
        else:
            keeping.put(key, [service.encode(), key[1], body])

    def _excess(self, client: bytes, service: str, size: int) -> str:
        """Why a client may not ask for one service more; see O18."""
        dispatcher = self.dispatcher
        if service not in dispatcher.queues and len(dispatcher.queues) - dispatcher.offered() >= MAX_ASKED:
            return "too many services are asked for that nobody offers"
        return dispatcher.owners.excess(client, service, size)

    def loaded(self, services: Collection[str], now: float) -> None:
        """Requests for these services have come from the store."""
        self.dispatcher.peak.mark(self.dispatcher.queued, now)
        self._pump_all(services, now)
        self.watch(now)

    def _replied(self, task: Task, error: str, body: bytes) -> None:
        self._keeping.end(task.key, Outcome("", _dumps(error, body), task.worker))

    def _failed(self, task: Task, why: str, code: int, message: str) -> None:
        self.ledger.fail(why)
        self._keeping.end(task.key, Outcome(why, task.kind.encode() if why == UNOFFERED else None))

    def _is_gone(self, client: bytes) -> bool:
        return False

    def _again(self, task: Task) -> None:
        self._keeping.lose(task.key)


def _dumps(error: str, body: bytes) -> bytes:
    """A reply as it is kept."""
    return _ERROR + msgpack.packb([error, body]) if error or body.startswith(_ERROR) else body


def _loads(data: bytes) -> tuple[str, bytes]:
    """The error and the body of a reply that was kept."""
    if not data.startswith(_ERROR):
        return "", data
    error, body = msgpack.unpackb(data[len(_ERROR) :])
    return error, body
