"""Numbers with units, in few characters."""

from __future__ import annotations

import math
from datetime import datetime

from engine.parts.plain import several as several

_SUFFIXES = ("", "k", "M", "G", "T", "P")


def count(n: int) -> str:
    """1284 → ``1,284``."""
    return f"{n:,}"


def short(value: float) -> str:
    """Three digits and a suffix: 0, 0.4, 12, 999, ``1.28k``, ``12.8k``, ``128k``, ``1.28M``."""
    if value < 10 and value != int(value):
        return f"{value:.1f}"
    for suffix in _SUFFIXES:
        if value < 999.5:
            digits = 0 if suffix == "" or value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f}{suffix}"
        value /= 1000
    return f"{value:.0f}E"


def duration(us: float) -> str:
    """Microseconds as ``653µs``, ``1.8ms``, ``11ms``, ``2.4s``, ``75s``; at most five characters under 1000 s."""
    if us < 999.5:
        return f"{us:.0f}µs"
    for unit, scale in (("ms", 1e3), ("s", 1e6)):
        value = us / scale
        if value < 9.95:
            return f"{value:.1f}{unit}"
        if value < 999.5 or unit == "s":
            return f"{value:.0f}{unit}"
    raise AssertionError("the last unit takes everything")


def latency(us: float) -> str:
    """The same of a kept run's latency; where it is 0 no reply came back, so there is none."""
    return duration(us) if us else "·"


def age(seconds: float) -> str:
    """Seconds since something: ``0.8s``, ``12s``, ``4m``, ``3h``, ``9d``; at most four characters under 1000 days."""
    seconds = max(0.0, seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    for unit, size, limit in (("s", 1, 99.5), ("m", 60, 99.5), ("h", 3600, 47.5)):
        if seconds / size < limit:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds / 86400:.0f}d"


def clock(seconds: float) -> str:
    """A time that runs: ``0:45``, ``14:24``, ``1:02:03``."""
    minutes, second = divmod(int(max(0.0, seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def took(seconds: float) -> str:
    """How long something took: ``0.64s`` under ten seconds, else as a clock."""
    return f"{max(0.0, seconds):.2f}s" if seconds < 9.995 else clock(seconds)


def size(n: float) -> str:
    """Bytes in binary units: ``0 B``, ``1 KiB``, ``64 KiB``, ``1.5 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if n == int(n) or n >= 100 else f"{n:.1f} {unit}"
        n /= 1024
    raise AssertionError("the last unit takes everything")


def time_of_day(at: float) -> str:
    """Wall-clock seconds since the epoch as local ``22:59:20``; the title names the zone (``zone``)."""
    return datetime.fromtimestamp(at).strftime("%H:%M:%S")


def moment(seconds: float, zero: float | None, digits: int = 4) -> str:
    """A time as its seconds since second 0; where ``zero`` says when that was (seconds since the epoch), as a local
    time of the day: ``12.3456`` or ``22:59:20.3456``."""
    if zero is None:
        return f"{seconds:.{digits}f}"
    whole, part = divmod(round((zero + seconds) * 10**digits), 10**digits)
    return f"{time_of_day(whole)}.{part:0{digits}}"


def second_0(zero: float) -> str:
    """When second 0 was: ``0 s is 22:59:20 CEST``."""
    return f"0 s is {time_of_day(zero)} {zone(zero)}"


def zone(at: float) -> str:
    """The local zone at a moment: ``UTC``, ``CEST``, ``+0530``."""
    here = datetime.fromtimestamp(at).astimezone()
    return here.tzname() or here.strftime("%z")


def round_up(value: float) -> float:
    """The next value that makes a good end of an axis: 1, 2, 3, 4, 5, 6, 8, 10 times a power of ten; at least 10."""
    if value <= 10:
        return 10.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if value <= step * power * 1.0000001)
