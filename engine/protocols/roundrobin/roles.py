"""Which roles may say what at the one ROUTER of a broker whose peers have keys."""

from __future__ import annotations

from engine.core import CLIENTS, WORKERS, Frames
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed

_SAID = {wire.TASK: CLIENTS, wire.REPLY: WORKERS, wire.JOIN: WORKERS, wire.LEAVE: WORKERS, wire.RETURN: WORKERS}


def said(frames: Frames) -> tuple[str, ...]:
    """The roles that may say this message at the broker; none where anybody may, as what is no message at all."""
    if len(frames) == packed.AT_BROKER:
        kind = frames[1][: len(packed.TASKS)]
        return CLIENTS if kind == packed.TASKS else WORKERS if kind == packed.ANSWERS else ()
    what = wire.at_broker(frames)
    return () if type(what) is str else _SAID.get(what, ())  # type: ignore[arg-type]
