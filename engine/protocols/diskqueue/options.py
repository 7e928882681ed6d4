"""The settings of a pipeline: the configuration file's table ``[diskqueue]`` is checked against these fields."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How a pipeline's watchdog goes about it."""

    max_files: int = 500  # in a queue between two stages, above which its drivers wait; the last has no limit
    max_bytes: int = 0  # likewise; 0 for no limit
    keep_input: bool = True  # of a document that failed twice
    poll: float = 0.5  # seconds between two looks at the drivers and queues (the original: 10)
    restart_first: float = 0.5  # seconds until a driver that died without having done anything is replaced; doubles
    restart_most: float = 30.0  # seconds
    start_failures: int = 3  # drivers of a stage killed in a row before they had started, after which it is stopped
    worker_folders: int = 100  # folders of ended drivers that are kept to be looked at
