"""The times that ping-pong's rules come to, as a fault's promises name them."""

from __future__ import annotations

from engine.parts.promise import Times
from engine.protocols.pingpong.options import Options


def times(options: Options) -> Times:
    """S10 loses an idle worker after WORKER_EXPIRE_SECONDS; a busy one is judged by its job's deadline (ruling 1), and
    it may be given that job in the last moment before it would have been lost.

    A worker starts over N_TIMEOUTS × BROKER_TIMEOUT after it heard the broker last (S9); one that owes a result is not
    answered until it does (ruling 9).
    """
    silence = options.n_timeouts * options.broker_timeout
    back = silence + 3 * options.ping_every
    return Times(
        kept=min(options.worker_expiry, silence) - 1.5 * options.ping_every,
        lost=options.worker_expiry + options.probe_deadline,
        back=back,
        repair=options.probe_deadline + options.worker_expiry + back,
    )
