"""The round robin worker: registers, answers tasks, gives a slot back for each.

The rules of this file (numbers are those of README.md):

- LINKING: PING the broker. REGISTERING: the PONG came; REGISTER, again every heartbeat until the reply. WORKING: the
  reply came. LEAVING: DEREGISTER and a PING were sent; what the broker sent before it read them comes before the PONG,
  so with the PONG there and nothing held, nothing is left behind. (R10)
- Tasks are answered in order of arrival, at once or ``Slow`` later; then an INCREMENT gives the slot back, also for a
  task that nobody here knows how to answer. (R5)
- Over the packed lane, once the broker agreed to it, answers that are due together go together, and each is its slot's
  INCREMENT too. A task of an earlier registration, which has no slot to give back, is answered over the seed's lane.
- A connection that ended is a new link, also where libzmq has made another before anybody missed it. (R4)
- A link that opens anew and a PONG that denies that we are registered both lead to a new registration, with all slots
  free: a task held from before is answered, but its slot is gone. (R4)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from engine.core import (
    NEVER,
    Command,
    Connected,
    Disconnected,
    Event,
    Exit,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Share,
    Started,
    Unsent,
    Woken,
)
from engine.parts.limits import MAX_SLOTS
from engine.parts.machine import Walk
from engine.parts.orders import Leave, Pack, Slots, Slow
from engine.parts.view import WorkerView
from engine.parts.violations import Violations
from engine.protocols.roundrobin import data, packed
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin.link import Link, Name
from engine.protocols.roundrobin.machine import WORKER, Does, If, On
from engine.protocols.roundrobin.options import Options

BROKER = b"broker"  # the peer of all violations here: a DEALER hears only its broker


class Worker:
    """The core of the worker's role. Orders: ``Leave``, ``Slow``, ``Slots``, ``Pack``.

    ``seed`` makes its stream data its own.

    ``name``: see ``Link``.
    """

    def __init__(self, options: Options, slots: int, seed: int, name: Name | None = None) -> None:
        self.options, self.slots = options, slots
        self.state: str = Does.LINKING
        self._walk = Walk(WORKER)
        self._tasks = {state: self._walk.tally(state, On.TASK) for state in WORKER.states if state != Does.LEFT}
        self._task = self._tasks[self.state]
        self.link = Link(options.heartbeat, options.expiry, options.packed, name, shares=True)
        self.violations = Violations()
        self.unknown = self.unsent = self.done = 0
        self.executing: Callable[[bytes], object] | None = None  # is told the id of each task before it is answered
        self.delay = 0.0  # seconds from a task's arrival to its answer
        self._held: deque[tuple[float, int, bytes, Frames]] = (
            deque()
        )  # arrival, registration, client, task; oldest first
        self._answers: list[packed.Data] = []  # of the event at hand, for the packed lane
        self._registrations = 0  # so far
        self._dice = data.Dice(seed)
        self._streams = 0
        self._increments = 0
        self._register_at = NEVER  # when REGISTER is repeated
        self._leave_by = NEVER  # when the goodbye is over whatever came
        self._registers = False  # other slots are to be said: behind an answer, for behind a PING it would begin anew
        self._parting = False  # a goodbye was said, and its PONG may come

    # ---- the contract --------------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event; see ``engine.core``."""
        out: list[Command] = []
        if self.state == Does.LEFT:
            return out
        answered = self.done + self.unknown
        match event:
            case Received(messages):
                for frames in messages:
                    self._receive(frames, now, out)
            case Woken():
                self._tick(now, out)
            case Started():
                out += self.link.open(now)
            case Ordered(Leave()):
                self._leave(now, out)
            case Ordered(Slow(seconds)):
                self.delay = max(0.0, seconds)
                self._serve(now, out)
            case Ordered(Slots(slots)):
                self.slots, self._registers = slots, True
            case Ordered(Pack(on)):
                out.append(self.link.pack(on, now))
            case Paused(seconds):
                if seconds >= self.options.expiry and self.state != Does.LEAVING:
                    out.append(Note("warn", f"this worker did not run for {seconds:.1f} s: linking anew"))
                    self._relink(On.PAUSED, [Reopen(), *self.link.open(now)], out)
            case Unsent():
                self.unsent += 1
            case Disconnected():
                self._ended(now, out)
            case Connected():
                pass  # the PING that waits for it says all
            case _:
                raise TypeError(f"a round robin worker takes no {event!r}")
        self._flush(out)
        acts = not self._held or self.done + self.unknown > answered
        if self._registers and acts and self.state == Does.WORKING:
            self._registers = False
            out.append(Send(wire.register(self._register_id(), self.slots)))
            out.append(Note("info", f"registers with {self.slots} slots"))
        if self.state == Does.LEAVING and self._is_done(now):
            self._step(On.DONE, "" if not self._parting else If.UNHEARD if self.link.waits else If.PONGED)
            self._leave_by = NEVER
            out.append(Exit("left the broker"))
        return out

    def wake_at(self) -> float:
        """The next heartbeat, the next repeated REGISTER, the next slowed answer, or the end of the goodbye."""
        if self.state == Does.LEFT:
            return NEVER
        at, other = self.link.wake_at(), self._held[0][0] + self.delay if self._held else self._leave_by
        return min(at, self._register_at, other)

    def check(self) -> None:
        """What is held is held in order and within bounds; timers belong to states."""
        arrivals = [arrived for arrived, *_ in self._held]
        assert not self._answers, "a batch was not sent"
        assert arrivals == sorted(arrivals) and len(arrivals) <= MAX_SLOTS
        assert (self._register_at != NEVER) == (self.state == Does.REGISTERING)
        assert (self._leave_by != NEVER) == (self.state == Does.LEAVING)
        assert self.state != Does.WORKING or self.link.up
        assert self.link.claims == (self.state == Does.WORKING)

    def snapshot(self, now: float) -> WorkerView:
        """The worker's picture of itself."""
        return WorkerView(
            at=now,
            state=self.state,
            slots=self.slots,
            running=len(self._held),
            done=self.done,
            broker_heard=self.link.heard,
            joined=self.state == Does.WORKING,
            walked=self._walk.walked(),
            terms=(
                ("links", str(self.link.number)),
                ("lane", "packed" if self.link.packs else "seed"),
                ("delay", f"{self.delay:g} s"),
                ("unknown tasks", str(self.unknown)),
                ("violations", str(self.violations.total)),
                ("unsent", str(self.unsent)),
            ),
        )

    # ---- messages ------------------------------------------------------------------------------------------------

    def _receive(self, frames: Frames, now: float, out: list[Command]) -> None:
        if len(frames) == packed.AT_PEER:
            self._deliveries(frames[0], now, out)
            return
        match wire.at_peer(frames):
            case wire.TASK:
                self._take(frames[-1], frames[2:-2], now, out)
                self._serve(now, out)
            case wire.LINK_PING:
                out.append(Send(wire.link_pong(frames[3])))
            case wire.LINK_PONG:
                self._flush(out)  # the PONG may change the lane
                if self.link.ponged(frames[3], now):
                    self._ponged(now, out)
            case wire.JOINED:
                if self.state == Does.REGISTERING and frames[3] == self._register_id():
                    self._step(On.REGISTERED)
                    self._register_at, self.link.claims = NEVER, True
                    out.append(Note("good", f"registered with {self.slots} slots"))
            case wire.REPLY:
                out += self.violations.add(BROKER, "a reply to a worker, which asked nothing", now)
            case wrong:
                out += self.violations.add(BROKER, str(wrong), now)

    def _deliveries(self, frame: bytes, now: float, out: list[Command]) -> None:
        is_ours = packed.kind(frame) == packed.DELIVERIES
        pairs = packed.read_deliveries(frame) if is_ours else "wrong number of frames"
        if isinstance(pairs, str):
            out += self.violations.add(BROKER, pairs, now)
            return
        for client, task in pairs:
            self._take(client, task, now, out)
        self._serve(now, out)

    def _take(self, client: bytes, task: Frames, now: float, out: list[Command]) -> None:
        if len(self._held) >= MAX_SLOTS:
            out += self.violations.add(BROKER, "more tasks than any worker may hold", now)
        else:
            self._held.append((now, self._registrations, client, task))

    def _serve(self, now: float, out: list[Command]) -> None:
        """Answer what is due, and give its slot back to the registration that it came under."""
        while self._held and self._held[0][0] + self.delay <= now:
            _, registration, client, task = self._held.popleft()
            self._task.times += 1
            if self.executing is not None:
                self.executing(task[1])
            answer = self._answer(task)
            paid = registration == self._registrations
            if paid and self.link.packs and (not isinstance(answer, bytes) or len(answer) <= packed.SMALL):
                self._answers += (client, task[1], answer)
                if len(self._answers) == 3 * packed.BATCH:
                    self._flush(out)
                continue
            if answer is not None:
                out.append(Send(wire.reply(client, task[1], None if answer is True else answer)))
            if paid:
                self._increments = (self._increments + 1) & 0xFFFFFFFF
                out.append(Send(wire.increment(self._increments.to_bytes(4, "little"))))

    def _flush(self, out: list[Command]) -> None:
        if self._answers:
            out.append(Send([packed.answers(self._answers)]))
            self._answers.clear()

    def _answer(self, task: Frames) -> packed.Data:
        """What there is to say to a task's client; None to one that wants no reply, or that nobody here understands."""
        answer: packed.Data = True
        if task[2] == wire.APP_STREAM:
            size = wire.stream_size(task, self.options.max_stream)
            self._streams += 1
            answer = data.abort(self._streams) if size is None else data.make(size, self._streams, self._dice)
        elif task[2] != wire.APP_PING:
            self.unknown += 1
            return None
        self.done += 1
        return answer if task[0] == wire.TRACKEXEC else None

    # ---- joining and leaving -------------------------------------------------------------------------------------

    def _ponged(self, now: float, out: list[Command]) -> None:
        before = self.state
        self._step(On.PONG, If.DENIES if before == Does.WORKING and self.link.denied else "")
        if self.state != Does.REGISTERING or before == Does.REGISTERING:
            return
        if before == Does.WORKING:
            out.append(Note("warn", "the broker does not know this worker: registering again"))
        elif self.options.packed:  # the first PONG of a link
            out.append(Share(self.link.shares))
        self.link.claims = False
        self._registrations += 1
        self._register(now, out)

    def _register_id(self) -> bytes:
        """The same for all REGISTERs of one registration."""
        return (self._registrations & 0xFFFFFFFF).to_bytes(4, "little")

    def _register(self, now: float, out: list[Command]) -> None:
        self._register_at = now + self.options.heartbeat
        out.append(Send(wire.register(self._register_id(), self.slots)))

    def _relink(self, event: str, commands: list[Command], out: list[Command]) -> None:
        self._step(event)
        out += commands
        self._register_at = NEVER

    def _ended(self, now: float, out: list[Command]) -> None:
        if self.state == Does.LEAVING:  # the goodbye may be lost with it
            self._step(On.ENDED)
            out += [Send(wire.deregister()), self.link.ask(now)]
        else:
            self._relink(On.ENDED, self.link.ended(now), out)

    def _leave(self, now: float, out: list[Command]) -> None:
        if self.state == Does.LEAVING:
            return
        self._parting = self.state != Does.LINKING
        self._step(On.LEAVE)
        self._register_at, self.link.claims = NEVER, False
        self._leave_by = now
        if self._parting:
            self._leave_by = now + self.options.expiry
            out.append(Send(wire.deregister()))
            out.append(self.link.ask(now, fresh=True))

    def _is_done(self, now: float) -> bool:
        """All is answered, and the broker has read our goodbye or does not speak any more."""
        return not self._held and (now >= self._leave_by or not self.link.waits)

    def _tick(self, now: float, out: list[Command]) -> None:
        self._serve(now, out)
        self._flush(out)  # the link may open anew
        commands = self.link.tick(now)
        if len(commands) > 1 and any(type(command) is Reopen for command in commands):
            self._relink(On.NO_PONG, commands, out)
        else:
            out += commands
        if now >= self._register_at:
            self._step(On.NO_RESPONSE)
            self._register(now, out)

    def _step(self, event: str, guard: str = "") -> None:
        self.state = self._walk.step(self.state, event, guard)
        self._task = self._tasks.get(self.state, self._task)
