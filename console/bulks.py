"""Bulk runs as they are typed: ``N [IN_FLIGHT] [RATE]``, or with the command line's own options. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from console.text import clean
from engine.parts.bulk import BulkSpec

MOST = 100_000_000  # tasks in one run
IN_FLIGHT = 1_000_000
RATE = 10_000_000.0  # tasks a second
SECONDS = 3600.0
BYTES = 32 * 1024 * 1024  # the system says how many of these it takes

OPTIONS = ("--in-flight", "--rate", "--timeout", "--bytes")


class RunDefaults(Protocol):
    """A bulk run for which nothing else was asked."""

    @property
    def count(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def data_count(self) -> int: ...
    @property
    def data_in_flight(self) -> int: ...
    @property
    def timeout(self) -> float: ...
    @property
    def bytes(self) -> int: ...


class Asked(NamedTuple):
    """What was typed of a run; None: as the configuration says."""

    n: int
    in_flight: int | None = None
    rate: float | None = None
    timeout: float | None = None
    bytes: int | None = None


def read(name: str, text: str) -> Asked:
    """Read what follows the word ``name``. Raises ValueError, with words for who typed it."""
    plain: list[str] = []
    given: dict[str, str] = {}
    words = iter(text.split())
    for word in words:
        option, equals, value = word.partition("=")
        if not option.startswith("--"):
            plain.append(word)
        elif option not in OPTIONS or (option == "--bytes" and name != "bulkdata"):
            fits = OPTIONS if name == "bulkdata" else OPTIONS[:-1]
            raise ValueError(f"{name} has no {clean(option)!r}; it takes {', '.join(fits)}")
        else:
            given[option] = value if equals else next(words, "")
    if len(plain) > 3:
        raise ValueError(f"{name} takes N [IN_FLIGHT] [RATE], got {clean(' '.join(plain))!r}")
    for option, value in zip(OPTIONS, plain[1:], strict=False):
        given.setdefault(option, value)
    return Asked(
        _whole(f"{name} needs a number", plain[0] if plain else "", MOST),
        _whole("--in-flight needs a number", given["--in-flight"], IN_FLIGHT) if "--in-flight" in given else None,
        _real("--rate", given["--rate"], RATE) if "--rate" in given else None,
        _real("--timeout", given["--timeout"], SECONDS) if "--timeout" in given else None,
        _whole("--bytes needs a number", given["--bytes"], BYTES) if "--bytes" in given else None,
    )


def spec(kind: Literal["ping", "data"], asked: Asked, run: RunDefaults, window: int) -> BulkSpec:
    """The run. Data streams are asked for all at once, as the original does, up to ``window`` in flight."""
    usual = run.in_flight if kind == "ping" else run.data_in_flight or min(asked.n, window)
    return BulkSpec(
        kind,
        asked.n,
        0 if kind == "ping" else asked.bytes or run.bytes,
        asked.in_flight or usual,
        asked.rate,
        asked.timeout or run.timeout,
    )


def _whole(what: str, text: str, most: int) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits[:12]) <= most):
        raise ValueError(f"{what} from 1 to {most:,}, {_got(text)}")
    return int(digits)


def _real(option: str, text: str, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.001 <= value <= most:
        raise ValueError(f"{option} needs a number from 0.001 to {most:,.0f}, {_got(text)}")
    return value


def _got(text: str) -> str:
    return f"got {clean(text)!r}" if text else "got nothing"
