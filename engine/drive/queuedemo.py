"""A demonstration pipeline: three stages, and a feeder with some documents that fail."""

from __future__ import annotations

from collections.abc import Callable

from engine.drive.feeding import feed_text
from engine.protocols.diskqueue.operations import Done
from engine.protocols.diskqueue.pipeline import Stage

STAGES = (Stage("values", 1, "sleep 0.15"), Stage("parse", 3, "fail marked 0.4"), Stage("output", 2, "upper"))
EVERY = 0.25  # seconds between two documents
DOCUMENTS = 10_000  # after which nothing more is fed
FAILS_ONCE, FAILS_TWICE = 5, 9  # of every twenty documents, these


class DemoFeeder:
    """Feeds numbered documents into ``queue-start`` under ``root``; its owner calls ``step`` or ``feed``."""

    def __init__(self, root: str, name: str = "doc", told: Callable[[Done], None] = lambda answer: None) -> None:
        """``name`` begins the id of every document; ``told`` is each renaming that feeds one."""
        self._root, self._told = root, told
        self._name = name
        self._next = 1
        self._due = 0.0
        self.fed = 0  # documents

    def step(self, now: float) -> str:
        """Feed what is due at monotonic ``now``, one document at most; the reason why that failed, or nothing."""
        if now < self._due or self._next > DOCUMENTS:
            return ""
        self._due = max(self._due + EVERY, now)
        return self.feed()

    def feed(self) -> str:
        """Feed the next document now; the reason why that failed, or nothing."""
        number, self._next = self._next, self._next + 1
        first = {FAILS_ONCE: "fail once", FAILS_TWICE: "fail twice"}.get(number % 20, "a document")
        reason = feed_text(self._root, f"{self._name}-{number:04}.txt", f"{first}\nnumber {number}\n", self._told)
        self.fed += not reason
        return reason
