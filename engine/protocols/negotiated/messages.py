"""``[command, header, body]``: how messages are read and made.

- A reader is total: any frames give a message or a reason, in our own fixed words.
- A header may be sealed: ``check`` is a checksum of everything else, and what does not agree with it is none of ours.
- A header is one map, msgpack or (on input) JSON. What is read of it is checked for its exact type and its bounds and
  comes out normalised; keys that nobody knows are ignored. A seed's misspelt key counts where the right one is absent.
- A routing id has at most 255 bytes, as ZeroMQ's own sockets can set; a raw peer may claim a longer one.
- An identifier is binary. JSON has no binary, so text stands for its UTF-8 bytes.
"""

from __future__ import annotations

import json
import re
from binascii import crc32, hexlify, unhexlify
from collections.abc import Callable, Mapping
from typing import Any

import msgpack

from engine.core import Frames
from engine.parts import unpacking
from engine.parts.inflight import TaskKey
from engine.parts.limits import MAX_FRAME, MAX_ID, MAX_ROUTING_ID
from engine.parts.unpacking import UNREADABLE
from engine.protocols.negotiated import names
from engine.protocols.negotiated.machine import PAIR

Header = dict[str, Any]
Message = tuple[bytes, Header, bytes]
"""Command, checked fields, body."""

Check = Callable[[Any], Any]
"""Gives the value as it is to be used, or None where it does not fit."""

Fields = tuple[tuple[str, bool, Check], ...]
"""Key, whether it must be there, check."""

MAX_BODY = MAX_FRAME - 1024  # bytes: between brokers it is one frame together with the task's names
MAX_HEADER = 1024 * 1024  # bytes: a READY that lists all that a worker can hold
MAX_JSON = 64 * 1024  # bytes of a header in JSON, which takes far longer to read; nobody of ours sends it
MAX_PARTS = 16  # arrays and maps in a header: itself, services and holding, and some that nobody knows
MAX_VERSION = 2**31 - 1
MAX_INTERVAL = 3600.0  # seconds
MAX_SERVICES = 32  # of one worker
MAX_SLOTS = 1000  # of one worker: it must be able to list what it holds
MAX_IDENTIFIER = 2 * MAX_ROUTING_ID + 1 + 2 * MAX_ID
MAX_TEXT = 1024  # characters of an error message

_SERVICE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ENDPOINT = re.compile(r"(tcp|ipc|inproc)://[A-Za-z0-9_.:/@%+~*\[\]-]{1,240}")


def parse(frames: Frames, start: int, known: Mapping[bytes, Fields]) -> Message | str:
    """Read a message whose own frames begin at ``start``; a reason where it is none of the ``known``.

    What stands before them is the peer's routing id.
    """
    if start and len(frames[0]) > MAX_ROUTING_ID:
        return "routing id too long"
    if len(frames) > start and not frames[start]:
        start += 1  # one leading empty frame is tolerated
    if not start + 2 <= len(frames) <= start + 3:
        return "wrong number of frames"
    command = frames[start]
    fields = known.get(command)
    if fields is None:
        return "unknown command"
    body = frames[start + 2] if len(frames) > start + 2 else b""
    if len(body) > MAX_BODY:
        return "body too large"
    raw = decode_header(frames[start + 1])
    if raw is None:
        return "header is no map"
    if names.CHECK in raw and not _agrees(command, dict(raw), body):
        return "check does not agree"
    header: Header = {}
    for key, needed, check in fields:
        value = raw.get(key)
        if value is None and key in names.MISSPELT:
            value = raw.get(names.MISSPELT[key])
        if value is None:
            if needed:
                return f"no {key}"
            continue
        value = check(value)
        if value is None:
            return f"bad {key}"
        header[key] = value
    return command, header, body


def build(command: bytes, header: Header, body: bytes = b"") -> Frames:
    """The frames of a message; on a ROUTER the routing id is still to be put before them."""
    return [command, msgpack.packb(header), body]


def seal(command: bytes, header: Header, body: bytes = b"") -> Frames:
    """The same, with a checksum by which the other end finds a wrong bit in any part of it."""
    return build(command, {**header, names.CHECK: _checksum(command, header, body)}, body)


def _checksum(command: bytes, header: Header, body: bytes) -> int:
    return crc32(body, crc32(msgpack.packb(header), crc32(command)))


def _agrees(command: bytes, raw: Header, body: bytes) -> bool:
    try:
        return bool(raw.pop(names.CHECK) == _checksum(command, raw, body))
    except (TypeError, ValueError, OverflowError):  # JSON holds numbers that msgpack does not
        return False


def decode_header(frame: bytes) -> Header | None:
    """The map that a frame holds; None where it holds something else."""
    if len(frame) > MAX_HEADER:
        return None
    try:
        if frame[:1] == b"{":  # in msgpack a small number, never a map
            header = json.loads(frame) if len(frame) <= MAX_JSON else None
        else:
            header = unpack(frame, MAX_PARTS)
    except UNREADABLE:
        return None
    return header if type(header) is dict else None


def unpack(data: bytes, most: int) -> Any:
    """msgpack within bounds, of ``most`` arrays and maps. Raises ``UNREADABLE``."""
    return unpacking.unpack(
        data,
        most,
        max_array_len=1024,
        max_map_len=256,
        max_str_len=64 * 1024,
        max_bin_len=MAX_FRAME,
        max_ext_len=0,
    )


def task_identifier(key: TaskKey) -> bytes:
    """What a broker calls a task towards its workers: the client's identity and its own id, ``HEX.HEX``."""
    return hexlify(key[0]) + b"." + hexlify(key[1])


