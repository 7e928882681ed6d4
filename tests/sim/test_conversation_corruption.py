"""Each bit of each message of a conversation is flipped, one at a time; afterwards everything is as it was ordered.

A flipped bit often makes another message that can be read. What it does then must not last: the keep-alives say what
was sent, and a conversation in which something else arrived begins anew.

The suite flips each bit of one message of each kind, of long bodies each seventh. Each bit of every message, for
minutes: ``python -m tests.sim.test_conversation_corruption``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine.core import Command, Core, Event, Frames, Seat, Send
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.orders import Drain, Leave, Slow
from engine.parts.view import BrokerView, ClientView
from engine.protocols.conversation import SYSTEM, header
from engine.protocols.conversation.frontend import StopWorkers, Submit
from engine.protocols.conversation.header import STOP_NOW
from engine.protocols.conversation.options import Options
from engine.sim.world import World
from tests.helpers.conversation import array, frames_in_words

TCP = "tcp://127.0.0.1:6716"
OPTIONS = Options(stream="none", tries=1000)
SLOTS = 2
BEGUN = 0.5  # seconds until everybody has joined
TALK = 3.5  # seconds in which everything is said that a flip may hit
HEAD = 8 * 12  # bits of a header
HEALED = OPTIONS.expiry + 3 * OPTIONS.heartbeat + 1.0  # seconds; some things are told by silence alone

Place = tuple[str, int]
"""A seat, and which of its messages."""


class Line:
    """A core whose messages can go wrong on their way: one bit of one of them, or whole messages that are lost.

    ``said``: what it has sent, without routing ids.
    """

    def __init__(self, name: str, core: Core, flips: tuple[Place, int] | None, lost: tuple[Place, ...]) -> None:
        self.name, self.core = name, core
        self.said: list[Frames] = []
        self._flips, self._lost = flips, lost

    def handle(self, event: Event, now: float) -> list[Command]:
        return [come for command in self.core.handle(event, now) for come in self._carry(command)]

    def _carry(self, command: Command) -> list[Command]:
        if not isinstance(command, Send):
            return [command]
        frames = list(command.frames)
        own = frames[1:] if self.name == "broker" else frames
        place = self.name, len(self.said)
        self.said.append(own)
        if place in self._lost:
            return []
        if self._flips is not None and self._flips[0] == place:
            bit = self._flips[1]
            at = len(frames) - len(own)
            while bit >= 8 * len(frames[at]):
                bit, at = bit - 8 * len(frames[at]), at + 1
            wrong = bytearray(frames[at])
            wrong[bit // 8] ^= 1 << bit % 8
            frames[at] = bytes(wrong)
        return [Send(frames, command.socket)]

    def wake_at(self) -> float:
        return self.core.wake_at()

    def check(self) -> None:
        self.core.check()

    def snapshot(self, now: float) -> Any:
        return self.core.snapshot(now)


class Talk:
    """A broker, two workers and a client, one of whose messages goes wrong."""

    def __init__(self, flips: tuple[Place, int] | None = None, lost: tuple[Place, ...] = ()) -> None:
        self.world = World(1)
        self.lines: dict[str, Line] = {}
        for name, seat in (
            ("broker", SYSTEM.broker(OPTIONS, (TCP,))),
            ("w1", SYSTEM.worker(OPTIONS, TCP, 1, SLOTS)),
            ("w2", SYSTEM.worker(OPTIONS, TCP, 2, SLOTS)),
            ("client", SYSTEM.client(OPTIONS, TCP, 1)),
        ):
            line = self.lines[name] = Line(name, seat.core, flips, lost)
            self.world.add(name, Seat(line, seat.sockets))

    @property
    def broker(self) -> BrokerView:
        """The broker's picture of now."""
        view: BrokerView = self.lines["broker"].snapshot(self.world.now)
        return view

    @property
    def run(self) -> BulkView | None:
        """The client's run."""
        view: ClientView = self.lines["client"].snapshot(self.world.now)
        return view.run

    def within(self, holds: Callable[[], bool]) -> bool:
        """Whether it holds in time."""
        end = self.world.now + HEALED
        while not holds() and self.world.now < end:
            self.world.run_for(0.1)
        return holds()

    def heals(self, slots: dict[str, int]) -> None:
        """In time these workers are there with all their slots free, and a new task is answered."""

        def well() -> bool:
            view = self.broker
            return {row.name: row.free for row in view.workers} == slots == {
                row.name: row.slots for row in view.workers
            } and view.backlog == view.in_flight == 0

        assert self.within(well), self.broker
        self.world.run_for(2 * OPTIONS.heartbeat)  # what is believed now is compared once more
        assert well(), self.broker
        assert self.within(lambda: self.run is None or self.run.state == "ended"), self.run
        if slots:
            self.world.order("client", BulkSpec("ping", 4, in_flight=4))
            assert self.within(lambda: (run := self.run) is not None and run.spec.n == 4 and run.passed), self.run
        assert self.broker.ledger.balanced


