"""A journal as a lab: what was there at any moment of a recording. It takes no orders.

The rules of this file:

- The picture depends only on the position, whichever way it was reached.
- The journal is played once when it is opened: for its events, for samples four times a second, and to compare what the
  cores answer with what was recorded. A core that can not take a record ends the replay there, and it is said.
- A trace that is attached holds the messages of the last ``window`` records before the position, or more.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from engine.core import Exit, Level, Note
from engine.errors import Refused
from engine.feed import Feed
from engine.journal.codec import Unreadable
from engine.labs.health import Health
from engine.labs.lab import Lab, Mode
from engine.labs.replay import Replay, Step
from engine.tracing.links import Arrow
from engine.tracing.ring import Ring

EVERY = 0.25  # recorded seconds between two samples; more where there would be more than SAMPLES
SAMPLES = 20_000
TOLD = 100_000  # events that are kept, the first of the recording


class Sample(NamedTuple):
    """What stood at one moment, for rates and charts."""

    record: int  # the position then
    at: float
    seen: Any  # as the content says


class Timeline(Lab):
    """A recording and a position in it. ``now`` and all times: monotonic seconds of the recording."""

    mode: ClassVar[Mode] = "replay"
    readonly = True
    window: ClassVar[int]  # records

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.system, self.options = replay.system, replay.options
        self.started = replay.begin
        self.feed = Feed()
        self.broken = ""  # why the recording can not be played any further than ``last``
        self.last = len(replay)  # the last position
        self._at = self.started
        self._traces: list[Ring[Any]] = []
        self._facts: list[tuple[int, Note, str, float]] = []  # record, what was said, by whom, wall clock
        self._moves: list[int] = []  # positions just after a message arrived, or a document got another name
        self._samples: list[Sample] = []

    # ---- where it stands --------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """Records that have been played."""
        return self.replay.position

    @property
    def began(self) -> float:
        """Wall clock of its first record."""
        return self._wall(self.started)

    @property
    def now(self) -> float:
        """The time that is shown, at or after the last record that was played."""
        return self._at

    @property
    def end(self) -> float:
        """The time of the last record that can be played."""
        return self._time(self.last)

    def seek(self, position: int) -> None:
        """Go to a position, 0 to ``last``."""
        before, position = self.position, max(0, min(position, self.last))
        goes_on = 0 <= position - before <= self.window
        if not goes_on:
            for trace in self._traces:
                trace.clear()
        self._go(position, before if goes_on else max(0, position - self.window))
        self._at = self._time(position)
        self.show()

    def seek_time(self, at: float) -> None:
        """Go to a moment: everything that was recorded until then is played."""
        at = max(self.started, min(at, self.end))
        self.seek(bisect_right(self.replay.records, at, 0, self.last, key=lambda record: float(record[1])))
        self._at = at

    def step_message(self, forwards: bool = True) -> bool:
        """Go on, or back, until just after the next message, or new name of a document; False at either end."""
        here = self.position
        place = bisect_right(self._moves, here) if forwards else bisect_left(self._moves, here) - 1
        found = 0 <= place < len(self._moves)
        self.seek(self._moves[place] if found else self.last if forwards else 0)
        return found

    def samples(self, seconds: float) -> Sequence[Sample]:
        """What stood in so many seconds before the position, oldest first."""
        until = self._until(self._samples)
        since = bisect_left(self._samples, self.now - seconds, 0, until, key=lambda sample: sample.at)
        return self._samples[since:until]

    def show(self) -> None:
        """Fill a new feed with the pictures of the position."""
        self.feed = Feed()
        for _, note, source, at in self._facts[: self._until(self._facts)]:
            self.feed.fact(note, source, at)

    # ---- what a lab is asked ----------------------------------------------------------------------------------------

    def health(self) -> Health:
        """A recording has no threads."""
        return Health((f"the recording can not be played any further: {self.broken}",) if self.broken else (), 0.0)

    def detach(self, trace: Any) -> None:
        """Detach a trace."""
        if trace in self._traces:
            self._traces.remove(trace)

    def unable(self) -> Refused:
        """Why an order that a content knows is not for this lab."""
        return Refused("a recording takes no orders: it shows what was")

    @abstractmethod
    def why(self, arrow: Arrow | None) -> str:
        """Why the receiver of this message was chosen. Raises Refused where it is none that chooses anybody."""

    @abstractmethod
    def why_last(self) -> str:
        """The same of the last choice before the position. Raises Refused where there was none lately."""

    # ---- what differs -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _go(self, position: int, since: int) -> None:
        """Play to a position; traces are shown the records from ``since`` on."""

    @abstractmethod
    def _sample(self) -> Any:
        """What a sample of now holds."""

    def _played(self) -> None:
        """One more record was played for the first time."""

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _play_all(self) -> None:
        every = max(EVERY, (self.replay.end - self.started) / SAMPLES)
        due = self.started
        try:
            while self.replay.step(self._note):
                self._played()
                if self.replay.now >= due:
                    self._samples.append(Sample(self.replay.position, self.replay.now, self._sample()))
                    due = self.replay.now + every
        except Exception as error:  # recorded with other rules, or made up: what came before it stands
            words = str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"
            self.last, self.broken = self.replay.position, words

    def _note(self, step: Step) -> None:
        """Keep the events of one record."""
        for command in step.commands:
            if type(command) is Note:
                self._told(step, command)
            elif type(command) is Exit and (command.failed or not self._is_told(step)):
                level: Level = "bad" if command.failed else "info"
                self._told(step, Note(level, f"{step.name} left: {command.reason}"))

    def _is_told(self, step: Step) -> bool:
        """Whether a broker of the recording tells that this one leaves."""
        return False

    def _told(self, step: Step, note: Note) -> None:
        if len(self._facts) < TOLD:
            self._facts.append((step.record, note, step.node, self._wall(step.at)))

    def _until(self, found: Sequence[tuple[Any, ...]]) -> int:
        """How many of these, each with its record first, were there at the position."""
        return bisect_left(found, self.position, key=lambda one: one[0])

    def _time(self, position: int) -> float:
        """The time at a position."""
        return max(self.started, float(self.replay.records[position - 1][1])) if position else self.started

    def _wall(self, at: float) -> float:
        return self.replay.about.started + at - self.replay.about.monotonic
