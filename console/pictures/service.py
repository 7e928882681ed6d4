"""Who of a pair of brokers serves, and since when: it stays on the main screen after a failover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console import units
from console.pictures.eventlog import Gap, Line
from engine.labs.brokers import FIRST, SECOND
from engine.parts.view import BrokerView

KEPT = 6  # changes that are shown


class Service:
    """Follows the brokers of one lab. Times are those of the newest event: a sandbox has a time of its own."""

    def __init__(self) -> None:
        self._serving = ""  # who did last
        self._gone = ""  # when the primary was gone; "" while it is there
        self._since = ""
        self._seen = False  # whether the primary was
        self._failed_over = False
        self.told: tuple[str, ...] = ()  # the last changes, each with its time, oldest first

    def update(self, brokers: Mapping[str, BrokerView], events: Sequence[Line]) -> str:
        """The history in words; "" as long as the primary has served all the time, or there is no pair."""
        now = next((units.time_of_day(line.at) for line in reversed(events) if not isinstance(line, Gap)), "")
        self._watch(brokers, now)
        since = f" since {self._since}" if self._since else ""
        gone = f"primary gone {self._gone}" if self._gone else ""
        if self._serving == SECOND:
            return f"{gone} · fallback serves{since}" if gone else f"fallback serves{since}"
        if gone:
            return f"{gone} · nobody serves yet"
        return f"primary serves again{since}" if self._failed_over else ""

    def _watch(self, brokers: Mapping[str, BrokerView], now: str) -> None:
        if FIRST in brokers:
            self._seen, self._gone = True, ""
        elif self._seen and SECOND in brokers and not self._gone:
            self._gone = now
            self._tell(now, "primary gone")
        serving = next((name for name, view in brokers.items() if view.serving), "")
        if serving and serving != self._serving:
            if self._serving:
                self._tell(now, "fallback took over" if serving == SECOND else "primary serves again")
            self._since = now if self._serving else ""  # who served when we came has served for longer
            self._failed_over |= serving == SECOND
            self._serving = serving

    def _tell(self, now: str, what: str) -> None:
        self.told = (*self.told, f"{now} {what}".strip())[-KEPT:]