def jobs(talk: Talk) -> None:
    """Tasks of a job, and data for a client."""
    talk.world.order("broker", Submit(array("echo", 2)))
    talk.world.order("client", BulkSpec("data", 2, size=10))


def broken(talk: Talk) -> None:
    """An UPDATE is lost, so the broker ends the conversation."""
    jobs(talk)


def one_less(talk: Talk) -> None:
    """One processor is stopped: the newest worker's."""
    talk.world.order("broker", StopWorkers(1))


def drained(talk: Talk) -> None:
    """One worker is sent home."""
    talk.world.order("broker", Drain(b"worker-2"))


def killed(talk: Talk) -> None:
    """All are stopped at once."""
    talk.world.order("broker", StopWorkers(STOP_NOW))


def leaving(talk: Talk) -> None:
    """A worker is told to leave while it works, so it refuses what it is given meanwhile."""
    talk.world.order("w1", Slow(0.5))
    talk.world.order("w2", Slow(0.5))
    talk.world.order("client", BulkSpec("ping", 5, in_flight=3))
    talk.world.after(0.2, talk.world.order, "w2", Leave())


BOTH = {"worker-1": SLOTS, "worker-2": SLOTS}
SCENES: dict[str, tuple[Callable[[Talk], None], dict[str, int], tuple[Place, ...]]] = {
    "jobs": (jobs, BOTH, ()),
    "broken": (broken, BOTH, (("w1", 2),)),
    "one less": (one_less, BOTH | {"worker-2": 1}, ()),
    "drained": (drained, {"worker-1": SLOTS}, ()),
    "killed": (killed, {}, ()),
    "leaving": (leaving, {"worker-1": SLOTS}, ()),
}
FROM_THE_START = ("jobs",)  # the other scenes begin like this one, and their flips hit what is said afterwards


def told(scene: str, flips: tuple[Place, int] | None = None) -> tuple[Talk, dict[str, int]]:
    """A scene played to the end of its talk, and how many messages there were of each before it began."""
    act, _, lost = SCENES[scene]
    talk = Talk(flips, lost)
    talk.world.run_for(BEGUN)
    before = {name: len(line.said) for name, line in talk.lines.items()}
    act(talk)
    talk.world.run_for(TALK - BEGUN)
    return talk, before


def places(scene: str) -> Iterator[tuple[Place, Frames]]:
    """Every message of a scene that is to be hit."""
    talk, before = told(scene)
    for name, line in talk.lines.items():
        first = 0 if scene in FROM_THE_START else before[name]
        yield from (((name, at), frames) for at, frames in enumerate(line.said[first:], first))


def kinds(scene: str) -> list[tuple[Place, int]]:
    """The first message of each kind, and how many bits it has. Those with bodies are the same in every scene."""
    found: dict[tuple[str, ...], tuple[Place, int]] = {}
    for place, frames in places(scene):
        words = frames_in_words(frames).partition(" ")[0].partition("(")[0]
        size = 8 * sum(map(len, frames))
        known = words in header.NAMES.values() or words == "keep-alive"
        role = place[0].rstrip("12")
        if size <= HEAD or scene in FROM_THE_START:
            found.setdefault((role, words if known else "client", str(size > HEAD)), (place, size))
    return list(found.values())


def bits_of(size: int) -> list[int]:
    """Those that are flipped in the suite."""
    return [bit for bit in range(size) if bit < HEAD or not bit % 7]


def heals(scene: str, place: Place, bit: int) -> None:
    """One flipped bit."""
    talk, _ = told(scene, (place, bit))
    try:
        talk.heals(SCENES[scene][1])
    except AssertionError as wrong:
        said = [frame.hex() for frame in talk.lines[place[0]].said[place[1]]]
        raise AssertionError(f"{scene}: bit {bit} of {place}, {said}") from wrong


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_without_a_fault_comes_to_its_end(scene: str) -> None:
    talk, _ = told(scene)
    talk.heals(SCENES[scene][1])


@pytest.mark.parametrize(
    ("scene", "place", "size"),
    [pytest.param(scene, *kind, id=f"{scene} {kind[0]}") for scene in SCENES for kind in kinds(scene) if kind[1]],
)
def test_a_flipped_bit_changes_nothing_for_ever(scene: str, place: Place, size: int) -> None:
    for bit in bits_of(size):
        heals(scene, place, bit)


def test_every_kind_of_message_is_hit() -> None:
    said = {
        frames_in_words(told(scene)[0].lines[place[0]].said[place[1]]).partition(" ")[0].partition("(")[0]
        for scene in SCENES
        for place, _ in kinds(scene)
        if place[0] != "client"
    }
    assert {"opening", "keep-alive", *header.NAMES.values()} <= said


if __name__ == "__main__":
    for scene in SCENES:
        for place, frames in places(scene):
            for bit in range(8 * sum(map(len, frames))):
                heals(scene, place, bit)
            sys.stdout.write(f"{scene} {place}: {' '.join(frame.hex() for frame in frames)}\n")
