"""What ``roundhouse order`` asks of disk queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from console.commands import Command, Word
from console.text import clean
from engine.errors import Refused

ACKNOWLEDGE = Word("acknowledge", "ALERT", "say that somebody knows of an alert, until it clears", False)
QUEUE_WORDS = (
    ACKNOWLEDGE,
    Word("workers", "STAGE N", "so many drivers for a stage", False),
    Word("pause", "STAGE", "its drivers finish their documents and leave", False),
    Word("resume", "STAGE", "its drivers start again", False),
    Word("kill", "DRIVER", "kill a driver; another one takes its place", False),
    Word("retry", "QUEUE DOCUMENT", "two fresh attempts for a document that failed twice", False),
    Word("feed", "FILE …", "feed files into the first queue", False),
)


class Order(NamedTuple):
    """``asks``: the question before it, empty where there is none; ``shown``: whether its effect is to be seen.

    ``give`` may return what came of it, in words. ``tells``: how far its effect has come, in a few words.
    ``ends``: whether that process ends where the last of its workers leaves.
    """

    give: Callable[[Any], object]
    said: str
    asks: str = ""
    shown: Callable[[Any], bool] = lambda lab: True
    tells: Callable[[Any], str] | None = None
    ends: bool = False

    def words(self, lab: Any, came: object) -> str:
        """What is told once its effect has shown."""
        if self.tells is not None:
            return f"{self.said}: {self.tells(lab)}"
        return clean(came, 1000) if isinstance(came, str) and came else self.said


def queue_order(command: Command, lab: Any) -> Order:
    """What a typed order means to a pipeline. Raises Refused where what it names is not there."""
    text = str(command.argument)
    first, _, rest = text.partition(" ")
    match command.name:
        case "workers":
            return _workers(lab, first, rest)
        case "pause":
            _stage(lab, text)
            asks = f"Let the drivers of {clean(text)} finish their documents and leave?"
            paused = lambda lab: _stage(lab, text).state == "paused"  # noqa: E731 - one line as the others
            return Order(lambda lab: lab.pause_stage(text), f"{text} is paused", asks, paused)
        case "resume":
            _stage(lab, text)
            runs = lambda lab: _stage(lab, text).state != "paused"  # noqa: E731
            return Order(lambda lab: lab.resume_stage(text), f"{text} runs", shown=runs)
        case "kill":
            return _kill(lab, text)
        case "acknowledge":
            return acknowledged(text)
        case "retry":
            if not rest:
                raise Refused("retry needs QUEUE DOCUMENT")
            return Order(lambda lab: lab.retry(first, rest), f"{rest} is tried again")
        case _:
            files = text.split()
            return Order(lambda lab: lab.feed_files(files), f"{len(files):,} files were given to it: its events tell")


def acknowledged(alert: str) -> Order:
    """An alert of that process; it refuses one that does not fire."""
    return Order(lambda lab: lab.acknowledge(alert), f"{clean(alert)} is acknowledged until it clears")


def _stage(lab: Any, name: str) -> Any:
    stages = {stage.name: stage for stage in lab.view().stages}
    if name not in stages:
        raise Refused(f"no stage {clean(name)!r} there; there are {', '.join(map(clean, stages)) or 'none'}")
    return stages[name]


def _workers(lab: Any, stage: str, text: str) -> Order:
    before = _stage(lab, stage).wanted
    if not text.isdecimal():
        raise Refused(f"workers needs STAGE N, got {clean(text)!r} for N")
    wanted = int(text)
    asks = f"Let {before - wanted} drivers of {clean(stage)} finish and leave?" if wanted < before else ""
    shown = lambda lab: _stage(lab, stage).wanted == wanted  # noqa: E731 - one line as the others
    return Order(lambda lab: lab.set_workers(stage, wanted), f"{stage} has {wanted} drivers", asks, shown)


def _kill(lab: Any, number: str) -> Order:
    drivers = [driver.number for driver in lab.view().drivers]
    if number not in drivers:
        raise Refused(f"no driver {clean(number)!r} there; there are {', '.join(drivers) or 'none'}")
    gone = lambda lab: all(driver.number != number for driver in lab.view().drivers)  # noqa: E731
    asks = f"Kill driver {number}? Its document counts as failed."
    return Order(lambda lab: lab.kill_driver(number), f"driver {number} is killed", asks, gone)
