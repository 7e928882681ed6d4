"""Dialogues of negotiated in which one bit of one message is wrong, and what must hold some time after that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from engine.core import NEVER, Command, Event, Frames, Seat, Send
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Leave, Slow
from engine.protocols.negotiated import SYSTEM, Options, Publish, backup, primary
from engine.sim.wire import Link
from engine.sim.world import World

HERE = SYSTEM.endpoint
FALLBACK = "tcp://127.0.0.1:6727"
OPTIONS = Options(heartbeat=2.0, doubt=6.0)  # of 2.0 a flipped bit makes more and less
PAIR = Options(heartbeat=2.0, doubt=6.0, fallback=FALLBACK)
BROKERS = ("broker", "primary", "fallback")
SLOTS = 3
TASKS = 4
LEAST = 40.0  # seconds in which everything has to be well after a dialogue
SEEN = 3  # messages of one sender and command that are spoilt; later ones say the same


class Flip(NamedTuple):
    """Which bit is wrong: of the message with this number, the frame in it, and the bit in that."""

    message: int
    frame: int
    bit: int


class Line:
    """Numbers the messages of all cores as they are sent, and flips one bit on the way."""

    def __init__(self, flip: Flip | None) -> None:
        self.flip = flip
        self.sent: list[tuple[str, Frames]] = []

    def carry(self, name: str, send: Send, start: int) -> Send:
        """What comes out of it; the routing id in front is no part of a message."""
        flip = self.flip
        self.sent.append((name, send.frames[start:]))
        if flip is None or flip.message != len(self.sent) - 1:
            return send
        frames = list(send.frames)
        wrong = bytearray(frames[start + flip.frame])
        wrong[flip.bit // 8] ^= 1 << flip.bit % 8
        frames[start + flip.frame] = bytes(wrong)
        return Send(frames, send.socket)


class Flipped:
    """A core whose messages go over a line."""

    def __init__(self, name: str, seat: Seat, line: Line) -> None:
        self._name, self._core, self._line = name, seat.core, line
        self._starts = {socket.name: int(socket.kind == "router") for socket in seat.sockets}

    def handle(self, event: Event, now: float) -> list[Command]:
        """As the core does."""
        done = self._core.handle(event, now)
        carry, starts = self._line.carry, self._starts
        return [carry(self._name, one, starts[one.socket]) if isinstance(one, Send) else one for one in done]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


class Scene:
    """A world whose messages go over one line. ``workers``: those that are at home at the end."""

    def __init__(self, options: Options, line: Line) -> None:
        self.options, self.line = options, line
        self.world = World(0, checks=False)
        self.world.link(Link(delay=(0.001, 0.001)))
        self.workers = ["w1", "w2"]

    def add(self, *names: str) -> None:
        """Seat somebody."""
        for name in names:
            seat = self._seat(name)
            self.world.add(name, Seat(Flipped(name, seat, self.line), seat.sockets))

    def _seat(self, name: str) -> Seat:
        makers: dict[str, Callable[[], Seat]] = {
            "broker": partial(SYSTEM.broker, self.options, (HERE,)),
            "primary": partial(primary, self.options, (HERE,)),
            "fallback": partial(backup, self.options, (FALLBACK,)),
            "w1": partial(SYSTEM.worker, self.options, HERE, 1, SLOTS),
            "w2": partial(SYSTEM.worker, self.options, HERE, 2, SLOTS),
            "c1": partial(SYSTEM.client, self.options, HERE, 9),
        }
        return makers[name]()

    def order(self, name: str, order: object) -> None:
        """Where it is there."""
        if name in self.world.names:
            self.world.order(name, order)

    # ---- what must hold ---------------------------------------------------------------------------------------------

    def trouble(self) -> str:
        """What is not as it should be; empty where all is well."""
        world = self.world
        for name in (*self.workers, "c1"):
            if name not in world.names:
                return f"{name} has left: {world.exits[name].reason}"
        serving = [name for name in BROKERS if name in world.names and world.core(name).serving]
        if len(serving) != 1:
            return f"{serving or 'nobody'} serves"
        return self._at(serving[0]) or next(filter(None, map(self._at_peer, (*self.workers, "c1"))), "")

    def _at(self, broker: str) -> str:
        world = self.world
        view = world.picture(broker)
        slots = {row.key: row.slots for row in view.workers}
        if slots != {b"worker-%s" % name[1:].encode(): SLOTS for name in self.workers}:
            return f"the workers are {slots}"
        for row in view.workers:
            terms, borne = dict(row.terms), row.lost_at - row.heard
            if row.state != "ready" or row.free != row.slots:
                return f"{row.key!r} is {row.state}, {row.free} of {row.slots} free"
            if abs(borne - OPTIONS.silence * OPTIONS.heartbeat) > 1e-9 or terms["services"] != "ping, data":
                return f"{row.key!r} may be silent for {borne} s, and offers {terms['services']}"
            if terms["config_version"] != dict(view.terms)["config_version"]:
                return f"{row.key!r} runs {terms['config_version']}"
        if view.backlog or view.in_flight or not view.ledger.balanced:
            return f"{view.backlog} wait, {view.in_flight} are out, the books: {view.ledger}"
        dispatchers = [world.core(name).service.dispatcher for name in BROKERS if name in world.names]
        copies = [
            {member.key: (member.services, member.slots) for member in dispatcher.members.values()} | dispatcher.tasks
            for dispatcher in dispatchers
        ]
        return "" if all(copy == copies[0] for copy in copies) else "the copy is not what it is a copy of"

    def _at_peer(self, name: str) -> str:
        world, link = self.world, self.world.core(name).link
        if not link.linked or link.interval != OPTIONS.heartbeat:
            return f"{name} is {link.state}, at {link.endpoint}, PINGs every {link.interval} s"
        run = world.picture(name).run if name == "c1" else None
        return "the run has not ended" if run is not None and run.state != "ended" else ""


def _tasks(scene: Scene) -> None:
    scene.order("w2", Slow(0.5))
    scene.order("c1", BulkSpec("data", TASKS, size=3, timeout=9.0))


def joins_and_works(scene: Scene) -> None:
    """Two workers and a client join, tasks are done, some of them slowly, everybody says PING; one worker leaves."""
    scene.add("broker", "w1", "w2", "c1")
    scene.world.run_for(0.5)
    _tasks(scene)
    scene.world.run_for(3.0)
    scene.order("w2", Leave())
    scene.workers = ["w1"]
    scene.world.run_for(2.0)


def renegotiates(scene: Scene) -> None:
    """The configuration gets another version while everybody is at work."""
    scene.add("broker", "w1", "w2", "c1")
    scene.world.run_for(0.5)
    _tasks(scene)
    scene.order("broker", Publish(2))
    scene.world.run_for(5.0)


def restarts(scene: Scene) -> None:
    """The broker is another one; its peers are told to negotiate, and ask again."""
    scene.add("broker", "w1", "w2", "c1")
    scene.world.run_for(0.5)
    _tasks(scene)
    scene.world.run_for(0.01)
    scene.world.crash("broker")
    scene.world.run_for(0.5)
    scene.add("broker")
    scene.world.run_for(3.0)


def is_copied(scene: Scene) -> None:
    """A pair: the primary serves, and the fallback follows."""
    scene.add("primary", "fallback", "w1", "w2", "c1")
    scene.world.run_for(2.0)
    _tasks(scene)
    scene.world.run_for(2.0)


def is_taken_over(scene: Scene) -> None:
    """The primary is gone; everybody finds the fallback."""
    scene.add("primary", "fallback", "w1", "w2", "c1")
    scene.world.run_for(5.0)
    scene.world.crash("primary")
    scene.world.run_for(1.0)
    _tasks(scene)
    scene.world.run_for(12.0)


SCENES: dict[str, tuple[Options, Callable[[Scene], None]]] = {
    "joins and works": (OPTIONS, joins_and_works),
    "renegotiates": (OPTIONS, renegotiates),
    "restarts": (OPTIONS, restarts),
    "is copied": (PAIR, is_copied),
    "is taken over": (PAIR, is_taken_over),
}


def play(name: str, flip: Flip | None) -> Scene:
    """A scene to its end."""
    options, act = SCENES[name]
    scene = Scene(options, Line(flip))
    act(scene)
    return scene


def flips(name: str, step: int = 1, first: int = 0) -> Iterator[Flip]:
    """The bits of a scene's messages, every ``step``-th of each frame, none of those that are said for the nth time."""
    sent, seen = play(name, None).line.sent, dict[tuple[str, bytes], int]()
    for number, (who, frames) in enumerate(sent):
        kind = (who, frames[0])
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= SEEN:
            for frame, content in enumerate(frames):
                yield from (Flip(number, frame, bit) for bit in range(first % step, 8 * len(content), step))


def healed(name: str, flip: Flip) -> tuple[float, str]:
    """In how many seconds after the scene all is well, NEVER and why where it is not; then new tasks are answered."""
    scene = play(name, flip)
    world, began = scene.world, scene.world.now
    while (wrong := scene.trouble()) and world.now < began + LEAST:
        world.run_for(0.5)
    took = world.now - began
    if wrong:
        return NEVER, wrong
    world.order("c1", BulkSpec("ping", 2 * SLOTS, in_flight=2 * SLOTS))
    world.run_for(2.0)
    if not world.picture("c1").run.passed:
        return NEVER, f"a new run ends {world.picture('c1').run.ledger}"
    for who in world.names:
        world.core(who).check()
    return took, ""


def main() -> int:
    """Every single bit of every scene; 0 where all comes right."""
    wrong = 0
    for scene in SCENES:
        times = []
        for flip in flips(scene):
            took, why = healed(scene, flip)
            times.append(took)
            if why:
                wrong += 1
                sys.stdout.write(f"{scene}, {flip}: {why}\n")
        sys.stdout.write(f"{scene}: {len(times)} bits, well again after {max(times):g} s at most\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
