"""Seed 001's client: it runs jobs, never more than it has processors, and says how each ended.

- One of the seed's client states; one ``match`` branch is one row of its table.
- Running tasks are tracked; what is free is max_nproc less what they take (ruling 5). A worker whose max_nproc is 0
  leaves as soon as nothing runs and no update is owed, whatever the event was (ruling 6).
- One UPDATE is out at a time. What happens meanwhile is taken, and further updates wait for their turn (ruling 7).
- Built-in commands (``:ping``, ``:data N``) are answered here, at once or ``Slow`` later; others are a ``Process``.
- A lone empty frame opens the conversation; an empty frame with a count behind it is a keep-alive (``beats``).
  Silence, an unreadable stream, a message that was lost or changed, or the broker's word break the conversation. Then
  what runs is killed, since the broker gives it to another, and a new conversation is opened on a new connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import assert_never

from engine.core import (
    NEVER,
    Cancel,
    Command,
    Connected,
    Disconnected,
    Event,
    Exit,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Start,
    Started,
    Stored,
    Told,
    Unsent,
    Unstored,
    Woken,
)
from engine.parts.machine import Walk
from engine.parts.name import Name
from engine.parts.orders import Leave, Slow
from engine.parts.plain import several
from engine.parts.taken import Taken
from engine.parts.view import WorkerView
from engine.parts.violations import Violations
from engine.protocols.conversation import beats, header, messages
from engine.protocols.conversation.beats import Sent
from engine.protocols.conversation.header import ERROR, OK, STOP, STOP_ALL, STOP_NOW, UPDATE, Decoder
from engine.protocols.conversation.machine import WORKER, Cl, If, On, visits
from engine.protocols.conversation.messages import DONE, FAULT, MAX_STATUS, TaskBody, Update
from engine.protocols.conversation.options import Options

GREETING = header.pack(OK, 0)


class Worker:
    """The worker core on one dealer socket. ``slots``: processors, the seed's max_proc; ``name``: its first id."""

    plain = False
    """Whether it speaks over plain TCP (``plain``), where nothing of an earlier conversation can arrive."""

    def __init__(self, options: Options, slots: int, name: str = "worker") -> None:
        self.options = options
        self._name = Name(name)
        self._taken = Taken(options.expiry, 2 * options.heartbeat)  # a conversation is opened a heartbeat after its end
        self.state: str = Cl.INIT0
        self._walk = Walk(WORKER)
        self._fits = {at: self._walk.tally(at, On.JOB, If.FITS) for at in (Cl.LOOP0, Cl.UPDATE1)}  # rows of each task
        self.max_nproc = slots
        self.running: dict[int, TaskBody] = {}  # by our own number, which names a process to the driver
        self.violations = Violations()
        self.done = self._used = self._started = 0
        self._sent = Sent()  # in this conversation
        self._owed: deque[Update] = deque()
        self.executing: Callable[[bytes], object] | None = None  # is told the id of each task before it is answered
        self._slow = self._heard = 0.0
        self._due: list[tuple[float, int]] = []  # when built-in tasks that run are to be answered: a heap
        self._decoder = Decoder(options.body_limit)
        self._lost = False  # the next opening needs a new connection …
        self._is_taken = False  # … under another name
        self._broken = False  # libzmq's connection is, and there is no other yet
        self._beat = self._patient = NEVER  # until the latter an opening may stay unanswered, on this connection

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event (``engine.core``). Orders: Leave, Slow."""
        out: list[Command] = []
        if self.state in (Cl.EXIT0, Cl.EXIT1):
            return out
        match event:
            case Started():
                if (beat := self.options.heartbeat) >= (most := self.options.expiry):
                    words = f"a heartbeat of {beat:g} s, and expiry is {most:g} s: they do not fit together"
                    out.append(Note("warn", words))
                self._open(now, out)
            case Received(found):
                for frames in found:
                    self._arrived(frames, now, out)
            case Woken():
                self._tick(now, out)
            case Finished(key, ok, result):
                self._finished(key, ok, result, out)
            case Ordered(Leave()):
                self._step(On.LEAVE)
                self.max_nproc = 0
            case Ordered(Slow(seconds)):
                self._slow = seconds
            case Ordered(order):
                out.append(Note("warn", f"a worker takes no such order: {type(order).__name__}"))
            case Unsent():
                self._begin_anew(On.UNSENT, "a message could not be sent", now, out)
            case Paused(seconds):
                self._heard += seconds
                self._patient += seconds
                out.append(Note("warn", f"paused for {seconds:.1f} s"))
            case Connected():
                self._connected(now, out)
            case Disconnected():
                self._broken = True
                self._taken.disconnected()
            case Stored() | Unstored() | Told():  # it gives no Store
                pass
            case _:
                assert_never(event)
        self._leave_if_idle(out)
        return out

    def wake_at(self) -> float:
        """The next keep-alive, the next opening, or the broker's expiry."""
        if self.state in (Cl.EXIT0, Cl.EXIT1):
            return NEVER
        if self.state == Cl.INIT0:
            return self._beat
        return min(self._beat, self._heard + self.options.expiry, self._due[0][0] if self._due else NEVER)

    def check(self) -> None:
        """Every invariant of the worker."""
        assert self._used == sum(task.slots for task in self.running.values())
        assert self.state != Cl.LOOP0 or not self._owed, "an update is owed and nothing is waited for"
        assert self.state not in (Cl.INIT0, Cl.EXIT0, Cl.EXIT1) or not self.running

    def snapshot(self, now: float) -> WorkerView:
        """The worker's picture of itself; ``terms``: nproc, max_nproc and how often each state was entered."""
        rows = self._walk.walked()
        return WorkerView(
            at=now,
            state=self.state,
            slots=self.max_nproc,
            running=len(self.running),
            done=self.done,
            broker_heard=self._heard,
            terms=(
                ("nproc", str(self.free)),
                ("max_nproc", str(self.max_nproc)),
                *visits(WORKER, rows, begun=1),
            ),
            joined=self.state in (Cl.LOOP0, Cl.UPDATE0, Cl.UPDATE1),
            walked=rows,
        )

    @property
    def free(self) -> int:
        """The seed's nproc (ruling 5)."""
        return max(0, self.max_nproc - self._used)

    # ---- the seed's table ---------------------------------------------------------------------------------------

    def _take(self, kind: int, padding: int, arg0: int, body: bytes, now: float, out: list[Command]) -> None:
        match self.state, kind:
            case Cl.INIT0, header.OK if arg0 == 0 or self.plain:
                # 001 CL_INIT0 on OK(0): send OK(nproc)
                self._odd("greeting", arg0, 0, out)
                self._decoder.begin(GREETING)
                self._send(header.pack(OK, self.max_nproc), out)
                self._step(On.GREETED)
            case Cl.INIT1, header.OK if arg0 == self.max_nproc or self.plain:
                # 001 CL_INIT1 on OK(nproc)
                self._odd("answer to our processors", arg0, self.max_nproc, out)
                self._step(On.OK)
                out.append(Note("good", f"joined with {several(self.max_nproc, 'processor')}"))
            case Cl.INIT1, header.OK if arg0 == 0:
                self._step(On.GREETED)
                self._decoder.begin(GREETING)  # it heard our opening twice, and greets anew
            case ((Cl.LOOP0 | Cl.UPDATE1), header.JOB):
                # 001 CL_LOOP0 on JOB(nproc); ruling 7: also while an OK is waited for
                self._job(padding, body, now, out)
            case ((Cl.LOOP0 | Cl.UPDATE1), header.STOP) if not header.is_whole(STOP, padding, arg0):
                self._begin_anew(On.WRONG, "messages were changed", now, out)
            case ((Cl.LOOP0 | Cl.UPDATE1), header.STOP) if arg0 == STOP_NOW:
                # 001 CL_LOOP0 on STOP(n), n==immed
                self._stop_now(out)
            case ((Cl.LOOP0 | Cl.UPDATE1), header.STOP):
                # 001 CL_LOOP0 on STOP(n), else; ruling 6: 0 is all
                self._step(On.STOP)
                self.max_nproc = 0 if arg0 == STOP_ALL else max(0, self.max_nproc - arg0)
                out.append(Note("info", f"told to stop: {several(self.max_nproc, 'processor')} left"))
            case Cl.UPDATE1, header.OK:
                # 001 CL_UPDATE1 on OK(nproc); whether to exit is looked at after every event (ruling 6)
                self._step(On.OK)
                self._update(On.OWED, out)
            case _, header.ERROR if arg0 == header.BROKEN and self.state != Cl.INIT0:
                self._begin_anew(On.OVER, "the broker ended the conversation", now, out)
            case Cl.INIT0, _:
                pass  # not to us: the broker has not heard our opening yet
            case state, _:
                out.extend(self.violations.add(b"", f"{header.NAMES[kind]} in {state}", now))

    def _job(self, counter: int, body: bytes, now: float, out: list[Command]) -> None:
        """Start every task of a JOB, or refuse it whole."""
        tasks = messages.tasks(body)
        if isinstance(tasks, str):
            out.extend(self.violations.add(b"", tasks, now))
            self._begin_anew(On.WRONG, tasks, now, out)
            return
        usable = all(messages.usable(task) for task in tasks)
        # ruling 1: a job that exactly fits is taken
        if not usable or sum(task.slots for task in tasks) > self.free:
            self._step(On.JOB, If.TOO_LARGE)
            self._send(header.pack(ERROR, header.CANNOT_RUN_JOB, counter), out)
            return
        self._fits[self.state].times += 1
        for task in tasks:
            self._started += 1
            self._used += task.slots
            self.running[self._started] = task
            if self.executing is not None:
                self.executing(messages.ident_of(task.job))
            if not messages.built_in(task.job.command):
                out.append(Start(self._started, messages.process(task)))
            elif self._slow:
                heappush(self._due, (now + self._slow, self._started))
            else:
                self._finished(self._started, True, b"", out)

    def _finished(self, key: object, ok: bool, result: bytes, out: list[Command]) -> None:
        """A task has ended; one that was killed when its conversation broke is owed to nobody."""
        task = self.running.pop(key, None) if isinstance(key, int) else None
        if task is None:
            return
        # 001 CL_LOOP0 on job done: nproc=min(max_nproc,nproc+job_nproc)
        self._used -= task.slots
        self.done += 1
        words, _, log = result.decode("utf-8", "replace").partition("\0")
        status = words[:MAX_STATUS] or (DONE if ok else f"{FAULT}unknown")
        data = messages.answer(task.job.command) or None
        self._owed.append(Update(task.job.job_id, task.number, ok, status, None, data, log))
        if self.state == Cl.LOOP0:
            self._update(On.DONE, out)
        else:
            self._step(On.DONE)

    def _update(self, event: str, out: list[Command]) -> None:
        """Send the next update, if one is owed."""
        if not self._owed:
            return
        self._step(event)
        # 001 CL_UPDATE0: send UPDATE(nproc)
        update = self._owed.popleft()._replace(free=self.free)
        self._send(header.pack_body(UPDATE, messages.pack_update(update)), out)
        self._step(On.PASS)

    def _stop_now(self, out: list[Command]) -> None:
        # 001 CL_EXIT1: immediate exit; ruling 12: children are killed, no UPDATE is sent
        self._step(On.STOP_NOW)
        self._kill(out)
        self._goodbye(out)
        out.append(Exit("stopped at once"))

    def _leave_if_idle(self, out: list[Command]) -> None:
        """Ruling 6: the exit rule, after every event."""
        if self.max_nproc or self.running or self._owed or self.state not in (Cl.INIT0, Cl.INIT1, Cl.LOOP0):
            return
        # 001 CL_EXIT0: normal exit; its DISCONNECT is said, for a ROUTER sees none
        if self.state != Cl.INIT0:
            self._goodbye(out)
        self._step(On.IDLE)
        out.append(Exit("stopped"))

    def _goodbye(self, out: list[Command]) -> None:
        self._send(header.pack(ERROR, header.LEAVING), out)

    def _odd(self, what: str, number: int, usual: int, out: list[Command]) -> None:
        """Ruling 13: the server's number in OK is arbitrary. Another than the usual one is taken, and told."""
        if number != usual:
            out.append(Note("warn", f"the server's {what} is OK({number}), not OK({usual}): taken as any number is"))

    # ---- the conversation's own life ----------------------------------------------------------------------------

    def _arrived(self, frames: Frames, now: float, out: list[Command]) -> None:
        if self.state == Cl.EXIT1 or self._lost:
            return  # of a conversation that is over, on a connection that will be closed
        match frames:
            case [b"", beat] if len(beat) in beats.SIZES:
                self._hear(now)
                if self.state != Cl.INIT0 and (fault := beats.fault(beat, self._decoder)):
                    self._begin_anew(On.WRONG, fault, now, out)
            case [chunk] if chunk:
                self._hear(now)
                if chunk == header.OVER:  # or it would be read as a part of a message whose length is wrong
                    self._decoder = Decoder(self.options.body_limit)
                self._read(chunk, now, out)
            case _:
                out.extend(self.violations.add(b"", "not one frame", now))

    def _read(self, chunk: bytes, now: float, out: list[Command]) -> None:
        decoder = self._decoder
        for kind, padding, arg0, body in decoder.feed(chunk):
            if self.state == Cl.EXIT1 or self._lost:
                return
            self._take(kind, padding, arg0, body, now, out)
        if decoder.broken:
            out.extend(self.violations.add(b"", decoder.broken, now))
            self._begin_anew(On.WRONG, decoder.broken, now, out)

    def _hear(self, now: float) -> None:
        self._heard, self._patient = now, now + self.options.expiry
        self._taken.heard(now)

    def _connected(self, now: float, out: list[Command]) -> None:
        """On a connection made anew, after one that broke: has everything arrived? It is asked at once."""
        if not self._broken:
            return
        self._broken = False
        if not self._lost:
            self._beat = now
            self._tick(now, out)

    def _open(self, now: float, out: list[Command]) -> None:
        """Open a conversation; again every heartbeat until the broker greets, and in time on a new connection."""
        if now >= self._patient and not self._lost:
            self._lost, self._is_taken = True, self._taken.silent(now)
        if self._lost:
            out += self._name.reopen(self._is_taken)
            self._lost = self._is_taken = self._broken = False
            self._patient = now + self.options.expiry
        elif self._patient == NEVER:
            self._patient = now + self.options.expiry
        self._decoder = Decoder(self.options.body_limit)
        self._sent = Sent()
        self._beat = now + self.options.heartbeat
        out.append(Send([b""]))

    def _answer_due(self, now: float, out: list[Command]) -> None:
        while self._due and self._due[0][0] <= now:
            self._finished(heappop(self._due)[1], True, b"", out)

    def _tick(self, now: float, out: list[Command]) -> None:
        self._answer_due(now, out)
        if self.state != Cl.INIT0 and now >= self._heard + self.options.expiry:
            self._is_taken = self._taken.silent(now)
            self._begin_anew(On.SILENCE, "the broker is silent", now, out)
        elif now >= self._beat:
            self._step(On.BEAT)
            if self.state == Cl.INIT0:
                self._open(now, out)
                return
            self._beat = now + self.options.heartbeat
            out.append(Send([b"", self._sent.beat()]))

    def _begin_anew(self, event: str, why: str, now: float, out: list[Command]) -> None:
        """The conversation is broken. Open another one heartbeat from now, so that two peers at odds do not spin."""
        if self.state == Cl.INIT0:
            return
        self._step(event)
        killed = f", {several(len(self.running), 'task')} killed" if self.running else ""
        out.append(Note("warn", f"{why}: the conversation begins anew{killed}"))
        self._kill(out)
        self._lost = True
        if event != On.SILENCE:
            self._taken.disconnected()
        self._beat = now + self.options.heartbeat

    def _kill(self, out: list[Command]) -> None:
        """End what runs and forget what is owed: the broker gives it to another."""
        out.extend(Cancel(key) for key, task in self.running.items() if not messages.built_in(task.job.command))
        self.running.clear()
        self._used = 0
        self._owed.clear()
        self._due.clear()

    def _step(self, event: str, guard: str = "") -> None:
        self.state = self._walk.step(self.state, event, guard)

    def _send(self, message: bytes, out: list[Command]) -> None:
        self._sent.add(message)
        out.append(Send([message]))
