"""The cores of disk queues, made again from what stands in a journal."""

from __future__ import annotations

from typing import Any

from engine.core import Seat
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.diskqueue.watchdog import Watchdog


def driver(options: Options, config: list[Any], epoch: float, pid: int = 0) -> Seat:
    """A driver; ``config``: the fields of a ``DriverConfig``. Raises TypeError for what are none."""
    core: Any = Driver(DriverConfig(*config), epoch)  # its events are not a socket's, but those of a disk
    return Seat(core, ())


def watchdog(options: Options, stages: list[list[Any]], first: int, fail_fast: bool, root: str = "") -> Seat:
    """A watchdog; ``stages``: the fields of each ``Stage``. Raises TypeError for what are none."""
    core: Any = Watchdog(tuple(Stage(*stage) for stage in stages), options, first, fail_fast)
    return Seat(core, ())
