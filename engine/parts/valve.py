"""A broker's limits of dispatch: tasks a second, for all and for single clients, as token buckets.

The rules of this file:

- Nothing is limited until an operator says so; a rate of 0 is a pause.
- A bucket holds the tasks of ``BURST``, one at least. A broker that found it empty is woken when it holds those of
  ``LOT``, so a high rate costs twenty events a second and not one per task.
- ``due``: when a refused task may be asked for again. The broker calls ``ask_anew`` before it gives out tasks.
"""

from __future__ import annotations

from collections import deque

from engine.core import NEVER, Command, Note
from engine.parts.explain import show
from engine.parts.inflight import Task

BURST = 0.1  # seconds
LOT = 0.05  # seconds
MOST = 64  # clients that have a limit
WHOLE = 1 - 1e-9  # of a task: rates are no exact numbers
ALL = b""  # in place of a client


class Bucket:
    """``rate``: tasks a second."""

    __slots__ = ("at", "rate", "tokens")

    def __init__(self, rate: float, now: float) -> None:
        self.rate, self.at = rate, now
        self.tokens = 1.0 if rate else 0.0

    def has(self, now: float) -> bool:
        """Whether one task more may go."""
        self.tokens = min(max(1.0, self.rate * BURST), self.tokens + (now - self.at) * self.rate)
        self.at = now
        return bool(self.rate) and self.tokens >= WHOLE

    def due(self) -> float:
        """When there are enough again, after it had none."""
        return self.at + (max(1.0, self.rate * LOT) - self.tokens) / self.rate if self.rate else NEVER


class Valve:
    """``open``: nothing is limited; ``paused``: nothing goes at all."""

    __slots__ = ("_limits", "due", "open", "paused")

    def __init__(self) -> None:
        self._limits: dict[bytes, Bucket] = {}
        self.open, self.paused, self.due = True, False, NEVER

    def limit(self, client: bytes, rate: float | None, now: float, out: list[Command]) -> None:
        """So many tasks a second from now on, of this client or of ALL; None ends a limit. The caller gives out."""
        whose = f" of client {show(client)}" if client else ""
        if rate is None:
            self._limits.pop(client, None)
            out.append(Note("info", f"tasks{whose} are given out without a limit", client))
        elif client not in self._limits and client and len(self._limits) >= MOST:
            out.append(
                Note("warn", f"{MOST} limits are set already: none is set for client {show(client)}", client, True)
            )
        else:
            self._limits[client] = Bucket(rate, now)
            words = f"up to {rate:g} tasks{whose} a second are given out" if rate else f"no tasks{whose} are given out"
            out.append(Note("warn", words, client))
        self.open = not self._limits
        self.paused = (bucket := self._limits.get(ALL)) is not None and not bucket.rate
        self.due = NEVER

    def ask_anew(self) -> None:
        """Forget the refusals until now."""
        self.due = NEVER

    def flows(self, now: float) -> bool:
        """Whether any task may go."""
        return self._has(ALL, now)

    def lets(self, client: bytes, now: float) -> bool:
        """Whether a task of this client may go, where one of anybody may; then it counts."""
        if not self._has(client, now):
            return False
        for key in (client, ALL):
            if (bucket := self._limits.get(key)) is not None:
                bucket.tokens -= 1
        return True

    def bring(self, waiting: deque[Task], now: float) -> bool:
        """Whether one of these tasks may go: the oldest that may stands first then, and counts."""
        if not self.flows(now):
            return False
        stopped: set[bytes] = set()
        for place, task in enumerate(waiting):
            client = task.key[0]
            if client in stopped:
                continue
            if self.lets(client, now):
                del waiting[place]
                waiting.appendleft(task)
                return True
            stopped.add(client)
        return False

    def view(self) -> tuple[tuple[bytes, float], ...]:
        """The limits."""
        return tuple((client, bucket.rate) for client, bucket in self._limits.items())

    def _has(self, client: bytes, now: float) -> bool:
        bucket = self._limits.get(client)
        if bucket is None or bucket.has(now):
            return True
        self.due = min(self.due, bucket.due())
        return False


def set_limit(valve: Valve | None, client: bytes, rate: float | None, now: float, out: list[Command]) -> Valve | None:
    """See ``Valve.limit``. The valve of a broker that has none while nothing is limited, so that this costs nothing."""
    valve = Valve() if valve is None else valve
    valve.limit(client, rate, now, out)
    return None if valve.open else valve


def terms(limits: tuple[tuple[bytes, float], ...]) -> tuple[tuple[str, str], ...]:
    """The limits in a broker's own words."""
    return tuple(
        (f"dispatch of {show(client)}" if client else "dispatch", f"{rate:g} tasks/s at most" if rate else "paused")
        for client, rate in limits
    )
