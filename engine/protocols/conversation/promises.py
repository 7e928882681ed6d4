"""The times that the conversation's rules come to, as a fault's promises name them."""

from __future__ import annotations

from engine.parts.promise import Times
from engine.protocols.conversation.options import Options


def times(options: Options) -> Times:
    """Silence of ``expiry`` is a DISCONNECT, on either side. A conversation begins anew a heartbeat after it broke,
    its opening is repeated every heartbeat, and a keep-alive tells within one more that a message was lost.
    """
    back = options.expiry + 3 * options.heartbeat
    return Times(
        kept=options.expiry - 1.5 * options.heartbeat,
        lost=options.expiry,
        back=back,
        repair=back + options.expiry,
    )
