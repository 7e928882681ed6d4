"""What an operator may ask of a broker and of a pair, over its control socket or in its own process, and the answers.

- A request is one map: ``Ask``, its word, and ``Ref``, its number, which the answer repeats. Answers are for people.
- The broker takes them at a socket that is bound within its own process alone: its clients and workers never reach it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgpack

from engine.parts.unpacking import UNREADABLE, unpack
from engine.system import Orders

CONTROL = "control"
"""The broker's socket for them."""

OPERATOR = b"control"
"""The routing id of the one who asks there."""

MAX_REF = 2**63 - 1
MAX_WORDS = 4096  # characters of a key, a value or an answer's line


class ShowPair(NamedTuple):
    """Which of two brokers serves, and how the pair is."""


class HandBack(NamedTuple):
    """Fallback: give the service back to the primary, which is there and waits."""


class Serve(NamedTuple):
    """Fallback: serve although its primary was never heard. Whoever orders it vouches that the primary is not there."""


class Configure(NamedTuple):
    """Serve the configuration with this value of a key, under the next version; peers that run another are told so."""

    key: str
    value: str


Request = ShowPair | HandBack | Serve | Configure


class Said(NamedTuple):
    """It is done, or this is how it is."""

    ref: int
    lines: tuple[str, ...]


class Refusal(NamedTuple):
    """Nothing was done, and why."""

    ref: int
    why: str


Answer = Said | Refusal

_ASKS: dict[str, type[Any]] = {"pair": ShowPair, "back": HandBack, "serve": Serve, "config": Configure}
_NAMES = {kind: word for word, kind in _ASKS.items()}


def asked(word: str, *args: str) -> Request:
    """The request of this word. KeyError where there is none."""
    made: Request = _ASKS[word](*args)
    return made


def pack_request(ref: int, request: Request) -> bytes:
    """One request as a message."""
    packed: bytes = msgpack.packb({"Ask": _NAMES[type(request)], "Ref": ref, **request._asdict()})
    return packed


def load(message: bytes) -> dict[str, Any]:
    """The map of a message that is known to be one."""
    value: dict[str, Any] = unpack(message, 16, max_array_len=64, max_map_len=16, max_str_len=64 * 1024)
    return value


def request(frame: bytes) -> tuple[int, Request] | str:
    """Number and request of a message, or why it is none."""
    try:
        value = load(frame)
    except UNREADABLE:
        return "unreadable request"
    return parsed(value) if type(value) is dict else "unreadable request"


def parsed(value: dict[str, Any]) -> tuple[int, Request] | str:
    """The same of a map."""
    ref, kind = value.get("Ref"), _ASKS.get(_text(value.get("Ask")))
    if type(ref) is not int or not 0 <= ref <= MAX_REF or kind is None:
        return "unreadable request"
    fields = [_text(value.get(name)) for name in kind._fields]
    return (ref, kind(*fields)) if all(fields) else "unreadable request"


def pack_answer(answer: Answer) -> bytes:
    """One answer as a message."""
    if isinstance(answer, Said):
        fields: dict[str, object] = {"Say": "said", "Ref": answer.ref, "Lines": list(answer.lines)}
    else:
        fields = {"Say": "refused", "Ref": answer.ref, "Why": answer.why}
    packed: bytes = msgpack.packb(fields)
    return packed


def answered(value: dict[str, Any]) -> Answer | str:
    """The answer that a map holds, or why it is none."""
    ref, lines = value.get("Ref"), value.get("Lines")
    if type(ref) is not int:
        return "unreadable answer"
    if value.get("Say") == "refused" and _text(value.get("Why")):
        return Refusal(ref, value["Why"])
    if value.get("Say") == "said" and type(lines) is list and all(map(_text, lines)):
        return Said(ref, tuple(lines))
    return "unreadable answer"


def beside(endpoint: str) -> str:
    """Where a broker at this endpoint within the process takes them."""
    return f"{endpoint}-{CONTROL}"


def _text(value: Any) -> str:
    return value if type(value) is str and len(value) <= MAX_WORDS and value.isprintable() else ""


ORDERS = Orders(
    endpoint=beside,
    client=OPERATOR,
    pack=pack_request,
    load=load,
    parse=parsed,
    answer=answered,
    follows=lambda request: False,
    refusal=lambda order: "",
)
