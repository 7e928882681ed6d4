"""The orders that a control socket carries: their names and the types of what they are given."""

from __future__ import annotations

from typing import Any

from engine.errors import Refused
from engine.journal.checks import fits
from engine.journal.codec import Codec, Unreadable
from engine.labs.limits import judge_order
from engine.parts.bulk import BulkSpec
from engine.system import QueueSystem, System

BROKERS: dict[str, Any] = {
    "run": tuple[BulkSpec],
    "stop_run": tuple[()],
    "order_client": tuple[object, str],
    "choose_lane": tuple[str],
    "register": tuple[()],
    "deregister": tuple[()],
    "bulk": tuple[int, str, int | None, str],
    "endbulk": tuple[str],
    "choose_transport": tuple[str],
    "add_workers": tuple[int],
    "remove_workers": tuple[int],
    "stop_worker": tuple[bytes],
    "slow": tuple[float],
    "withdraw": tuple[bytes],
    "discard": tuple[bytes, bytes],
    "pull_plug": tuple[()],
    "hand_back": tuple[()],
    "operate": tuple[str, tuple[tuple[str, str], ...]],
    "inspect": tuple[bytes | None],
    "revive": tuple[str, tuple[int, ...]],
    "move": tuple[bytes, bytes, bool],
    "hurt": tuple[str],
    "steer": tuple[object],
    "undo": tuple[()],
    "set_slots": tuple[bytes, int],
    "keep_trace": tuple[str],
    "log_level": tuple[str],
    "acknowledge": tuple[str],
    "silence": tuple[str, float],
}
QUEUES: dict[str, Any] = {
    "set_workers": tuple[str, int],
    "pause_stage": tuple[str],
    "resume_stage": tuple[str],
    "kill_driver": tuple[str],
    "retry": tuple[str, str],
    "feed_some": tuple[()],
    "feed_files": tuple[tuple[str, ...]],
    "acknowledge": tuple[str],
    "silence": tuple[str, float],
}
ORDERS = {System.kind: BROKERS, QueueSystem.kind: QUEUES}
"""By the kind of a system: a method of its labs, and the types of its arguments."""


def arguments(system: Any, codec: Codec, name: object, plain: object) -> tuple[str, tuple[Any, ...]]:
    """An order that somebody gives, checked. Raises Refused for what is none."""
    known = ORDERS[system.kind]
    if type(name) is not str or name not in known:
        raise Refused(f"{system.name} takes no order {str(name)[:40]!r} here")
    try:
        args = codec.value(plain)
        if not fits(args, known[name]):
            raise Unreadable("arguments of other types")
        for arg in args:
            if hasattr(arg, "_fields") or hasattr(arg, "__dataclass_fields__"):
                judge_order(arg, system.orders)
    except Unreadable as why:
        raise Refused(f"the order {name} can not be read: {why}") from None
    return name, args
