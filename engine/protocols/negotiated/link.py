"""A worker's or client's end of its link to a broker, and which broker of the group that is.

- A link begins with CHECKCONFIG. A client is linked by CONFIG; a worker goes on to READY and is linked by READYOK.
- One handshake message is out at a time, repeated every interval. Unanswered for ``silence`` intervals, the peer turns
  to the next broker of the group with NEEDBROKER; CHANGEBROKER names the one that becomes its preferred broker.
- A peer that was never linked gives up when it has tried every broker that it knows: at start-up a broker that is down
  is an error. One that was linked keeps trying for as long as it takes.
- The configuration is kept (``Save``) whenever it is another one, for the broker that said it, and tells an unanswered
  peer of the group next time.
- A peer stays on one transport: endpoints of another one are for others.
- A peer never forgets the broker that an operator named. It does not switch back to it by itself while another one
  answers: it asks there again when its own falls silent, or goes where its broker sends it (301).
- A connection that stands again is another link: what was under way on the one before is lost, so it begins anew.
- A link that falls silent while its connection stands, and comes up at once on a new connection, and does so again, is
  one whose routing id another peer has: the newest of two is heard, and nobody is told. It takes another id.
- A broker may send a peer only to a member of the group that the operator has configured, or to this machine's own
  loopback address: whoever else is named is a stranger, and what is told so is a violation.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.core import NEVER, Command, Exit, Note, Reopen, Save, Send
from engine.parts.machine import Walk
from engine.parts.plain import several
from engine.parts.taken import Taken
from engine.parts.violations import Violations
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import endpoints as ends
from engine.protocols.negotiated import kept as keeping
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.clock import PeerClock
from engine.protocols.negotiated.machine import CLIENT_LINK, PUTS_OUT, WORKER_LINK, At, If, On
from engine.protocols.negotiated.options import Options

SAVED = "negotiated"
"""The name under which the configuration is kept."""

BROKER = b"broker"
"""Under which the broker's violations are counted."""

MAX_REDIRECTS = 4  # to other brokers in a row, before a pause

_NEXT = {
    (False, False): If.ANOTHER,
    (False, True): If.PREFERRED,
    (True, False): If.TAKEN,
    (True, True): If.TAKEN_PREFERRED,
}
"""Whether our id is another's, whether the preferred broker is next → the guard."""


