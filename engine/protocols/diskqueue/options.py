"""The settings of a pipeline: the configuration file's table ``[diskqueue]`` is checked against these fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from engine.schema import Range

_COUNT = Annotated[int, Range(0, 10**15)]
_SECONDS = Annotated[float, Range(0.01, 3600, "seconds")]


@dataclass(frozen=True, slots=True)
class Options:
    """How a pipeline's watchdog goes about it."""

    max_files: _COUNT = 500  # in a queue between two stages, above which its drivers wait; the last has no limit
    max_bytes: _COUNT = 0  # likewise; 0 for no limit
    keep_input: bool = True  # of a document that failed twice
    poll: _SECONDS = 0.5  # between two looks at the drivers and queues (the original: 10)
    restart_first: _SECONDS = 0.5  # until a driver that died without having done anything is replaced; doubles
    restart_most: _SECONDS = 30.0
    start_failures: Annotated[int, Range(1, 1000)] = 5  # drivers of a stage killed in a row before they had started,
    # after which it is stopped
    queue_mode: Annotated[int, Range(0o700, 0o7777)] = 0o700  # of queues that are made: who may write in one may do
    # anything to its documents; 0o2770 for one that a group shares
    worker_folders: Annotated[int, Range(1, 100_000)] = 100  # folders of ended drivers that are kept to be looked at
