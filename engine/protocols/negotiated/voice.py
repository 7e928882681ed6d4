"""What a broker says to a peer beside work: its configuration, refusals, its clock, and where else to go.

- Skew is measured on wall time because the protocol says so; silence never is.
- Whose wall clock is wrong: the broker's own, where it has jumped and the peer agrees with what it was before.
- For one interval after its own clock has jumped a broker judges nobody's: on one machine all clocks jump, and each
  process notices it in its own time.
- Every message that is refused is answered with its code, counted, and changes nothing else.
"""

from __future__ import annotations

from engine.core import Command, Note, Send
from engine.parts.limits import MAX_ROUTING_ID
from engine.parts.violations import Violations
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.config import Config
from engine.protocols.negotiated.options import Options


class Voice:
    """``wall_offset``: wall time less ``now``, seconds; ``out``: what to do."""

    def __init__(self, options: Options, config: Config, wall_offset: float) -> None:
        self.options, self.config, self.wall_offset = options, config, wall_offset
        self.out: list[Command] = []
        self.violations = Violations()
        self.counters: dict[str, int] = {}
        self.jumped = 0.0  # seconds by which our wall clock has jumped, until it jumps back
        self._judge_at = 0.0

    # ---- clocks -------------------------------------------------------------------------------------------------

    def set_clock(self, offset: float, now: float) -> None:
        """Our wall clock shows ``now + offset`` from now on."""
        jump = offset - self.wall_offset
        self.wall_offset = offset
        if abs(jump) <= self.config.skew:
            return
        self._judge_at = now + self.options.heartbeat
        self.jumped += jump
        if abs(self.jumped) <= self.config.skew:
            self.jumped = 0.0
            self.out.append(Note("good", "the wall clock of the broker has jumped back"))
        else:
            words = f"the wall clock of the broker jumped {self.jumped:+.0f} s"
            self.out.append(Note("bad", f"{words}: peers that did not jump with it are told {names.CLOCK}"))

    def skew(self, time: float, now: float) -> float:
        """Seconds by which a peer's wall clock is ahead of ours."""
        return time - now - self.wall_offset

    def agrees(self, socket: str, peer: bytes, time: float, now: float) -> bool:
        """Whether a peer's wall clock agrees with ours; one that does not is told whose is wrong."""
        skew, limit = self.skew(time, now), self.config.skew
        if abs(skew) <= limit or now < self._judge_at:
            return True
        if self.jumped and abs(skew + self.jumped) <= limit:
            self.count("told of our own clock")
            words = f"the broker's wall clock jumped {self.jumped:+.0f} s, yours agrees with what it was before"
            self.disconnect(socket, peer, names.CLOCK, words)
            return False
        self.out += self.violations.add(peer, f"{names.CLOCK} wall clock is wrong", now)
        ahead = "ahead of" if skew > 0 else "behind"
        self.disconnect(socket, peer, names.CLOCK, f"your wall clock is {abs(skew):.0f} s {ahead} the broker's")
        return False

    # ---- negotiation --------------------------------------------------------------------------------------------

    def configure(self, socket: str, peer: bytes, header: wire.Header, now: float) -> bool:
        """Answer CHECKCONFIG; False where the form that is asked for is none of ours."""
        kind = header["config_type"]
        if kind not in configs.TYPES:
            self.violate(socket, peer, names.CONFIG_TYPE, "config_type is not json, xml or zfl", now)
            return False
        config = self.config
        body = b"" if header.get("config_version") == config.version else configs.encode(config, kind)
        fields = {"config_type": kind, "config_version": config.version, "config_hash": config.hash}
        self.tell(socket, peer, names.CONFIG, fields, body)
        return True

    def pong(self, socket: str, peer: bytes, header: wire.Header, now: float) -> None:
        """Answer PING."""
        version = self.config.version
        fields = {"time": now + self.wall_offset, "echo": header["time"], "config_version": version}
        self.tell(socket, peer, names.PONG, fields)
        if header["config_version"] != version:
            self.drift(socket, peer, now)

    def drift(self, socket: str, peer: bytes, now: float) -> None:
        """A peer runs another version."""
        self.violate(socket, peer, names.CONFIG_VERSION, "config_version is another", now)
        self.negotiate(socket, peer)

    def negotiate(self, socket: str, peer: bytes) -> None:
        """A peer whose state is not certain begins at CHECKCONFIG."""
        self.count("negotiations forced")
        self.tell(socket, peer, names.FORCENEGOTIATE, {})

    def refuse(self, socket: str, peer: bytes, reason: str, now: float) -> None:
        """A message that is none of those that a peer may send."""
        code = names.UNKNOWN_COMMAND if reason == "unknown command" else names.MALFORMED
        self.violate(socket, peer, code, reason, now)

    def violate(self, socket: str, peer: bytes, code: int, reason: str, now: float) -> None:
        """Count what a peer did wrong, and say so to it."""
        self.out += self.violations.add(peer[:MAX_ROUTING_ID], f"{code} {reason}", now)
        self.disconnect(socket, peer, code, reason)

    def disconnect(self, socket: str, peer: bytes, code: int, message: str) -> None:
        """Send DISCONNECTERROR."""
        self.count(f"told {code}")
        self.tell(socket, peer, names.DISCONNECTERROR, {"code": code, "message": message})

    def move(self, socket: str, peer: bytes, endpoint: str) -> None:
        """Send a peer to the other broker."""
        self.count(f"told {names.MOVED}")
        fields = {"code": names.MOVED, "message": "the other broker serves", "endpoint": endpoint}
        self.tell(socket, peer, names.DISCONNECTERROR, fields)

    def tell_sealed(self, socket: str, peer: bytes, command: bytes, header: wire.Header) -> None:
        """The same to a peer that seals its own messages."""
        self.out.append(Send([peer, *wire.seal(command, header)], socket))

    def tell(self, socket: str, peer: bytes, command: bytes, header: wire.Header, body: bytes = b"") -> None:
        """Send one message to a peer."""
        self.out.append(Send([peer, *wire.build(command, header, body)], socket))

    def count(self, name: str) -> None:
        """Count one, under a name that an operator reads."""
        self.counters[name] = self.counters.get(name, 0) + 1
