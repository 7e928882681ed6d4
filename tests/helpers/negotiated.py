"""Negotiated cores on a world, and what they say to each other as lines that people read.

A line is ``NAME > COMMAND key=value …`` for what a peer says and ``NAME < …`` for what it is told. Times and hashes are
left out, a body is shown by its size. Names: ``w…`` workers and ``c…`` clients of ours, ``p…`` workers (``f…`` at the
fallback) and ``q…`` clients that a test speaks for, ``primary`` and ``fallback`` (or ``broker`` alone).
"""

from __future__ import annotations

from typing import Any

from engine.core import (
    NEVER,
    Command,
    Event,
    Exit,
    Frames,
    Note,
    Ordered,
    Received,
    Reopen,
    Save,
    Seat,
    Send,
    Socket,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.orders import ClockSet, Drain, Leave, Slow
from engine.protocols.negotiated import SYSTEM, HandBack, Options, Publish, backup, names, primary
from engine.protocols.negotiated import messages as wire
from engine.sim.wire import Link
from engine.sim.world import World

HERE = SYSTEM.endpoint
GIVEN = "{} WORKREQUEST config_version=1 work_request_identifier=63.{} service=ping"
FRONTEND = "tcp://127.0.0.1:6817"
FALLBACK = "tcp://127.0.0.1:6727"
HIDDEN = {"time", "echo", "config_hash", "message", "heartbeat_interval", "identity", "check"}


class Plain:
    """A peer that says what it is ordered to."""

    def handle(self, event: Event, now: float) -> list[Command]:
        """Takes orders that are frames."""
        return [Send(list(event.order))] if isinstance(event, Ordered) and isinstance(event.order, list) else []

    def wake_at(self) -> float:
        """Never."""
        return NEVER

    def check(self) -> None:
        """Nothing can be wrong."""

    def snapshot(self, now: float) -> None:
        """Nothing to see."""


def shown(frames: Frames) -> str:
    """A message for people; frames without a routing id."""
    command = frames[0].decode()
    header = wire.decode_header(frames[1]) or {}
    body = frames[2] if len(frames) > 2 else b""
    fields = [f"{key}={_value(value)}" for key, value in header.items() if key not in HIDDEN]
    return " ".join([command, *fields, *([f"<{len(body)} bytes>"] if body else [])])


def _value(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(_value, value)) or "none"
    if isinstance(value, bytes):
        return value.decode() if value.isascii() and value.decode().isprintable() else value.hex()
    return str(value)


def header_of(words: list[str], wall: float) -> wire.Header:
    """``key=value`` words as a header: numbers, lists with commas, ``now`` and ``now+SECONDS`` for wall times."""
    header: wire.Header = {}
    for word in words:
        key, _, text = word.partition("=")
        header[key] = _parsed(key, text, wall)
    return header


def _parsed(key: str, text: str, wall: float) -> Any:
    if text.startswith("now"):
        return wall + float(text[3:] or 0)
    if key in ("services", "holding"):
        return [] if text == "none" else text.split(",")
    if text.lstrip("-").isdigit():
        return int(text)
    return float(text) if text.replace(".", "", 1).isdigit() else text


def introduce(broker: Any, peer: str) -> None:
    """A peer that no worker is yet has asked for its configuration, as every one must before READY."""
    if peer.encode() not in broker.service.dispatcher.members:
        broker.service._configured[peer.encode()] = None


class Stage:
    """Cores by name on a world without chance; ``said`` since it was last taken."""

    def __init__(self, **options: Any) -> None:
        self.options = Options(**options)
        self.world = World(0)
        self.world.link(Link(delay=(0.001, 0.001)))
        self.world.watchers.append(self._watch)
        self.said: list[str] = []
        self.strict: set[str] = set()  # peers that say CHECKCONFIG themselves
        self.saved: bytes | None = None

    def give(self, line: str) -> None:
        """``options KEY=VALUE …``, of everybody."""
        word, *pairs = line.split()
        assert word == "options"
        self.options = Options(**header_of(pairs, 0.0))

    def shown(self, line: str) -> str:
        """``NAME STATE, PLACE`` of a worker."""
        name = line.split()[0]
        return f"{name} {self.row(name)}"

    def do(self, words: str) -> list[str]:
        """One action; what was said until everything is quiet, or for as long as it says."""
        act, *rest = words.split()
        wait = 0.2
        if act == "start":
            self.start(*rest)
        elif act == "say":
            name, command, *fields = rest
            if command == "READY" and name[0] in "pf" and name not in self.strict:
                for one in ("broker", "primary", "fallback"):
                    if one in self.world.names:
                        introduce(self.world.core(one), name)
            self.world.order(name, wire.build(command.encode(), header_of(fields, self.world.now)))
        elif act == "json":
            name, command, text = rest
            self.world.order(name, [command.encode(), text.encode()])
        elif act == "raw":
            self.world.order(rest[0], [part.encode().decode("unicode_escape").encode("latin-1") for part in rest[1:]])
        elif act == "order":
            self.world.order(rest[0], self.order(*rest[1:]))
        elif act == "wait":
            wait = float(rest[0])
        elif act == "kill":
            self.world.crash(rest[0])
        else:
            raise AssertionError(f"nobody knows how to {act}")
        self.world.run_for(wait)
        said, self.said = self.said, []
        return said

    def start(self, name: str, how: str = "") -> None:
        """Seat a core. ``how``: ``saved`` gives a worker or client the configuration that was kept last."""
        saved = self.saved if how == "saved" else None
        options = self.options
        match name:
            case "broker":
                seat = SYSTEM.broker(options, (HERE,))
            case "primary":
                seat = primary(options, (HERE,))
            case "fallback":
                seat = backup(options, (FALLBACK,))
            case _ if name.startswith("w"):
                seat = SYSTEM.worker(options, HERE, int(name[1:]), 1, saved=saved)
            case _ if name.startswith("c"):
                seat = SYSTEM.client(options, HERE, int(name[1:]), saved=saved)
            case _:
                endpoint = {"p": HERE, "q": FRONTEND, "f": FALLBACK}[name[0]]
                seat = Seat(Plain(), (Socket("dealer", connect=(endpoint,), routing_id=name.encode()),))
        self.world.add(name, seat)

    def order(self, word: str, argument: str = "") -> object:
        """An operator's order."""
        orders: dict[str, Any] = {
            "publish": lambda: Publish(int(argument)),
            "drain": lambda: Drain(argument.encode()),
            "handback": HandBack,
            "leave": Leave,
            "slow": lambda: Slow(float(argument)),
            "clock": lambda: ClockSet(float(argument)),
            "ping": lambda: BulkSpec("ping", int(argument)),
        }
        return orders[word]()

    def _watch(self, _at: float, name: str, event: Event, commands: list[Command]) -> None:
        if name in ("broker", "primary", "fallback"):
            return
        for frames in event.messages if isinstance(event, Received) else ():
            self.said.append(f"{name} < {shown(frames)}")
        for command in commands:
            match command:
                case Send() if name[0] in "pqf":
                    pass  # the test said so itself
                case Send(frames):
                    self.said.append(f"{name} > {shown(frames)}")
                case Reopen(endpoint=endpoint):
                    self.said.append(f"{name} opens {endpoint}")
                case Exit(reason, failed):
                    self.said.append(f"{name} {'fails' if failed else 'exits'}: {reason}")
                case Save(_, content):
                    self.saved = content
                    self.said.append(f"{name} saves its configuration")

    def row(self, name: str) -> str:
        """What the broker that serves shows of a worker: its state and its place in the LRU queues."""
        brokers = [self.world.core(one) for one in ("broker", "primary", "fallback") if one in self.world.names]
        (broker,) = (core for core in brokers if core.serving)
        number = int(name[1:]) if name[1:].isdigit() else 0
        key = f"worker-{number}".encode() if name.startswith("w") else name.encode()
        states = {row.key: row.state for row in broker.snapshot(self.world.now).workers}
        queues = [service for service, queue in broker.service.dispatcher.queues.items() if key in queue.ready]
        return f"{states.get(key, 'unknown')}, in the queues of {' and '.join(queues) or 'none'}"


class One:
    """A single core that a test speaks to. What it sends comes back as lines; notes and the rest are kept aside."""

    def __init__(self, core: Any, now: float = 100.0) -> None:
        self.core, self.now = core, now
        self.notes: list[tuple[str, str]] = []
        self.others: list[Command] = []

    def do(self, event: Event) -> list[str]:
        """What it sends: ``frontend c WORKREPLY …`` from a broker's socket, the message alone from a peer's."""
        sent = []
        for command in self.core.handle(event, self.now):
            match command:
                case Send(frames, socket):
                    routed = hasattr(self.core, "service") and (socket != "peer" or len(frames) == 4)
                    who = [] if socket == "main" else [socket]
                    if routed:
                        who.append(frames[0].decode())
                    sent.append(" ".join([*who, shown(frames[1:] if routed else frames)]))
                case Note(level, text):
                    self.notes.append((level, text))
                case _:
                    self.others.append(command)
        self.core.check()
        return sent

    def told(
        self, command: bytes, header: wire.Header, body: bytes = b"", peer: str = "", socket: str = "main"
    ) -> list[str]:
        """One message comes, from a peer of a broker or from the broker of a peer."""
        frames = wire.build(command, header, body)
        return self.do(Received([[peer.encode(), *frames] if peer else frames], socket))

    def ordered(self, order: object) -> list[str]:
        """An operator's order."""
        return self.do(Ordered(order))

    def at(self, now: float) -> list[str]:
        """It is woken."""
        self.now = now
        return self.do(Woken())

    # ---- what peers of a broker say -------------------------------------------------------------------------------

    def ready(self, peer: str, services: str = "ping", **more: Any) -> list[str]:
        """READY with the right clock and version, of a worker that has asked for its configuration before."""
        introduce(self.core, peer)
        header = {"services": services.split(), "heartbeat_interval": 1.0, "time": self.now, "config_version": 1}
        return self.told(names.READY, {**header, **more}, peer=peer)

    def client(self, peer: str = "c") -> list[str]:
        """A client's CHECKCONFIG."""
        header = {"config_type": "json", "config_version": 1}
        return self.told(names.CHECKCONFIG, header, peer=peer, socket="frontend")

    def ask(self, task_id: bytes, service: str = "ping", peer: str = "c") -> list[str]:
        """A client's WORKREQUEST."""
        header = {names.IDENTIFIER: task_id, "service": service}
        return self.told(names.WORKREQUEST, header, peer=peer, socket="frontend")

    def reply(self, peer: str, task_id: bytes, client: bytes = b"c") -> list[str]:
        """A worker's WORKREPLY."""
        return self.told(names.WORKREPLY, {names.IDENTIFIER: wire.task_identifier((client, task_id))}, peer=peer)


def broker(**options: Any) -> One:
    """A broker alone."""
    return One(SYSTEM.broker(Options(**options), (HERE,)).core)


def busy(*workers: str, **options: Any) -> One:
    """A broker with workers in that order, and a client."""
    it = broker(**options)
    for worker in workers:
        assert it.ready(worker) == [f"{worker} READYOK"]
    assert it.client() == ["frontend c CONFIG config_type=json config_version=1"]
    it.notes.clear()
    return it


def given(worker: str, task_id: bytes) -> str:
    """What a worker is told when it is given the client's task."""
    return GIVEN.format(worker, task_id.hex())


def books(it: One) -> tuple[int, int, dict[str, int], int, int]:
    """sent, succeeded, failed by kind, in flight, queued."""
    view = it.core.snapshot(it.now).ledger
    assert view.balanced and not view.dropped
    return view.sent, view.succeeded, dict(view.failed), view.in_flight, view.queued


def counters(it: One) -> dict[str, int]:
    """The broker's named totals that are not zero."""
    return {name: n for name, n in it.core.snapshot(it.now).counters if n}
