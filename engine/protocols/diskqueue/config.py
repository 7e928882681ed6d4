"""What one driver is told, where its time went, and how both stand in files.

The rules of this file:

- The original's parameter names are kept (``disk_queue_src`` …), so that either watchdog can start either driver.
- A value that cannot be meant is refused with its name, never replaced by a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.errors import Refused
from engine.protocols.diskqueue import names


@dataclass(frozen=True, slots=True)
class DriverConfig:
    """What one driver is told. Folders and files are absolute paths."""

    src: str  # queue to take from; must exist
    dst: str  # queue to publish into; is created
    number: str  # of the driver: 1 to 9 digits, unique among the drivers of either queue
    work: str = "copy"  # a command template with {input} and {output}, module:function, or a built-in
    max_files: int = 10  # in dst, above which nothing is taken; 0 for no limit
    max_bytes: int = 0  # likewise
    timer_file: str = ""  # Work, Wait, Block, Overhead in ms and Docs; "" for none
    quit_file: str = ""  # ends the driver by being there; "" for none
    log_file: str = ""  # one line a document; "" for none
    keep_input: bool = True  # of a document that failed twice (ruling 3)
    start_stage: str = ""  # what the work is to begin with,
    end_stage: str = ""  # and end with: as the original's command is told
    format: str = ""  # of the documents
    dead: str = ""  # numbers, separated by spaces, of drivers that are dead by an operator's word


IDLE_FIRST = 0.010  # seconds: the first sleep of a driver that found nothing
IDLE_STEP = 0.100  # added with every idle pass
IDLE_MOST = 5.0
LISTING_LIFE = 1.0  # seconds for which one listing of the source may be worked through,
LISTING_WORTH = 10.0  # or this many times as long as it took, if that is longer
TROUBLE_FIRST = 0.5  # seconds until an operation that the disk refused is asked for again; doubles
TROUBLE_MOST = 5.0


class DriverTimes(NamedTuple):
    """Where a driver's life went, in seconds."""

    work: float
    wait: float
    block: float
    overhead: float
    docs: int

    def plus(self, *others: DriverTimes) -> DriverTimes:
        """All together."""
        return DriverTimes(*map(sum, zip(self, *others, strict=True)))

    def text(self) -> str:
        """The original's timer file: milliseconds, tab-separated."""
        return (
            f"Work\t{self.work * 1000:.0f}\nWait\t{self.wait * 1000:.0f}\nBlock\t{self.block * 1000:.0f}\n"
            f"Overhead\t{self.overhead * 1000:.0f}\nDocs\t{self.docs}\n"
        )


NO_TIMES = DriverTimes(0.0, 0.0, 0.0, 0.0, 0)


class Accounts:
    """Where a driver's life goes, as it goes by."""

    def __init__(self) -> None:
        self._spent = {"work": 0.0, "wait": 0.0, "block": 0.0, "overhead": 0.0}
        self._since: float | None = None  # up to when the time is accounted for

    def add(self, account: str, now: float) -> None:
        """Put the time since the last call on an account; ``now`` in monotonic seconds."""
        self._spent[account] += now - (now if self._since is None else self._since)
        self._since = now

    def times(self, docs: int) -> DriverTimes:
        """All of it, with the attempts that were made meanwhile."""
        return DriverTimes(**self._spent, docs=docs)


def read_times(text: str) -> DriverTimes | None:
    """A timer file's content, or None where it is torn or something else."""
    values: dict[str, float] = {}
    for raw in text.splitlines():
        name, _, value = raw.partition("\t")
        try:
            values[name] = float(value)
        except ValueError:
            return None
    try:
        work, wait, block, overhead = (values[name] / 1000 for name in ("Work", "Wait", "Block", "Overhead"))
        return DriverTimes(work, wait, block, overhead, int(values["Docs"]))
    except (KeyError, OverflowError, ValueError):
        return None


def driver_config(parameters: Mapping[str, str], work: str = "copy", log_file: str = "") -> DriverConfig:
    """A driver's configuration from the original's parameters; raises ``Refused``.

    What the original has no parameter for comes as arguments. ``start_stage``, ``end_stage`` and ``source_format`` say
    what the original does with a document; here that is ``work``, whose command is told of them.
    """
    driver = parameters.get("queue_driver", "disk")
    if driver != "disk":
        raise Refused(f"queue_driver: {driver!r} is not disk")
    for name in ("disk_queue_src", "disk_queue_dst"):
        if not parameters.get(name):
            raise Refused(f"{name}: missing")
    extension = parameters.get("disk_queue_worker_ext", "")
    if not extension.startswith(".") or not names.number(extension[1:]):
        raise Refused(f"disk_queue_worker_ext: {extension!r} is not a dot and 1 to 9 digits")
    return DriverConfig(
        parameters["disk_queue_src"],
        parameters["disk_queue_dst"],
        extension[1:],
        work,
        _limit(parameters, "disk_queue_max_dst_files", 10),
        _limit(parameters, "disk_queue_max_dst_bytes", 0),
        parameters.get("disk_queue_timer_file", ""),
        parameters.get("disk_queue_quit_file", ""),
        log_file,
        start_stage=parameters.get("start_stage", ""),
        end_stage=parameters.get("end_stage", ""),
        format=parameters.get("source_format", ""),
    )


def _limit(parameters: Mapping[str, str], name: str, default: int) -> int:
    text = parameters.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Refused(f"{name}: {text!r} is not a number from 0")
    return int(text)


def parameter_file(config: DriverConfig) -> str:
    """The same as a parameter file; ``work`` and ``log_file`` have no name there."""
    return "".join(
        f"{name}: {value}\n"
        for name, value in (
            ("queue_driver", "disk"),
            ("disk_queue_src", config.src),
            ("disk_queue_dst", config.dst),
            ("disk_queue_worker_ext", f".{config.number}"),
            ("disk_queue_max_dst_files", str(config.max_files)),
            ("disk_queue_max_dst_bytes", str(config.max_bytes)),
            ("disk_queue_timer_file", config.timer_file),
            ("disk_queue_quit_file", config.quit_file),
            ("source_format", config.format),
            ("start_stage", config.start_stage),
            ("end_stage", config.end_stage),
        )
        if value
    )