class Link(PeerClock):
    """``identity``: as it is told to brokers; ``ready``: what a worker says in its READY, None for a client.

    ``saved``: what was kept (``kept``); what can not be read counts as nothing.
    """

    def __init__(
        self,
        options: Options,
        endpoint: str,
        identity: str,
        ready: Callable[[], wire.Header] | None,
        *,
        wall_offset: float = 0.0,
        saved: bytes | None = None,
    ) -> None:
        super().__init__(wall_offset, options.skew)
        self.options = options
        self.state: str = At.NEW
        self.walk = Walk(CLIENT_LINK if ready is None else WORKER_LINK)
        self.endpoint = self.preferred = self.first = endpoint  # first: the one that an operator named
        self._kept = keeping.decode(saved)
        self.config = keeping.of(self._kept, endpoint)
        self.violations = Violations()
        self.interval = options.heartbeat
        self.heard = 0.0
        self.told: int | None = None  # the last code of a DISCONNECTERROR
        self.links = 0  # how often it was linked
        self._identity, self._ready = identity, ready
        self._named = identity  # at first
        self._ids = 1  # how many it has had
        self._broken = False  # the connection has ended, and does not stand again so far
        self._taken = Taken(options.silence * options.heartbeat, options.heartbeat)
        self._configured = {endpoint, *ends.configured(options, ready is None)}
        self._next = NEVER  # when something is due
        self._since = 0.0  # when the present state began
        self._tried: set[str] = set()  # brokers that did not answer since the last link
        self._redirects = 0

    @property
    def linked(self) -> bool:
        """Whether work may go over it."""
        return self.state == At.LINKED

    def step(self, event: str, guard: str = "") -> None:
        """Go through a row."""
        self.state = self.walk.step(self.state, event, guard)

    def wake_at(self) -> float:
        """When ``tick`` has something to do."""
        return self._next

    def start(self, now: float) -> list[Command]:
        """Begin."""
        self.step(On.START)
        return self._begin(now)

    # ---- clocks and versions ------------------------------------------------------------------------------------

    def set_clock(self, offset: float, now: float) -> None:
        """Our wall clock shows ``now + offset`` from now on."""
        self._set(offset, now + self.interval)

    def work(self, header: wire.Header, out: list[Command], now: float) -> bool:
        """Whether the work of a WORKREQUEST is done, as far as its time goes; another version is negotiated anew."""
        if self.state != At.LINKED:
            return True
        if ahead := self._ahead(header["time"], now):
            out += self._put_out(On.WORKREQUEST, ahead, now)
            return False
        if self.config is not None and header["config_version"] != self.config.version:
            out += self._drift(On.WORKREQUEST, header["config_version"], now)
        return True

    def _pong(self, header: wire.Header, now: float) -> list[Command]:
        if self._measure(header, now):
            return self._put_out(On.PONG, self.skew, now)
        if self.config is not None and header["config_version"] != self.config.version:
            return self._drift(On.PONG, header["config_version"], now)
        self.step(On.PONG)
        return []

    def _drift(self, event: str, version: int, now: float) -> list[Command]:
        self.step(event, If.VERSION)
        return [Note("warn", f"the broker serves configuration {version}: negotiating anew"), *self._begin(now)]

    def _put_out(self, event: str, skew: float, now: float) -> list[Command]:
        """The broker's wall clock is way off ours: nothing is done with it for a while."""
        self.step(event, If.CLOCK)
        self._wait(self.options.silence * self.interval, now)
        off = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} ours"
        note = Note("bad", f"the broker's wall clock is {off}: waiting {self.options.silence} intervals")
        return [*self.violations.add(BROKER, f"{names.CLOCK} wall clock is wrong", now), note]

    # ---- connections --------------------------------------------------------------------------------------------

    def connected(self, now: float) -> list[Command]:
        """A connection stands."""
        again, self._broken = self._broken, False
        if not again or self.state != At.LINKED:
            return []
        self.step(On.CONNECTED)
        return self._begin(now)

    def disconnected(self) -> None:
        """It has ended; another one may follow without our doing."""
        self._broken = True
        self._taken.disconnected()

    def _renamed(self) -> list[Command]:
        """A new connection to ``endpoint`` under another id."""
        before, self._ids = self._identity, self._ids + 1
        self._identity = f"{self._named}-{self._ids}"
        words = f"another peer has our id {before}: we are {self._identity} from now on"
        return [Note("bad", words), Reopen(routing_id=self._identity.encode(), endpoint=self.endpoint)]

    # ---- what comes ---------------------------------------------------------------------------------------------

    def received(self, message: wire.Message, now: float) -> list[Command]:
        """A message of the broker other than work. One that is not expected (it comes late) changes nothing."""
        command, header, body = message
        match command, self.state:
            case _, At.ENDED:
                pass
            case names.CONFIG, At.CHECKING:
                return self._taught(header, body, now)
            case names.READYOK, At.JOINING if ahead := self._ahead(header["time"], now):
                return self._put_out(On.READYOK, ahead, now)
            case names.READYOK, At.JOINING:
                self.step(On.READYOK)
                interval = max(self.options.heartbeat, header["heartbeat_interval"])
                if interval != self.interval:
                    self.interval, self._taken = interval, Taken(self.options.silence * interval, interval)
                return self._up(now)
            case names.PONG, At.LINKED:
                return self._pong(header, now)
            case names.FORCENEGOTIATE, At.LINKED:
                self.step(On.FORCENEGOTIATE)
                return [Note("warn", "the broker wants to negotiate anew"), *self._begin(now)]
            case names.CHANGEBROKER, At.ASKING | At.CHECKING:
                return self._change(On.CHANGEBROKER, header["endpoint"], now)
            case names.DISCONNECTERROR, _:
                return self._disconnected(header, now)
        return []

    def _taught(self, header: wire.Header, body: bytes, now: float) -> list[Command]:
        known = self.config
        kept = not body and known is not None and known.version == header["config_version"]
        config = known if kept else configs.decode(body, self.options.config_type)
        fits = header["config_type"] == self.options.config_type and config is not None
        if not fits or config is None or config.hash != header["config_hash"]:
            self.config = None  # next time it comes as a whole
            if kept:
                self.step(On.CONFIG, If.OTHERS)
                return self._begin(now)
            self.step(On.CONFIG, If.UNFIT)
            return [Note("bad", "the broker's configuration is not what its header says")]
        self.config = config
        self.step(On.CONFIG)
        out: list[Command] = []
        if not kept:
            self._kept = keeping.added(self._kept, self.endpoint, config)
            out.append(Save(SAVED, keeping.encode(self._kept)))
            strangers = sum(not self._trusted(end) for end in self._reachable())
            if strangers:
                words = f"the configuration names {several(strangers, 'broker')} in no setting of ours: not tried"
                out.append(Note("warn", f"{words}; add to negotiated.group those that are yours"))
        return out + (self._up(now) if self.state == At.LINKED else self._begin(now))

    def _disconnected(self, header: wire.Header, now: float) -> list[Command]:
        code = self.told = header["code"]
        event = On.error(code)
        words = f"the broker says {code}: {header['message']}"
        if code == names.CLOCK and self._jumped:
            words += f"; our own wall clock jumped {self._jumped:+.0f} s"
        if code == names.MOVED and "endpoint" in header:
            return self._change(event, header["endpoint"], now)
        never = code == names.REFUSED and not self.links
        before = self.state
        self.step(On.ERROR if code == names.MOVED else event, If.NEVER_LINKED if never else "")
        if self.state == At.ENDED:
            return self._end(words, failed=never or code != names.REFUSED)
        if code in PUTS_OUT:
            self._wait(self.options.silence * self.interval, now)
        elif self.state != before:
            return [Note("warn", words), *self._begin(now)]
        return [Note("bad", words)]

    # ---- what is due --------------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Command]:
        """Repeat, PING, or turn to another broker."""
        if now < self._next:
            return []
        patience = self.options.silence * self.interval
        if self.state == At.OUT:
            self.step(On.INTERVALS)
            return self._begin(now)
        if self.state == At.LINKED:
            since, say = self.heard, self._ping
        elif self.state in (At.NEW, At.ENDED):
            return []
        else:
            since, say = self._since, self._say
        if now >= since + patience:
            return self._lost(now)
        self.step(On.INTERVAL)
        return [say(now)]

    def grace(self, seconds: float) -> None:
        """Silence of so many seconds was our own."""
        self.heard += seconds
        self._since += seconds

    def _lost(self, now: float) -> list[Command]:
        """Nothing from this broker: the next one."""
        was_linked = self.state == At.LINKED
        taken = was_linked and self._taken.silent(now)
        self._tried.add(self.endpoint)
        group = self._group()
        others = [endpoint for endpoint in group if endpoint not in self._tried]
        out: list[Command] = [Note("bad", f"no answer from {self.endpoint}")]
        if not others and not self.links:
            self.step(On.NO_ANSWER, If.NOBODY)
            return self._end(self._failure(), failed=True)
        if not others:
            self._tried.clear()
            others = [group[(group.index(self.endpoint) + 1) % len(group)]]
        self.endpoint = others[0]
        self.step(On.SILENCE if was_linked else On.NO_ANSWER, _NEXT[taken, self.endpoint == self.preferred])
        out += self._renamed() if taken else [Reopen(endpoint=self.endpoint)]
        return out + self._begin(now)

    def _failure(self) -> str:
        if len(self._tried) > 1:
            return f"no broker of the group answers: tried {', '.join(sorted(self._tried))}"
        known = "the saved configuration names no other" if self.config is not None else "no configuration is saved"
        return f"{self.endpoint} does not answer CHECKCONFIG, and {known}; start the broker first, or name another one"

    def _reachable(self) -> list[str]:
        """The brokers of the configuration that are on our transport."""
        brokers = () if self.config is None else self.config.brokers
        known = [broker.clients if self._ready is None else broker.workers for broker in brokers]
        scheme = self.endpoint.partition(":")[0]
        return [endpoint for endpoint in known if endpoint.partition(":")[0] == scheme]

    def _trusted(self, endpoint: str) -> bool:
        return endpoint in self._configured or ends.on_this_machine(endpoint)

    def _group(self) -> list[str]:
        """Every broker that is known, can be reached from here and is no stranger, the preferred one first.

        The one that an operator named is among them, whatever a configuration says.
        """
        known = filter(self._trusted, self._reachable())
        return list(dict.fromkeys([self.preferred, *known, self.first, self.endpoint]))

    def _change(self, event: str, endpoint: str, now: float) -> list[Command]:
        """A broker sent us to another one, or to itself; nowhere, or another transport, means itself."""
        here = not endpoint or endpoint.partition(":")[0] != self.endpoint.partition(":")[0]
        if not here and not self._trusted(endpoint):
            self.step(event, If.STRANGER)
            self._wait(self.options.silence * self.interval, now)
            words = f"{self.endpoint} sends us to {endpoint}, which is in no setting of ours and not on this machine"
            told = Note("bad", f"{words}: not followed; if it is yours, add it to negotiated.group")
            return [*self.violations.add(BROKER, "sends us to a stranger", now), told]
        self._redirects += 1
        if self._redirects > MAX_REDIRECTS:
            self._redirects = 0
            self.step(event, If.ROUND)
            self._wait(self.interval, now)
            return [Note("warn", "the brokers send us from one to the other: waiting")]
        self.step(event)
        if here or endpoint == self.endpoint:
            self.preferred = self.endpoint
            return self._begin(now)
        self.endpoint = self.preferred = endpoint
        return [Note("info", f"moving to {endpoint}"), Reopen(endpoint=endpoint), *self._begin(now)]

    # ---- steps --------------------------------------------------------------------------------------------------

    def _begin(self, now: float) -> list[Command]:
        """A state in which a handshake message is out."""
        self._since = now
        return [self._say(now)]

    def _wait(self, seconds: float, now: float) -> None:
        self._since, self._next = now, now + seconds

    def _up(self, now: float) -> list[Command]:
        self._since = now
        self._taken.heard(now)
        self.heard, self.links = now, self.links + 1
        self.told = None
        self._tried.clear()
        self._redirects = 0
        self._next = now + self.interval
        return [Note("good", f"linked again, to {self.endpoint}")] if self.links > 1 else []

    def _end(self, reason: str, *, failed: bool) -> list[Command]:
        self._next = NEVER
        return [Exit(reason, failed)]

    def rejoin(self, now: float) -> list[Command]:
        """A worker offers nothing any more."""
        if self.state not in (At.LINKED, At.JOINING):
            return []
        self.step(On.OFFERS)
        return self._begin(now)

    def left(self, reason: str) -> list[Command]:
        """A worker has left."""
        self.step(On.LEFT)
        return self._end(reason, failed=False)

    def _say(self, now: float) -> Send:
        """The handshake message of the present state."""
        self._next = now + self.interval
        match self.state:
            case At.CHECKING:
                header: wire.Header = {"config_type": self.options.config_type}
                if self.config is not None:
                    header["config_version"] = self.config.version
                return Send(wire.seal(names.CHECKCONFIG, header))
            case At.ASKING:
                header = {"identity": self._identity, "services": []}
                if self._ready is not None:
                    header["services"] = self._ready()["services"]
                return Send(wire.seal(names.NEEDBROKER, header))
            case _:
                assert self.state == At.JOINING and self._ready is not None, f"nothing to say while {self.state}"
                asked = max(self.options.heartbeat, self.config.heartbeat_interval if self.config else 0.0)
                times = {"heartbeat_interval": asked, "time": now + self.wall_offset}
                header = {**self._ready(), **times, "config_version": self.config.version if self.config else 0}
                return Send(wire.seal(names.READY, header))

    def _ping(self, now: float) -> Send:
        self._next = min(now + self.interval, self.heard + self.options.silence * self.interval)
        if self._next <= now:
            self._next = now + self.interval
        version = self.config.version if self.config is not None else 0
        header: wire.Header = {"time": now + self.wall_offset, "config_version": version}
        if self._ready is not None:
            header["holding"] = self._ready()["holding"]
        return Send(wire.build(names.PING, header))
