"""Orders to the watchdog of a pipeline, as a lab takes them; and the lab of one that is run without a screen."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.core import Note
from engine.drive import feeding
from engine.drive.pipeline import Pipeline
from engine.errors import Refused
from engine.feed import Feed
from engine.labs.content import QueueLab
from engine.labs.health import Health
from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.pipeline import MAX_WORKERS, PipelineView, StageRow
from engine.protocols.diskqueue.watchdog import KillDriver, PauseStage, ResumeStage, SetWorkers


class QueueOrders(QueueLab):
    """A pipeline whose watchdog is given orders."""

    _pipeline: Pipeline

    def set_workers(self, stage: str, workers: int) -> None:
        """Change how many drivers a stage has; also sets one going again that was stopped by an error."""
        self._change("changing how many drivers a stage has")
        before = self._stage(stage).wanted
        if not 1 <= workers <= MAX_WORKERS:
            raise Refused(f"{stage} has 1 to {MAX_WORKERS} drivers; pause it to have none")
        if workers < before or self.watches:
            self._operate("stopping a driver" if workers < before else "starting a driver")
        self._pipeline.order(SetWorkers(stage, workers))

    def pause_stage(self, stage: str) -> None:
        """Let its drivers finish their documents and leave."""
        self._operate("pausing a stage")
        self._stage(stage)
        self._pipeline.order(PauseStage(stage))

    def resume_stage(self, stage: str) -> None:
        """Start its drivers again."""
        if self.watches:
            self._operate("starting drivers")
        self._stage(stage)
        self._pipeline.order(ResumeStage(stage))

    def kill_driver(self, number: str) -> None:
        """Kill one driver; its document counts as failed, and another driver takes its place."""
        self._operate("killing a driver")
        if number not in [driver.number for driver in self.view().drivers]:
            raise Refused(f"driver {number} has ended already")
        self._pipeline.order(KillDriver(number))

    def retry(self, queue: str, id: str) -> None:
        """Give a document that failed twice two fresh attempts."""
        if self.watches:
            self._change("trying a document again")
        if reason := self._pipeline.retry(queue, id):
            raise Refused(f"{id} can not be tried again: {reason}")

    @abstractmethod
    def _living(self) -> None:
        """Refused where the pipeline has ended."""

    def _stage(self, name: str) -> StageRow:
        self._living()
        for stage in self.view().stages:
            if stage.name == name:
                return stage
        raise Refused(f"there is no stage {name}")

    def _operate(self, what: str) -> None:
        """Refuse what only the watchdog can do where another process has it."""
        self._change(what)
        if self.watches:
            raise Refused(
                f"{what} is refused: others have started these drivers, and this console only watches; roundhouse "
                f"pipeline stop --root {self.root} ends them"
            )


class Overseen(QueueOrders):
    """A pipeline that the main thread of this process runs; ``feed`` has what its watchdog says."""

    def __init__(self, pipeline: Pipeline, feed: Feed) -> None:
        self.system, self.options, self.root = SYSTEM, pipeline.options, pipeline.root
        self.feed, self.words = feed, {}
        self.started = time.monotonic()
        self._pipeline = pipeline

    def view(self) -> PipelineView:
        """The newest picture; costs nothing."""
        return self._pipeline.picture()

    def fed(self, at: float) -> int:
        """Documents are fed elsewhere."""
        return 0

    def health(self) -> Health:
        """The watchdog runs on the main thread; this lab has no thread of its own."""
        return Health((), 0.0)

    def attach(self, trace: Any) -> None:
        """Always refused: a viewer listens to the drivers itself."""
        raise self.unable()

    def detach(self, trace: Any) -> None:
        """Nothing is attached."""

    def feed_files(self, paths: Sequence[str]) -> None:
        """Feed files into the first queue. Refused where none could be."""
        self._change("feeding documents")
        self._living()
        said: list[Note] = []
        taken = fed(self._pipeline, paths, said.append)
        for note in said:
            self.feed.fact(note, "feeder", time.time())
        if not taken:
            raise Refused(said[-1].text if len(said) == 1 else "no file is fed: the events tell why")

    def _living(self) -> None:
        if self.view().state == "ended":
            raise Refused("the pipeline has ended")


def fed(pipeline: Pipeline, paths: Sequence[str], say: Callable[[Note], None]) -> int:
    """Feed files that an operator named, and say what came of it. How many could be."""
    try:
        done = feeding.feed(
            pipeline.root, paths, mode=pipeline.options.queue_mode, told=partial(pipeline.told, "feeder")
        )
    except Refused as error:
        say(Note("bad", f"no file is fed: {error}"))
        return 0
    for one in done:
        if one.reason:
            say(Note("warn", f"{one.path} is not fed: {one.reason}"))
    taken = sum(not one.reason for one in done)
    words = f"{taken:,} of {len(done):,} files fed" if len(done) > 1 else f"{done[0].path} is fed" if taken else ""
    if words:
        say(Note("good" if taken else "warn", words))
    return taken


def said(feed: Feed, note: Note) -> None:
    """Put what a watchdog says into a feed."""
    feed.fact(note, "watchdog", time.time())
