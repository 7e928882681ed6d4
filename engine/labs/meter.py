"""The rate of the last seconds, failures of the last minute and the age of the oldest task, out of ledgers.

Pure: whoever looks gives the time. The age takes tasks to be given out in the order in which they came; so it needs
nothing of the cores, and is the same for every system. It is as coarse as the looks are.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from engine.parts.view import LedgerView

WINDOW = 60.0  # seconds that the share of failures looks back
NOW = 5.0  # seconds that the rate looks back
KEPT = 4000  # looks that are remembered: an hour at one a second. A task that is older is shown as that old


class Recent(NamedTuple):
    """``seconds``: over how long failures are counted; ``done``: tasks a second over the last ``done_seconds``."""

    seconds: float
    done: float | None  # succeeded; None before the second look
    failed_share: float | None  # of those that ended; None where none did
    oldest: float | None  # seconds that the oldest task has waited; 0 where none waits
    done_seconds: float = 0.0


class Look(NamedTuple):
    """Totals at a time, in monotonic seconds."""

    at: float
    sent: int
    succeeded: int
    failed: int


class Meter:
    """For one thread."""

    def __init__(self) -> None:
        self._looks: deque[Look] = deque(maxlen=KEPT)

    def look(self, at: float, ledger: LedgerView) -> Recent:
        """Note a ledger; what it and those before say. Totals that fell are those of a new process: a new beginning."""
        failed = sum(n for _, n in ledger.failed)
        if self._looks and (ledger.sent < self._looks[-1].sent or ledger.succeeded < self._looks[-1].succeeded):
            self._looks.clear()
        self._looks.append(Look(at, ledger.sent, ledger.succeeded, failed))
        first = next(look for look in self._looks if look.at >= at - WINDOW)
        seconds = at - first.at
        ended = ledger.succeeded - first.succeeded, failed - first.failed
        share = ended[1] / sum(ended) if sum(ended) > 0 else None
        before = self._looks[-2] if len(self._looks) > 1 else first
        near = next((look for look in self._looks if at - NOW <= look.at < at), before)
        lately = at - near.at
        done = (ledger.succeeded - near.succeeded) / lately if lately > 0 else None
        oldest = round(self._oldest(at, ledger), 3)
        return Recent(round(seconds, 3), _round(done), _round(share), oldest, round(lately, 3))

    def _oldest(self, at: float, ledger: LedgerView) -> float:
        """All but the newest ``queued`` tasks have left; the oldest of these came when one more than that was sent."""
        if ledger.queued <= 0:
            return 0.0
        gone = ledger.sent - ledger.queued
        came = at
        for look in reversed(self._looks):
            if look.sent <= gone:
                break
            came = look.at
        return at - came


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
