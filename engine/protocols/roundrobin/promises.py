"""The times that round robin's rules come to, as a fault's promises name them."""

from __future__ import annotations

from engine.parts.promise import Times
from engine.protocols.roundrobin.options import Options


def times(options: Options) -> Times:
    """R3 loses a worker after ``expiry``; R4 brings it back; a slot whose INCREMENT was lost is free by R9.

    A peer that heard no PONG for ``expiry`` links anew; then PING and REGISTER are each repeated every heartbeat.
    """
    heartbeat, expiry = options.heartbeat, options.expiry
    back = expiry + 2 * heartbeat
    return Times(
        kept=expiry - 1.5 * heartbeat,
        lost=expiry,
        back=back,
        repair=options.task_deadline + back,
    )
