"""A pipeline that another process of this machine runs, as a lab: looked at in its folder, ordered over its socket.

Folders, logs and drivers are there for everybody to see, so only orders and what the watchdog says take the socket.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from engine.drive.control.found import Found
from engine.errors import Refused
from engine.labs.health import Health
from engine.labs.lab import Mode
from engine.labs.link import Link
from engine.labs.queues import LiveQueueLab
from engine.labs.shared import codec_of


class RemoteQueues(LiveQueueLab):
    """``found``: the process that runs it."""

    mode: ClassVar[Mode] = "remote"

    def __init__(self, found: Found, *, readonly: bool = False) -> None:
        super().__init__(None, found.root, readonly=readonly)
        self.watches = True
        self._of_viewer = readonly
        self._tells = found.role == "pipeline"  # a console tells itself what failed
        self._link = Link(found, codec_of(self.system), self.feed, self)

    def open(self) -> RemoteQueues:
        """Attach, and look at its folder. Raises Refused where nobody answers, or there is no pipeline."""
        self._link.open()
        try:
            super().open()
        except BaseException:
            self._link.close()
            raise
        return self

    def close(self) -> None:
        """Disconnect. The pipeline goes on."""
        self._link.close()
        super().close()

    def health(self) -> Health:
        """Of the threads here and there."""
        there = self._link.health
        return there._replace(dead=(*there.dead, *super().health().dead))

    def minutes(self) -> bytes:
        """As it was told when this lab was opened."""
        return self._link.minutes

    def told(self, about: Mapping[str, Any]) -> None:
        """See ``engine.labs.link.Side``."""
        self.readonly = self._of_viewer or about["Readonly"] is True

    def shown(self, pages: list[bytes], whole: bool) -> None:
        """Its pictures are made here."""

    # ---- orders -----------------------------------------------------------------------------------------------------

    def set_workers(self, stage: str, workers: int) -> None:
        """Have the watchdog there change how many drivers a stage has."""
        self._there("changing the drivers of a stage", "set_workers", stage, workers)

    def pause_stage(self, stage: str) -> None:
        """Have it pause a stage."""
        self._there("pausing a stage", "pause_stage", stage)

    def resume_stage(self, stage: str) -> None:
        """Have it start the drivers of a stage again."""
        self._there("starting drivers", "resume_stage", stage)

    def kill_driver(self, number: str) -> None:
        """Have it kill a driver."""
        self._there("killing a driver", "kill_driver", number)

    def retry(self, queue: str, id: str) -> None:
        """Have it give a document that failed twice two fresh attempts."""
        self._there("trying a document again", "retry", queue, id)

    def feed_files(self, paths: Sequence[str]) -> None:
        """Have it feed files of this machine into the first queue."""
        self._there("feeding documents", "feed_files", tuple(map(os.path.abspath, paths)))

    def acknowledge(self, alert: str) -> None:
        """Have an alert of the other side acknowledged there."""
        self._there("acknowledging an alert", "acknowledge", alert)

    def silence(self, alert: str, seconds: float) -> None:
        """Have it silenced there."""
        self._there("silencing an alert", "silence", alert, seconds)

    def _there(self, what: str, name: str, *args: Any) -> None:
        self._change(what)
        try:
            self._link.order(name, args)
        except Refused as refusal:
            raise Refused(f"{what} is refused: {refusal}") from None

    def _tell_failures(self) -> None:
        if self._tells:
            super()._tell_failures()
