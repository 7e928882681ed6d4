"""A stage as its watchdog keeps it: its state, how many drivers it is to have, and what went wrong.

Each change of its state goes through a row of ``machine.STAGE``.
"""

from __future__ import annotations

from typing import cast

from engine.parts.machine import Walk
from engine.protocols.diskqueue.machine import STAGE, If, On, Runs
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import StageState


class StageRecord:
    """One stage."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.walk = Walk(STAGE)
        self.paused = False  # an operator wants that, whatever else holds
        self.stopped = ""  # the reason
        self.not_before = 0.0  # monotonic seconds: no driver is started before
        self.early = 0  # drivers killed in a row before they had started
        self.vain = 0  # drivers in a row that ended by themselves and had done nothing
        self.restarts = 0
        self.drivers: set[str] = set()
        self._state: str = Runs.RUNNING
        self._pause = 0.0  # seconds, the newest restart back-off

    @property
    def state(self) -> StageState:
        """Stopped before paused, done before both."""
        return cast(StageState, self._state)

    @property
    def done(self) -> bool:
        """Whether the newest look found nothing left and nothing to come."""
        return self._state == Runs.DONE

    def check(self) -> None:
        """Assert the invariants."""
        assert not self.stopped or self._state in (Runs.STOPPED, Runs.DONE)
        assert self.stopped or self._state != Runs.STOPPED
        assert not self.paused or self._state != Runs.RUNNING
        assert self.paused or self._state != Runs.PAUSED

    def look(self, done: bool) -> bool:
        """A look found it done or not; whether it is done since then."""
        if done == self.done:
            return False
        if done:
            self._went(On.DONE)
        else:
            self._went(On.MORE, If.STOPPED if self.stopped else If.PAUSED if self.paused else "")
        return done

    def stop(self, reason: str, event: str) -> None:
        """Start no more drivers (``On.VAIN``, ``On.BROKEN``)."""
        self.stopped = reason
        self._went(event)

    def pause(self) -> None:
        """An operator wants no drivers for a while."""
        self.paused = True
        self._went(On.PAUSE)

    def resume(self) -> None:
        """An operator wants it to go on."""
        self.paused = False
        self._forget()
        self._went(On.RESUME)

    def want(self, workers: int) -> None:
        """An operator wants so many drivers."""
        self.wanted = workers
        self._went(On.WORKERS, If.PAUSED if self.paused and self._state == Runs.STOPPED else "")
        self._forget()

    def put_off(self, now: float, options: Options) -> None:
        """Let the next driver wait, twice as long each time."""
        self._pause = min(max(options.restart_first, self._pause * 2), options.restart_most)
        self.not_before = now + self._pause

    def worked(self) -> None:
        """A driver that died had done something: the next one waits for nothing."""
        self._pause = 0.0

    def _forget(self) -> None:
        """What went wrong before counts no more."""
        self.stopped, self.early, self.vain, self._pause, self.not_before = "", 0, 0, 0.0, 0.0

    def _went(self, event: str, guard: str = "") -> None:
        self._state = self.walk.step(self._state, event, guard)
