"""A course of moves on real cores, step by step: nothing is copied, looked up or taken for the same.

The rules of this file:

- What a walk finds wrong is told only after it was found wrong here too.
- A course is a text: ``! MOVE`` is what happens next, the lines behind it are what the cores do then. After ``! AFTER``
  nothing more goes wrong, and what happens until all is settled stands behind ``: ``. Such a text is read again by
  ``played``, so a counterexample can be kept as a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from engine.core import Command, Core, Event, Note, Send, Start
from engine.journal.write import Journal, Say
from engine.parts.explain import Decoded, Role, to_broker
from engine.sim.explore.faults import apply, faults
from engine.sim.explore.liveness import Courses
from engine.sim.explore.model import START, Model, settled
from engine.sim.explore.moves import DOWN, UP, Move
from engine.sim.explore.scene import Scene
from engine.sim.explore.seats import Part, Parts, Step
from engine.sim.explore.turn import State

AFTER = "nothing more goes wrong"
WAYS = {0: "cut in half", 1: "first bit wrong", 2: "last bit wrong"}


class Took(NamedTuple):
    """One event that one core took, and what it answered."""

    at: float  # its own clock
    name: str
    event: Event
    commands: list[Command]


class Course(NamedTuple):
    """What came of a course: ``wrong`` in words, empty where nothing is; its text, without what came before it; what
    is wrong, the role of each core that is there and what it shows then.
    """

    wrong: str
    lines: tuple[str, ...]
    ends: tuple[tuple[Role, Any], ...] = ()


class Watcher:
    """Is told what happens. Any of it may be left out."""

    def seated(self, name: str, role: Role, args: list[Any], world: dict[str, Any], seat: Any) -> None:
        """A core is about to sit down."""

    def began(self) -> None:
        """Everybody has joined: the course begins."""

    def moved(self, name: str, at: float, move: Move, words: str) -> None:
        """Something is about to happen. ``name``: who does it, or whom it befalls, empty for the clock; ``at``: the
        world's time.
        """

    def took(self, took: Took) -> None:
        """A core took an event."""

    def left(self, name: str) -> None:
        """A core is gone, without a word."""


class Recorder(Watcher):
    """Keeps a journal, which ``replay`` opens. Raises OSError where it can not be written."""

    def __init__(self, path: Path, scene: Scene, say: Say) -> None:
        self._now = START
        self.journal = Journal(path, scene.system, settled(scene)[0], say, clock=lambda: self._now)

    def seated(self, name: str, role: Role, args: list[Any], world: dict[str, Any], seat: Any) -> None:
        self.journal.seated(node_of(name, role), name, role, args, world)

    def took(self, took: Took) -> None:
        self._now = took.at
        role: Role = "worker" if took.name.startswith("worker") else "client"
        self.journal.tap(node_of(took.name, role), took.name, took.at, took.event, took.commands)

    def left(self, name: str) -> None:
        self.journal.left(node_of(name, "worker" if name.startswith("worker") else "client"), name)


def node_of(name: str, role: Role) -> str:
    """Where a seat sits, as in a sandbox."""
    return "pool" if role == "worker" else name


class Live(Parts):
    """Parts that are the cores themselves."""

    def __init__(self) -> None:
        self.worked = self.kept = 0
        self._numbers = count()
        self._cores: dict[int, Core] = {}
        self.asked: Any = lambda core: ""

    def part(self, core: Core) -> Part:
        part = Part(next(self._numbers))
        self._cores[part.number], part.wake = core, core.wake_at()
        return part

    def core(self, part: Part) -> Any:
        return self._cores[part.number]

    def step(self, part: Part, event: Event, now: float) -> Step:
        core, part.view = self._cores[part.number], None
        commands, wrong = self.handled(core, event, now)
        part.wake = core.wake_at()
        return Step(part, commands, wrong)

    def picture(self, part: Part, now: float) -> Any:
        return self._cores[part.number].snapshot(now)


def repeat(scene: Scene, moves: Sequence[Move], watchers: Sequence[Watcher] = (), after: bool = True) -> Course:
    """Do these moves, and where nothing is wrong until then, what comes ``after`` them until all is settled."""
    return _Repeat(scene, watchers).repeat(moves, after)


def played(scene: Scene, lines: Sequence[str], watchers: Sequence[Watcher] = ()) -> Course:
    """Do the moves of a text. Raises LookupError for one that can not happen."""
    return _Repeat(scene, watchers).play(moves_of(lines))


def moves_of(lines: Sequence[str]) -> list[str]:
    """The moves of a text, in words."""
    return [line[2:].strip() for line in lines if line.startswith("! ")]


class _Repeat:
    def __init__(self, scene: Scene, watchers: Sequence[Watcher]) -> None:
        self._watchers, self._lines = watchers, list[str]()
        parts = Live()
        self.model = model = Model(scene, parts)
        parts.asked = model.asked
        for who, (name, role, args, world) in enumerate(model.made):
            for watcher in watchers:
                watcher.seated(name, role, args, world, model.seats[who])
        model.world.watch = self._watch
        model.world.gone = self._gone
        self.state = model.begin()
        self._lines.clear()
        for watcher in watchers:
            watcher.began()

    def repeat(self, moves: Sequence[Move], after: bool) -> Course:
        wrong = ""
        for move in moves:
            wrong = wrong or self._do(move)
        return self._course(wrong or (self._settle() if after else ""))

    def play(self, words: Sequence[str]) -> Course:
        wrong = ""
        for line in words:
            if line == AFTER:
                wrong = wrong or self._settle()
                continue
            known = {name: move for move, name in named(self.model, self.state).items()}
            if line not in known:
                raise LookupError(f"{line!r} can not happen; {', '.join(known)} can")
            wrong = wrong or self._do(known[line])
        return self._course(wrong)

    def _course(self, wrong: str) -> Course:
        return Course(wrong, tuple(self._lines), tuple(self._ends()) if wrong else ())

    def _ends(self) -> Iterator[tuple[Role, Any]]:
        """What each core shows. One that failed in the middle of an event may have nothing to show."""
        for who, place in enumerate(self.model.world.places):
            with suppress(Exception):
                if (view := self.model.picture(self.state, who)) is not None:
                    yield place.role, view

    def _do(self, move: Move) -> str:
        self._say("!", self.state, move, named(self.model, self.state)[move])
        self.state, wrong = apply(self.model, self.state, move)
        return wrong

    def _settle(self) -> str:
        """What is wrong with how it goes on where nothing more goes wrong."""
        numbers = count()
        self._lines.append(f"! {AFTER}")
        courses = Courses(
            self.model,
            lambda state: next(numbers).to_bytes(8, "big"),
            lambda state, move: self._say(":", state, move, in_words(self.model, state, move)),
        )
        return courses.wrong(self.state)

    def _say(self, mark: str, state: State, move: Move, words: str) -> None:
        self._lines.append(f"{mark} {words}")
        who = _whose(self.model, state, move)
        for watcher in self._watchers:
            watcher.moved("" if who < 0 else self.model.names[who], state.now, move, words)

    def _watch(self, now: float, who: int, event: Event, commands: Sequence[Command]) -> None:
        model = self.model
        name, role = model.names[who], model.world.places[who].role
        took = Took(now, name, event, list(commands))
        for watcher in self._watchers:
            watcher.took(took)
        self._lines += _said(model, name, role, commands)

    def _gone(self, who: int, again: bool) -> None:
        name, role, args, world = self.model.made[who]
        for watcher in self._watchers:
            watcher.left(name)
            if again:
                watcher.seated(name, role, args, world, self.model.seats[who])


def named(model: Model, state: State) -> dict[Move, str]:
    """Everything that can happen, each in words of its own."""
    found: dict[Move, str] = {}
    times: Counter[str] = Counter()
    for move in model.moves(state) + (faults(model, state) if state.left else []):
        words = in_words(model, state, move)
        times[words] += 1
        found[move] = words if times[words] == 1 else f"{words}, number {times[words]}"
    return found


def _whose(model: Model, state: State, move: Move) -> int:
    """The seat that does this, or that it befalls; of a message who sent it. -1 for the clock."""
    kind, at, how = move
    if kind == "tick":
        return -1
    if kind == "ask":
        return model.clients[at]
    if kind in ("take", "lose", "duplicate", "spoil"):
        wire = model.wire(state, at)
        return wire.seat if how % 2 == UP else wire.far
    return model.wire(state, at).seat if kind == "connect" else at


def _said(model: Model, name: str, role: Role, commands: Sequence[Command]) -> Iterator[str]:
    """What a core wants done, in words."""
    for command in commands:
        match command:
            case Send(frames, socket):
                for one in model.scene.system.explain.decode(role, "out", list(frames), socket):
                    yield f"{name} > {_other(model, role, one)}: {_words(one)}"
            case Note(_, text, _):
                yield f"{name}: {text}"
            case Start(key):
                yield f"{name} starts {key!r}"


def _other(model: Model, role: Role, one: Decoded) -> str:
    if one.peer is not None:
        return model.name_of(one.peer)
    return "broker" if to_broker(role, "out") else "peer"


def _words(one: Decoded) -> str:
    fields = " ".join(f"{name}={value}" for name, value in one.fields)
    return f"{one.command} {fields}".rstrip()


def in_words(model: Model, state: State, move: Move) -> str:
    """A move as it stands in a text."""
    kind, at, how = move
    match kind:
        case "take":
            return _way(model, state, at, how)
        case "connect":
            return f"{model.names[model.wire(state, at).seat]} connects"
        case "wake":
            return f"{model.names[at]} wakes"
        case "end":
            return f"a task of {model.names[at]} ends{f', of those that run number {how + 1}' if how else ''}"
        case "ask":
            return f"{model.names[model.clients[at]]} is asked"
        case "tick":
            return "the clock goes on"
        case "lose" | "duplicate":
            return f"{kind} {_way(model, state, at, how)}"
        case "spoil":
            way = f"frame {how // 2 // len(WAYS) + 1} {WAYS[how // 2 % len(WAYS)]}"
            return f"spoil {_way(model, state, at, how % 2)}, {way}"
        case "drain":
            return f"{model.names[at]} is told to drain {model.names[how]}"
        case _:
            return f"{kind} {model.names[at]}{f', {how} messages lost' if how else ''}"


def _way(model: Model, state: State, at: int, how: int) -> str:
    wire = model.wire(state, at)
    same = [
        other for other in range(at) if model.wire(state, other)[:3] == wire[:3] and model.wire(state, other).stands
    ]
    ends = (model.names[wire.seat], model.names[wire.far])
    source, target = ends if how == UP else ends[::-1]
    assert how in (UP, DOWN)
    return f"{source} > {target}{f' on its connection {len(same) + 1}' if same else ''}"