def task_key(identifier: bytes) -> TaskKey | None:
    """The reverse; None for what is no such identifier."""
    client, _, task_id = identifier.partition(b".")
    try:
        return unhexlify(client), unhexlify(task_id)
    except ValueError:
        return None


# ---- checks -------------------------------------------------------------------------------------------------------


def version(value: Any) -> int | None:
    """A config_version: a whole number from 0."""
    return value if type(value) is int and 0 <= value <= MAX_VERSION else None


def wall_time(value: Any) -> float | None:
    """Seconds since the epoch."""
    return float(value) if type(value) in (int, float) and abs(value) < 1e12 else None


def interval(value: Any) -> float | None:
    """Seconds between heartbeats."""
    return float(value) if type(value) in (int, float) and 0.0 < value <= MAX_INTERVAL else None


def slots(value: Any) -> int | None:
    """How many tasks a worker takes at a time."""
    return value if type(value) is int and 1 <= value <= MAX_SLOTS else None


def service(value: Any) -> str | None:
    """The name of a service."""
    return value if type(value) is str and _SERVICE.fullmatch(value) else None


def services(value: Any) -> tuple[str, ...] | None:
    """Names of services, none twice; possibly no names at all."""
    if type(value) is not list or len(value) > MAX_SERVICES or not all(service(name) for name in value):
        return None
    return tuple(dict.fromkeys(value))


def identifier(value: Any) -> bytes | None:
    """A work_request_identifier, as the broker gave it to a worker."""
    if type(value) is str:
        value = value.encode("utf-8", "replace")
    return value if type(value) is bytes and 0 < len(value) <= MAX_IDENTIFIER else None


def client_identifier(value: Any) -> bytes | None:
    """A work_request_identifier, as a client chose it."""
    value = identifier(value)
    return value if value is not None and len(value) <= MAX_ID else None


def identifiers(value: Any) -> frozenset[bytes] | None:
    """What a worker holds."""
    if type(value) is not list or len(value) > MAX_SLOTS:
        return None
    found = frozenset(filter(None, map(identifier, value)))
    return found if len(found) == len(value) else None


def endpoint(value: Any) -> str | None:
    """Where a broker is."""
    return value if type(value) is str and (not value or _ENDPOINT.fullmatch(value)) else None


def text(value: Any) -> str | None:
    """Words for people: printable, not long."""
    return value if type(value) is str and len(value) <= MAX_TEXT and value.isprintable() else None


def code(value: Any) -> int | None:
    """A DISCONNECTERROR's number."""
    return value if type(value) is int and 100 <= value <= 599 else None


def counter(value: Any) -> int | None:
    """A number that only grows; -1 for none."""
    return value if type(value) is int and -1 <= value < 2**63 else None


def checksum(value: Any) -> int | None:
    """What seals a message."""
    return value if type(value) is int else None


def standby_state(value: Any) -> str | None:
    """What a broker of a pair says that it is."""
    return value if type(value) is str and value in PAIR.states else None


# ---- who says what to whom ------------------------------------------------------------------------------------------

_CHECKCONFIG: Fields = (("config_type", True, text), ("config_version", False, version))
_PING: Fields = (("time", True, wall_time), ("config_version", True, version))
_NEEDBROKER: Fields = (("identity", True, text), ("services", False, services))

FROM_WORKERS: dict[bytes, Fields] = {
    names.CHECKCONFIG: _CHECKCONFIG,
    names.READY: (
        ("services", True, services),
        ("heartbeat_interval", True, interval),
        ("time", True, wall_time),
        ("config_version", True, version),
        ("slots", False, slots),
        ("holding", False, identifiers),
        (names.CHECK, False, checksum),
    ),
    names.PING: (*_PING, ("holding", False, identifiers)),
    names.WORKREPLY: ((names.IDENTIFIER, True, identifier), (names.ERROR, False, text)),
    names.NEEDBROKER: _NEEDBROKER,
}

FROM_CLIENTS: dict[bytes, Fields] = {
    names.CHECKCONFIG: _CHECKCONFIG,
    names.PING: _PING,
    names.WORKREQUEST: (
        (names.IDENTIFIER, True, client_identifier),
        ("service", True, service),
        ("time", False, wall_time),
        ("config_version", False, version),
    ),
    names.NEEDBROKER: _NEEDBROKER,
}

FROM_BROKER: dict[bytes, Fields] = {
    names.CONFIG: (("config_type", True, text), ("config_version", True, version), ("config_hash", True, text)),
    names.READYOK: (("time", True, wall_time), ("heartbeat_interval", True, interval)),
    names.PONG: (("time", True, wall_time), ("echo", True, wall_time), ("config_version", True, version)),
    names.CHANGEBROKER: (("endpoint", True, endpoint),),
    names.FORCENEGOTIATE: (),
    names.DISCONNECTERROR: (
        ("code", True, code),
        ("message", True, text),
        ("endpoint", False, endpoint),
        (names.IDENTIFIER, False, client_identifier),
        ("service", False, service),
    ),
}

TO_WORKERS: dict[bytes, Fields] = {
    **FROM_BROKER,
    names.WORKREQUEST: (
        ("time", True, wall_time),
        ("config_version", True, version),
        (names.IDENTIFIER, True, identifier),
        ("service", True, service),
    ),
}

TO_CLIENTS: dict[bytes, Fields] = {
    **FROM_BROKER,
    names.WORKREPLY: ((names.IDENTIFIER, True, client_identifier), (names.ERROR, False, text)),
}

BETWEEN_BROKERS: dict[bytes, Fields] = {
    names.BROKERSTATE: (
        ("state", True, standby_state),
        ("sequence", True, counter),
        ("echo", True, counter),
        ("replica", True, counter),
    ),
    names.REPLICA: (("sequence", True, counter),),
}
