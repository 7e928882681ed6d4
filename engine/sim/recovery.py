"""Somebody who settles on a simulated disk what a dead driver left."""

from __future__ import annotations

from collections.abc import Callable

from engine.core import Started
from engine.parts.machine import Walk
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import TROUBLE, Done, Operation, Steps
from engine.protocols.diskqueue.transitions import Settled, recover
from engine.sim.disk import SimDisk
from engine.sim.driver import EPOCH, describe


class SimRecovery:
    """``step`` does one operation. It may be dropped at any time."""

    def __init__(
        self,
        disk: SimDisk,
        config: DriverConfig,
        now: float = 0.0,
        epoch: float = EPOCH,
        told: Callable[[Started | Done, list[Operation]], None] = lambda event, commands: None,
        walk: Walk | None = None,
    ) -> None:
        """``told``: of every answer, and of what is asked next. ``walk``: counts what becomes of documents.

        Raises ValueError where the driver still lives.
        """
        if not disk.lock(config.src, config.dst, config.number):
            raise ValueError(f"driver {config.number} lives")
        self.disk = disk
        self.config = config
        self.said: list[str] = []
        self.settled: list[tuple[str, Settled]] | None = None
        self._steps: Steps[list[tuple[str, Settled]]] = recover(
            config.src, config.dst, config.number, config.keep_input, epoch + now, walk
        )
        self._told = told
        self._next: Operation = next(self._steps)
        told(Started(), [self._next])

    @property
    def busy(self) -> bool:
        """Whether something is left to do."""
        return self.settled is None

    def step(self) -> Done:
        """Do one operation; one that the disk refuses is tried again with the next step."""
        answer = self.disk.perform(self._next, self.config.number)
        self.said.append(f"{describe(self._next)}{f' = {answer.error}' if answer.error else ''}")
        asked: list[Operation] = []
        if answer.error in TROUBLE:
            asked = [self._next]
        else:
            try:
                self._next = self._steps.send(answer)
                asked = [self._next]
            except StopIteration as end:
                self.settled = end.value
                clean = all(outcome != "stuck" for _, outcome in end.value)
                self.disk.unlock(self.config.src, self.config.dst, self.config.number, clean)
        self._told(answer, asked)
        return answer

    def crash(self) -> None:
        """Stop here; the locks go."""
        self.disk.unlock(self.config.src, self.config.dst, self.config.number, clean=False)
