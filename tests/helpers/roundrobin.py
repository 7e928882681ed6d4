"""A round robin core on a desk: told messages one by one, it says what it sends; notes are kept aside."""

from __future__ import annotations

from typing import Any

from engine.core import Core, Event, Exit, Frames, Note, Ordered, Received, Reopen, Send, Share, Unsent, Woken
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options

PACE: dict[str, Any] = {"heartbeat": 2.0, "expiry": 6.0}  # seconds, in which the tests on the desk count


class Desk:
    """``now`` is the tests' to move. Every event is followed by ``check``."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.now = 100.0
        self.notes: list[Note] = []
        self.others: list[Reopen | Exit] = []
        self.shares: list[bool] = []  # what each ``Share`` said

    def do(self, event: Event) -> list[Frames]:
        """What the core sends on an event, in order."""
        sent = []
        for command in self.core.handle(event, self.now):
            match command:
                case Send(frames, "main"):
                    sent.append(frames)
                case Note():
                    self.notes.append(command)
                case Reopen() | Exit():
                    self.others.append(command)
                case Share(agreed, "main"):
                    self.shares.append(agreed)
                case _:
                    raise AssertionError(f"unexpected {command!r}")
        self.core.check()
        return sent

    def told(self, *messages: Frames) -> list[Frames]:
        """What it sends when these messages arrive in one batch."""
        return self.do(Received([list(frames) for frames in messages]))

    def ordered(self, order: object) -> list[Frames]:
        """What it sends on an operator's order."""
        return self.do(Ordered(order))

    def at(self, now: float) -> list[Frames]:
        """What it sends when it is woken at a time."""
        self.now = now
        return self.do(Woken())


class Front(Desk):
    """A broker on the desk, with words for what its peers send."""

    def __init__(self, **options: Any) -> None:
        self.broker = Broker(Options(**{**PACE, **options}))
        super().__init__(self.broker)

    @property
    def books(self) -> tuple[int, int, dict[str, int], int, int, int]:
        """sent, succeeded, failed by kind, in flight, queued, dropped."""
        view = self.broker.snapshot(self.now).ledger
        return view.sent, view.succeeded, dict(view.failed), view.in_flight, view.queued, view.dropped

    @property
    def free(self) -> dict[bytes, int]:
        """Free slots by worker, lost ones left out."""
        return {row.key: row.free for row in self.broker.snapshot(self.now).workers if row.state != "lost"}

    @property
    def states(self) -> dict[bytes, str]:
        """The state of every row."""
        return {row.key: row.state for row in self.broker.snapshot(self.now).workers}

    @property
    def wrongs(self) -> list[tuple[bytes, str, int]]:
        """Violations: peer, reason, times; newest last."""
        return [(one.peer, one.reason, one.times) for one in self.broker.violations.newest()]

    def join(self, worker: bytes, slots: int = 10) -> list[Frames]:
        """REGISTER, and something else behind the answer, so that it may be given tasks."""
        sent = self.told([worker, *wire.register(b"reg1", slots)])
        return sent + self.told([worker, *wire.link_pong(bytes(8))]) if sent else sent

    def pingt(self, number: int, client: bytes = b"c") -> list[Frames]:
        """A TRACKEXEC PING."""
        return self.told([client, *wire.ping(ident(number), True)])

    def ping(self, number: int, client: bytes = b"c") -> list[Frames]:
        """An EXEC PING."""
        return self.told([client, *wire.ping(ident(number), False)])

    def reply(self, worker: bytes, number: int, client: bytes = b"c") -> list[Frames]:
        """A worker's response to a ping."""
        return self.told([worker, *wire.reply(client, ident(number))])

    def increment(self, worker: bytes) -> list[Frames]:
        """INCREMENT."""
        return self.told([worker, *wire.increment(b"inc1")])

    def unsent(self, frames: Frames, reason: Any = "unreachable") -> list[Frames]:
        """The socket refuses what the broker sent."""
        return self.do(Unsent(list(frames), reason))


def ident(number: int) -> bytes:
    """A task's id as clients make them."""
    return number.to_bytes(8, "little")


def given(worker: bytes, number: int, client: bytes = b"c") -> Frames:
    """A tracked ping as the broker hands it to a worker."""
    return [worker, b"", wire.VERSION, wire.TRACKEXEC, ident(number), wire.APP_PING, b"", client]


def relayed(number: int, worker: bytes, client: bytes = b"c") -> Frames:
    """The reply to a ping as the broker hands it to a client."""
    return [client, b"", wire.VERSION, wire.RESPONSE, ident(number), b"", worker]


def submitted(client: bytes, *numbers: int) -> Frames:
    """Tracked pings as a client that packs sends them."""
    return [client, packed.tasks([wire.ping(ident(number), True)[2:-1] for number in numbers])]


def given_packed(worker: bytes, *numbers: int, client: bytes = b"c") -> Frames:
    """Tracked pings as the broker hands them to a worker that packs."""
    pairs = [(client, wire.ping(ident(number), True)[2:-1]) for number in numbers]
    return [worker, packed.deliveries([value for pair in pairs for value in pair])]
