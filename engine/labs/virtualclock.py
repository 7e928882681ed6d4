"""The sandbox's virtual clock: paused, moved by one event, or running at a speed.

The rules of this file:

- Nothing blocks: ``advance`` and the steps return when their virtual time has passed.
- A core's own mistake stops the clock for good, visibly, just as it ends a node's thread.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Protocol

from engine.core import Note
from engine.labs.health import Health
from engine.labs.lab import Lab, Mode

BEGAN = 1_780_000_000.0  # wall clock at virtual time 0 where nobody names another: a seed repeats wall times too
MOST = 100_000  # things that may happen in one ``advance``, so that a screen is never kept waiting for long
QUIET = 60.0  # virtual seconds after which a step gives up waiting for something to happen


class Happened(NamedTuple):
    """One event that one core took, and what it answered."""

    at: float  # virtual seconds
    node: str
    name: str
    event: Any
    commands: list[Any]


class World(Protocol):
    """What is simulated."""

    acting: str

    @property
    def now(self) -> float: ...
    def step(self, until: float) -> bool: ...
    def after(self, seconds: float, act: Callable[..., object], *args: Any) -> None: ...


class VirtualClock(Lab):
    """A lab in virtual time, of a ``world``. ``began``: wall clock at virtual time 0."""

    mode: ClassVar[Mode] = "sandbox"
    world: Any  # a World; its users know its type
    began: float

    def __init__(self) -> None:
        self.started = 0.0  # on the sandbox's own clock, ``now``
        self.speed = 1.0  # virtual seconds in a real one; 0: the world stands
        self._dead: tuple[str, ...] = ()
        self._lag = 0.0
        self._happened: list[Happened] | None = None  # by the step that is being made

    @property
    def now(self) -> float:
        """Virtual seconds since the world began."""
        now: float = self.world.now
        return now

    def health(self) -> Health:
        """The core that stopped the world, if one did; ``loop_lag``: virtual seconds that the last advance left out."""
        return Health(self._dead, self._lag)

    def advance(self, real_seconds: float) -> None:
        """Let ``speed`` × so many seconds pass, or as much of it as ``MOST`` things take."""
        until = self.now + real_seconds * self.speed
        for _ in range(MOST):
            if not self._act(until):
                break
        self._lag = max(0.0, until - self.now)
        self._look()

    @abstractmethod
    def step(self) -> tuple[Happened, ...]:
        """Step to the next event; empty if there is none for ``QUIET`` seconds."""

    @abstractmethod
    def step_message(self) -> tuple[Happened, ...]:
        """Step until a message has arrived, or a document has another name."""

    @abstractmethod
    def settle(self) -> None:
        """Let time pass at its usual speed until everybody is at work."""

    @abstractmethod
    def sight(self) -> Any:
        """The observation of this moment, for promises."""

    def _step(self, wanted: Callable[[Happened], bool]) -> tuple[Happened, ...]:
        """Go on until something wanted has happened; what has, empty where nothing does for ``QUIET`` seconds."""
        happened = self._happened = []
        until = self.now + QUIET
        while not any(map(wanted, happened)) and self._act(until):
            pass
        self._happened = None
        self._look()
        return tuple(happened)

    def _act(self, until: float) -> bool:
        if self._dead:
            return False
        try:
            going: bool = self.world.step(until)
        except Exception as error:  # a core's own mistake, or an invariant that it broke: nothing more may happen
            text = f"{self.world.acting}: {type(error).__name__}: {error}"
            self._dead = (text,)
            self._say(Note("bad", f"the world stands still: {text}"))
            return False
        return going

    def _look(self) -> None:
        """Draw what a screen looks at."""

    def _say(self, note: Note, source: str = "sandbox") -> None:
        self.feed.fact(note, source, self.began + self.now)
