"""The times that MDP's rules come to, as a fault's promises name them."""

from __future__ import annotations

from engine.parts.promise import Times
from tests.sixth.mdp.options import Options


def times(options: Options) -> Times:
    """A peer is disconnected after ``expiry`` of silence, busy or not; it may have been due a heartbeat just then.

    Who is back says READY, a HEARTBEAT later at most, or when its own patience is at its end. A message that was lost
    costs its request a deadline, and its worker a new start.
    """
    back = options.expiry + 3 * options.heartbeat
    return Times(
        kept=options.expiry - 1.5 * options.heartbeat,
        lost=options.expiry,
        back=back,
        repair=options.probe_deadline + options.expiry + back,
    )
