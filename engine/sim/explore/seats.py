"""The parts of a state: cores, seats and wires, each kept once however many states share it.

The rules of this file:

- One step changes one core. So a core's state is a ``Part`` of its own, found again by its fingerprint, and what a
  part does with an event is worked out once: the next time the result is looked up.
- A part is checked when it is new: its own invariants, and what its system asks for. What is wrong is kept with the
  step.
- ``number`` makes a part, a seat or a wire small: a state is a row of such numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from traceback import extract_tb
from typing import Any, Generic, NamedTuple, TypeVar

from engine.core import Command, Core, Event, Received, Unsent
from engine.sim.explore.fingerprint import Copier

Message = tuple[bytes, ...]
Asked = Callable[[Any], str]
Look = Callable[[Any, float], None]
T = TypeVar("T", bound=Hashable)


class Part:
    """One state of one core. ``blob``: its pickle, empty where it was let go; ``wake``: its next deadline, local.
    ``shape``: the same number for states that differ in times alone, and in none of their order.
    """

    __slots__ = ("blob", "number", "shape", "steps", "view", "wake")

    def __init__(self, number: int) -> None:
        self.number = self.shape = number
        self.blob = b""
        self.wake = 0.0
        self.view: Any = None  # its picture, once somebody has asked for it
        self.steps: dict[Any, Step] = {}


class Step(NamedTuple):
    """What came of one event: the state after it, what the core wants done, and what is wrong with that."""

    part: Part
    commands: tuple[Command, ...]
    wrong: str = ""


class Parts:
    """All states of all cores that were reached. ``asked(core)``: what a system finds wrong with a core."""

    def __init__(self, copier: Copier, asked: Asked = lambda core: "") -> None:
        self._copier, self.asked = copier, asked
        self._known: dict[bytes, Part] = {}
        self._all: list[Part] = []
        self._shapes: dict[bytes, int] = {}
        self.looks: list[Look] = []  # are shown each core after each step that is worked out
        self.worked = 0  # steps that had to be worked out
        self.kept = 0  # parts that hold their pickle

    def __len__(self) -> int:
        return len(self._all)

    @property
    def prints(self) -> set[bytes]:
        """The fingerprints of all states of cores."""
        return set(self._known)

    @property
    def shapes(self) -> set[bytes]:
        """Of all states of cores, what is left without the times but for their order."""
        return set(self._shapes)

    def part(self, core: Core) -> Part:
        """The state that a core is in."""
        print_ = self._copier.fingerprint(core)
        part = self._known.get(print_)
        if part is None:
            part = self._known[print_] = Part(len(self._all))
            part.shape = self._shapes.setdefault(self._copier.shape(core), len(self._shapes))
            self._all.append(part)
        if not part.blob:
            part.blob, part.wake = self._copier.freeze(core), core.wake_at()
            self.kept += 1
        return part

    def core(self, part: Part) -> Any:
        """A copy of the core in this state."""
        return self._copier.thaw(part.blob)

    def step(self, part: Part, event: Event, now: float) -> Step:
        """What the core does with an event at its own time ``now``."""
        key = (_key(event), now)
        found = part.steps.get(key)
        if found is None:
            found = part.steps[key] = self._work(part, event, now)
        return found

    def picture(self, part: Part, now: float) -> Any:
        """What the core shows, made once for all times."""
        if part.view is None:
            part.view = self.core(part).snapshot(now)
        return part.view

    def let_go(self, needed: set[int]) -> None:
        """Forget what was worked out, and the copies of parts that no state ahead holds."""
        self.kept = 0
        for part in self._all:
            part.steps.clear()
            if part.number not in needed:
                part.blob = b""
            self.kept += bool(part.blob)

    def handled(self, core: Any, event: Event, now: float) -> tuple[tuple[Command, ...], str]:
        """Let a core take an event; its commands, and what is wrong with it then."""
        try:
            commands = tuple(core.handle(_own(event), now))
            core.check()
            return commands, self.asked(core)
        except Exception as error:  # a core's own mistake: that is what is looked for
            return (), _words(error)

    def _work(self, part: Part, event: Event, now: float) -> Step:
        core = self._copier.thaw(part.blob)
        self.worked += 1
        commands, wrong = self.handled(core, event, now)
        for look in self.looks:
            look(core, now)
        return Step(part if wrong else self.part(core), commands, wrong)


def _words(error: Exception) -> str:
    """What is wrong, on one line; of what says nothing, where it is."""
    said = str(error).partition("\n")[0]
    if not said:
        place = extract_tb(error.__traceback__)[-1]
        said = f"{place.name}: {place.line}"
    return said if isinstance(error, AssertionError) else f"{type(error).__name__}: {said}"


def _own(event: Event) -> Event:
    """The event with lists of its own, which the core may take apart."""
    if type(event) is Received:
        return Received([list(frames) for frames in event.messages], event.socket)
    return event


def _key(event: Event) -> Hashable:
    """The event as something that can be looked up."""
    if type(event) is Received:
        return Received, event.socket, *map(tuple, event.messages)
    if type(event) is Unsent:
        return Unsent, tuple(event.frames), event.reason, event.socket
    return type(event), *event


class Seat(NamedTuple):
    """One process. ``part``: None for one that is gone."""

    part: Part | None
    bodies: tuple[tuple[Hashable, bool], ...] = ()  # task bodies that run: key, and whether it will succeed
    frozen: float = 0.0  # until then it does nothing; 0: it is not stopped
    offset: float = 0.0  # seconds that its clock is ahead

    @property
    def wake(self) -> float:
        """Its next deadline, in the world's time."""
        return float("inf") if self.part is None else self.part.wake - self.offset


class Wire(NamedTuple):
    """One connection of a peer's socket to a broker's.

    Until it stands, ``up`` is what waits for it. None at the end of a direction: that side closed it. A wire that is
    ``deaf`` was taken over: what goes up it is lost.
    """

    seat: int  # whose peer it is …
    socket: str
    endpoint: str
    key: bytes  # the routing id that it chose
    stands: bool = False
    far: int = -1  # … and who is at the other end, since it stands
    port: str = ""
    up: tuple[Message | None, ...] = ()
    down: tuple[Message | None, ...] = ()
    known: bool = False  # the broker was told of it
    deaf: bool = False


class Kept(Generic[T]):
    """Values, each under a number."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}
        self.values: list[T] = []

    def number(self, value: T) -> int:
        """The number of a value, known or new."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found
