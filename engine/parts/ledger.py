"""sent = succeeded + failed by kind + in flight + queued + dropped, always.

The left side and the ends are counted as they happen; what is in flight and queued is *measured* by the core that
owns the structures, so the balance can really fail.
"""

from __future__ import annotations

from typing import NamedTuple


class LedgerView(NamedTuple):
    """sent = succeeded + failed + in flight + queued + dropped, counted in tasks."""

    sent: int
    succeeded: int
    failed: tuple[tuple[str, int], ...]
    in_flight: int
    queued: int
    dropped: int

    @property
    def balanced(self) -> bool:
        """Whether the two sides agree; the right-hand side is counted from the structures themselves."""
        return self.sent == (
            self.succeeded + sum(n for _, n in self.failed) + self.in_flight + self.queued + self.dropped
        )


class Ledger:
    """Counts of tasks. The owner increments ``sent``, ``succeeded``, ``dropped`` and calls ``fail(kind)``."""

    __slots__ = ("dropped", "failed", "sent", "succeeded")

    def __init__(self) -> None:
        self.sent = self.succeeded = self.dropped = 0
        self.failed: dict[str, int] = {}

    def fail(self, kind: str, n: int = 1) -> None:
        """Count n tasks that ended in failure of one kind: ``timeout``, ``undeliverable``, …"""
        self.failed[kind] = self.failed.get(kind, 0) + n

    def view(self, in_flight: int, queued: int) -> LedgerView:
        """The ledger with the measured sizes, as it is shown and written to run files."""
        failed = tuple(sorted(self.failed.items()))
        return LedgerView(self.sent, self.succeeded, failed, in_flight, queued, self.dropped)
