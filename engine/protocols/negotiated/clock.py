"""A peer's wall clock beside its broker's: whose time may be used, and when the other one's is way off.

- Wall time is read by the driver, and told with ``ClockSet`` before any other event once it is another.
- For an interval after its own clock has jumped a peer judges nobody's: on one machine all clocks jump together.
- A PONG says how far the broker's clock is off, whatever the way took. Another message may have been late on its way:
  by it a clock can only be too far ahead.
"""

from __future__ import annotations

from engine.protocols.negotiated import messages as wire


class PeerClock:
    """``wall_offset``: wall time less ``now``; ``limit``: seconds by which two clocks may differ."""

    def __init__(self, wall_offset: float, limit: float) -> None:
        self.wall_offset, self._limit = wall_offset, limit
        self.rtt: float | None = None  # seconds, of the last PING
        self.skew = 0.0  # seconds by which the broker's wall clock is ahead of ours
        self._jumped = 0.0  # seconds by which our wall clock has jumped, until it jumps back
        self._judge_at = 0.0  # before, nobody's clock is judged

    def _set(self, offset: float, until: float) -> None:
        """Our wall clock shows ``now + offset`` from now on; after a jump nobody's is judged before ``until``."""
        jump, self.wall_offset = offset - self.wall_offset, offset
        if abs(jump) > self._limit:
            self._judge_at = until
            self._jumped += jump
            if abs(self._jumped) <= self._limit:
                self._jumped = 0.0

    def _ahead(self, time: float, now: float) -> float:
        """Seconds by which a message with its time shows the broker's clock too far ahead; 0 where it does not."""
        ahead = time - now - self.wall_offset
        return ahead if ahead > self._limit and now >= self._judge_at else 0.0

    def _measure(self, header: wire.Header, now: float) -> bool:
        """Take round trip and skew from a PONG; whether the broker's clock is way off, the way back and forth aside."""
        self.rtt = now + self.wall_offset - header["echo"]
        self.skew = header["time"] - header["echo"] - self.rtt / 2
        return abs(self.skew) - abs(self.rtt) / 2 > self._limit and now >= self._judge_at
