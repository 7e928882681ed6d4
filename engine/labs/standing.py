"""A trace that goes on though nobody looks, for whoever attaches later."""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import Any

from engine.errors import Refused
from engine.tracing.filter import BadFilter, Filter, parse
from engine.tracing.links import Entry
from engine.tracing.ring import Ring

ON, OFF = "on", "off"


def wanted(text: str) -> Filter | None:
    """What is to be kept: all of it where the text is ``on``. Raises Refused for what is no filter."""
    try:
        return None if text == ON else parse(text)
    except BadFilter as bad:
        raise Refused(f"trace needs on, off or a filter: {bad}") from None


class Standing:
    """``trace``: of the newest messages; ``where``: which of them are kept. They are numbered without a gap."""

    def __init__(self, trace: Ring[Any], where: Filter | None, most: int) -> None:
        self.trace, self.total = trace, 0
        self._where, self._seen = where, 0
        self._kept: deque[Entry] = deque(maxlen=most)

    def told(self, after: int, most: int) -> list[Entry]:
        """The oldest entries behind a number, so many messages at most."""
        fresh = [entry for entry in self.trace.entries(self._where) if entry.number > self._seen]
        for number, parts in groupby(fresh, lambda entry: entry.number):
            self._seen = number
            self.total += 1
            self._kept.extend(part._replace(number=self.total) for part in parts)
        behind = [entry for entry in self._kept if entry.number > after]
        return [entry for entry in behind if entry.number < behind[0].number + most]
