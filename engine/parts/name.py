"""The routing id of a peer of ours, which it gives up where another program has it (``engine.parts.taken``)."""

from __future__ import annotations

from engine.core import Command, Note, Reopen


class Name:
    """``now``: what it is called. ``FIRST``, then ``FIRST-2``, ``FIRST-3`` …"""

    __slots__ = ("_count", "_first", "now")

    def __init__(self, first: str) -> None:
        self.now = self._first = first
        self._count = 1

    def reopen(self, taken: bool) -> list[Command]:
        """Open the socket anew; under another name, and say so, if this one is ``taken``."""
        if not taken:
            return [Reopen()]
        before = self.now
        self._count += 1
        self.now = f"{self._first}-{self._count}"
        words = f"another program has our name {before}: we are {self.now} from now on"
        return [Note("bad", words), Reopen(routing_id=self.now.encode())]
