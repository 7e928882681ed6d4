"""Watches a fault's promises, from before the injection until the last is kept or broken.

The rules of this file:

- Promises are fixed before the fault is injected.
- The watch looks every ``LOOK`` virtual seconds, whatever the screen does, so a seed gives the same times always.
- When nothing more happens, promises that are still open are broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine.labs.virtualclock import VirtualClock
from engine.parts.promise import Promise

LOOK = 0.05  # virtual seconds between two looks
EXACT = 1e-9  # by which sums of such seconds may be off


class Plan(NamedTuple):
    """A fault that is about to be injected."""

    text: str  # as it was asked for, amounts written out
    does: str  # what will be done, in words
    promises: tuple[Promise, ...]
    inject: Callable[[], object]


class Verdict(NamedTuple):
    """One promise and its verdict."""

    promise: Promise
    kept: bool | None = None  # None: open
    after: float | None = None  # virtual seconds from the injection until it was decided


class Watch:
    """``results``: in the order of the plan's promises."""

    def __init__(self, sandbox: VirtualClock, plan: Plan) -> None:
        self.plan = plan
        self.began: float | None = None  # virtual seconds; None before the injection
        self._sandbox = sandbox
        self._before = sandbox.sight()
        self._results = [Verdict(promise) for promise in plan.promises]

    @property
    def results(self) -> tuple[Verdict, ...]:
        """All promises with their verdicts so far."""
        if self._sandbox.health().dead:
            self._results = [
                one._replace(kept=False, after=self.elapsed) if one.kept is None else one for one in self._results
            ]
        return tuple(self._results)

    @property
    def elapsed(self) -> float:
        """Virtual seconds since the injection, 0 before it."""
        return self._sandbox.now - self.began if self.began is not None else 0.0

    @property
    def done(self) -> bool:
        """Whether every promise is decided."""
        return all(one.kept is not None for one in self.results)

    @property
    def held(self) -> bool:
        """Whether every promise was kept."""
        return all(one.kept for one in self.results)

    def begin(self) -> None:
        """Inject the fault and start to watch; a second call does nothing. Raises Refused if it can not be injected."""
        if self.began is not None:
            return
        self._before = self._sandbox.sight()
        self.plan.inject()
        self.began = self._sandbox.now
        self._sandbox.world.after(LOOK, self._look)

    def _look(self) -> None:
        now = self._sandbox.sight()
        elapsed = self.elapsed + EXACT
        for place, (promise, kept, _) in enumerate(self._results):
            if kept is not None or elapsed < promise.since:
                continue
            met = promise.check(self._before, now)
            if met != promise.always or elapsed >= promise.within:  # decided by what is seen, or by the time
                self._results[place] = Verdict(promise, met, elapsed - EXACT)
        if not self.done:
            self._sandbox.world.after(LOOK, self._look)
