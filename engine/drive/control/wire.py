"""Messages of the control socket: one frame, one msgpack map, of this version.

A request is ``{"v": 1, "id": N, "ask": WORD, …}``, and every answer to it ``{"v": 1, "id": N, "say": WORD, …}``; what
else is in them depends on the word. A request of another version is answered in words that every version has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgpack

from engine.parts.unpacking import UNREADABLE, unpack

VERSION = 1
LIMITS = {
    "max_array_len": 1024,
    "max_map_len": 256,
    "max_str_len": 64 * 1024,
    "max_bin_len": 4 * 1024 * 1024,
    "max_ext_len": 0,
}
MANY = 2500  # arrays and maps in one message
MAX_ID = 2**63 - 1
UNREADABLE_FRAME = "unreadable"


class Message(NamedTuple):
    """``word``: what is asked or said; ``fields``: the rest of the map."""

    id: int
    word: str
    fields: dict[str, Any]


def pack(kind: str, message: Message) -> bytes:
    """``kind``: ``ask`` or ``say``."""
    packed: bytes = msgpack.packb({"v": VERSION, "id": message.id, kind: message.word, **message.fields})
    return packed


def read(kind: str, frame: bytes) -> Message | str:
    """A message, or why it is not one of this version."""
    try:
        value = unpack(frame, MANY, **LIMITS)
    except (*UNREADABLE, msgpack.ExtraData):
        return UNREADABLE_FRAME
    if type(value) is not dict or not all(type(key) is str for key in value):
        return UNREADABLE_FRAME
    version, number, word = value.pop("v", None), value.pop("id", None), value.pop(kind, None)
    if type(version) is not int:
        return UNREADABLE_FRAME
    if version != VERSION:
        return f"version {version} is not spoken here, only {VERSION}: use one version of roundhouse on both sides"
    if type(number) is not int or not 0 <= number <= MAX_ID or type(word) is not str:
        return UNREADABLE_FRAME
    return Message(number, word, value)
