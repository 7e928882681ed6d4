"""Reads msgpack from strangers, with a bound on how much memory and time few bytes can cost.

msgpack bounds the lengths of single arrays and maps, but not how many there are: a megabyte of empty lists takes forty
milliseconds to read, and the broker does nothing else meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgpack

UNREADABLE = (ValueError, TypeError, OverflowError, RecursionError, MemoryError)
"""What ``unpack`` raises for what can not be read."""


def counter(most: int, values: int | None = None) -> Callable[[Any], Any]:
    """A hook for msgpack that passes on so many arrays and maps, and raises ValueError at the next one.

    ``values``: what all of them together may hold, where the lengths of single ones do not bound it well enough.
    """
    left, room = most, values

    def counted(made: Any) -> Any:
        nonlocal left, room
        left -= 1
        if left < 0:
            raise ValueError("too many arrays and maps")
        if room is not None:
            room -= len(made)
            if room < 0:
                raise ValueError("too many values")
        return made

    return counted


def unpack(data: bytes, most: int, *, values: int | None = None, **limits: Any) -> Any:
    """The one value in ``data``, of ``most`` arrays and maps that hold so many ``values``, at most; ``limits`` as
    msgpack takes them.

    Raises ``UNREADABLE``; with something behind the value msgpack.ExtraData, which is one and holds the value.
    """
    counted = counter(most, values)
    if values is not None:
        limits = {"max_array_len": min(values, len(data)), **limits}  # its room is made before its items are read
    return msgpack.unpackb(data, list_hook=counted, object_hook=counted, **limits)
