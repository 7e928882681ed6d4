"""The counts of a control socket: requests and what came of them, viewers, and malformed requests.

It is written by the control's thread; any thread may read it.
"""

from __future__ import annotations

import time
from typing import Any

VIEWING = 5.0  # seconds for which one that has looked counts as a viewer
REMEMBERED = 1000  # of those that looked

FRAMES, MESSAGE, OTHER_VERSION, FIELDS = "frames", "message", "version", "fields"
"""Why a request is malformed: not one frame; no map with a number and a word; another version; fields of its word."""


class Counts:
    """``totals``: requests, orders among them, those that were refused or failed, and answers that were not taken."""

    def __init__(self) -> None:
        self.totals = {"requests": 0, "orders": 0, "refused": 0, "failed": 0, "unsent": 0}
        self.malformed = {FRAMES: 0, MESSAGE: 0, OTHER_VERSION: 0, FIELDS: 0}
        self._looked: dict[object, float] = {}  # viewer → when it looked last, the latest at the end

    def looks(self, who: object) -> None:
        """Note a look of a viewer."""
        self._looked.pop(who, None)
        self._looked[who] = time.monotonic()
        if len(self._looked) > REMEMBERED:
            del self._looked[next(iter(self._looked))]

    @property
    def viewers(self) -> int:
        """How many have looked within ``VIEWING`` seconds."""
        since = time.monotonic() - VIEWING
        return sum(at > since for at in self._looked.copy().values())

    def flat(self) -> dict[str, int]:
        """The totals, and how many were malformed."""
        return {**self.totals, "unreadable": sum(self.malformed.values())}

    def told(self) -> dict[str, Any]:
        """All of it, as a status has it."""
        return {"viewers": self.viewers, **self.totals, "malformed": dict(self.malformed)}
