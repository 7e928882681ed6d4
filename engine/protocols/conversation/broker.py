"""Seed 001's server: it greets workers, gives them jobs and takes their updates.

- One ``Link`` a worker, in one of the seed's server states; one ``match`` branch is one row of its table.
- Workers speak over ZeroMQ (``main``: a message of one frame is a piece of the byte stream) or plain TCP (``stream``).
- A lone empty frame opens a conversation, and over plain TCP ends it; over ZeroMQ one with a count is a keep-alive.
- A message that can not be read ends its link (SV_EXIT) and its tasks wait again; an unexpected one is only counted.
"""

from __future__ import annotations

from typing import assert_never

from engine.core import (
    MAIN,
    NEVER,
    Command,
    Connected,
    Disconnected,
    Event,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Started,
    Stored,
    Told,
    Unsent,
    Unstored,
    Woken,
)
from engine.parts.inflight import InFlight
from engine.parts.limits import MAX_ROUTING_ID, MAX_SLOTS, MAX_WORKERS
from engine.parts.liveness import Liveness
from engine.parts.machine import Walk
from engine.parts.plain import several
from engine.parts.ready import Ready
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from engine.protocols.conversation import beats, frontend, header, links, messages, picture
from engine.protocols.conversation.frontend import ListJobs, Stopping, StopWorkers
from engine.protocols.conversation.header import ERROR, JOB, OK, STOP, STOP_NOW
from engine.protocols.conversation.job import ID, JobTask
from engine.protocols.conversation.jobfrontend import FRONTEND, OPEN, JobFrontend
from engine.protocols.conversation.links import STREAM, Link, Stopped
from engine.protocols.conversation.machine import SEEN, On, Sv
from engine.protocols.conversation.messages import MAX_UPDATE
from engine.protocols.conversation.operated import Operated
from engine.protocols.conversation.options import Options

_TCP = b"\0stream-"  # before the routing id of a plain TCP peer, so that its key is no ZeroMQ peer's


class Broker(Operated):
    """The broker core. Sockets: ``main``, ``frontend`` and ``open`` (router), ``stream`` (stream)."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.links: dict[bytes, Link] = {}
        self.walk = Walk(SEEN)  # of all links together
        # Rows of each task's way. It ends in LOOP2, where it began, so only their counts change.
        row, again = self.walk.tally, [self.walk.tally(at, On.PASS) for at in (Sv.LOOP0, Sv.LOOP1)]
        self._given = (row(Sv.LOOP2, On.JOB_QUEUED), *again)
        self._updated = (row(Sv.LOOP2, On.UPDATE), row(Sv.LOOP3, On.PASS), *again)
        self.inflight = InFlight()
        self.liveness = Liveness(options.expiry)
        self.violations = Violations()
        self.jobfrontend = JobFrontend(options, self.violations)
        self.counts = dict.fromkeys(picture.COUNTS, 0)
        self.inspected = None
        self._ready: Ready[Link] = Ready()
        self._stopped = Stopped(options.expiry + 3 * options.heartbeat)
        self._opened = 0

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event (``engine.core``). Its orders are those of ``Operated``."""
        out: list[Command] = []
        match event:
            case Received(found, socket):
                if socket in (FRONTEND, OPEN):
                    for frames in found:
                        if (asked := self.jobfrontend.read(frames, socket, now, out)) is not None:
                            self._do(*asked, now, out)
                else:
                    read = self._streamed if socket == STREAM else self._arrived
                    for frames in found:
                        read(frames, now, out)
            case Woken():
                self.jobfrontend.expire(now, out)
                for link in [self.links[key] for key in self.liveness.expired(now)]:
                    (self._end if link.state == Sv.LOOP2 else self._break)(link, On.SILENCE, "is silent", now, out)
            case Unsent(frames, reason, socket):
                self._unsent(frames, reason, socket, now, out)
            case Ordered(order):
                self.ordered(order, now, out)
            case Paused(seconds):
                self.liveness.grace(seconds)
                self.jobfrontend.jobs.owners.grace(seconds)
                out.append(Note("warn", f"paused for {seconds:.1f} s: nobody is expired for that"))
            case Connected(socket, peer) | Disconnected(socket, peer) if socket == MAIN and peer in self.links:
                lively = now < self.liveness.last(peer) + 2 * self.options.heartbeat
                out += (told := self.links[peer].changed(isinstance(event, Connected), lively))
                self.counts["taken over"] += len(told)
            case Started() | Finished() | Connected() | Disconnected() | Stored() | Unstored() | Told():
                pass
            case _:
                assert_never(event)
        if self.jobfrontend.jobs.ripe:
            self._deal(now, out)
        return out

    def wake_at(self) -> float:
        """When the silence of the next peer, worker or client, will have lasted too long."""
        jobs = self.jobfrontend.jobs
        return min(self.liveness.wake_at(), jobs.owners.wake_at(), NEVER if jobs.valve is None else jobs.valve.due)

    def check(self) -> None:
        """Every invariant of the broker."""
        self.inflight.check()
        self.liveness.check()
        self.jobfrontend.jobs.check()
        assert self.jobfrontend.ledger.view(self.inflight.count, self.jobfrontend.jobs.queued).balanced, (
            "the ledger does not balance"
        )
        for key, link in self.links.items():
            held = [task for task in self.inflight.of(key) if isinstance(task, JobTask)]
            assert link.key == key and link.state in (Sv.INIT1, Sv.LOOP2)
            assert sorted(link.out) == sorted(task.counter for task in held), "counters and tasks disagree"
            assert link.used == sum(task.job.slots for task in held) and link.max_nproc >= 0
            assert (link in self._ready) == (link.state == Sv.LOOP2 and link.free > 0)
            assert (key in self.liveness) == (link.socket == MAIN or link.state == Sv.INIT1)
        assert sum(self.inflight.held(key) for key in self.links) == self.inflight.count, "tasks of a link that ended"

    def snapshot(self, now: float) -> BrokerView:
        """The picture for an operator; ``terms`` are the seed's states and how often each was entered."""
        return picture.broker(self, now)

    # ---- what arrives -------------------------------------------------------------------------------------------

    def _arrived(self, frames: Frames, now: float, out: list[Command]) -> None:
        link = self.links.get(frames[0]) if frames else None
        if link is not None and link.socket != MAIN:
            link = None  # a plain peer's key is nobody's routing id
        match frames:
            case [peer, *_] if len(peer) > MAX_ROUTING_ID:
                out.extend(self.violations.add(peer[:MAX_ROUTING_ID], "routing id too long", now))
            case [peer, b""] if peer:
                if link is not None:  # it began anew, so nothing of the old conversation will follow
                    self._end(link, On.OPENING, "began anew", now, out)
                self._open(peer, peer, MAIN, now, out)
            case [_, b"", beat] if link is not None and len(beat) in beats.SIZES:
                self._kept_alive(link, beat, now, out)
            case [_, chunk] if link is not None:
                self._read(link, chunk, now, out)
            case [peer, _] | [peer, b"", _]:
                out.extend(self.violations.add(peer, "no conversation", now))
                if len(frames) == 3 or frames[1][2:4] != header.pack(ERROR, 0)[2:4]:  # no error about an error
                    out.append(links.hang_up(peer, MAIN))
            case _:
                out.extend(self.violations.add(frames[0] if frames else b"", "not one frame", now))

    def _streamed(self, frames: Frames, now: float, out: list[Command]) -> None:
        """One message of the plain TCP socket: bytes, or the empty frame that tells of a connection or of its end."""
        peer, chunk = frames
        key = _TCP + peer
        link = self.links.get(key)
        if link is None:
            if not chunk:
                self._open(key, peer, STREAM, now, out)
        elif chunk:
            self._read(link, chunk, now, out)
        else:
            self._end(link, On.DISCONNECT, "disconnected", now, out)

    def _open(self, key: bytes, peer: bytes, socket: str, now: float, out: list[Command]) -> None:
        if len(self.links) >= MAX_WORKERS or (socket == MAIN and peer.startswith(_TCP)):
            out.extend(self.violations.add(peer, "no room for another worker", now))
            out.append(links.hang_up(peer, socket))
            return
        self._opened += 1
        name = links.name_of(peer) if socket == MAIN else f"tcp{self._opened}"
        link = self.links[key] = Link(key, peer, socket, name, min(self.options.body_limit, MAX_UPDATE), now)
        self.liveness.heard(key, now)
        self._send(link, header.pack(OK, 0), out)
        self._step(link, On.PASS)  # 001 SV_INIT0: send OK(0)

    def _kept_alive(self, link: Link, beat: bytes, now: float, out: list[Command]) -> None:
        if fault := beats.fault(beat, link.decoder):
            self._break(link, On.WRONG, fault, now, out)
            return
        self._step(link, On.ALIVE)
        if link.state == Sv.INIT1:
            return  # a greeting has its own deadline, which no keep-alive moves
        self.liveness.heard(link.key, now)
        link.row, link.doubt = None, max(0, link.doubt - 1)
        out.append(Send([link.peer, b"", link.sent.beat(len(beat))]))

    def _read(self, link: Link, chunk: bytes, now: float, out: list[Command]) -> None:
        """Bytes of a conversation, cut anywhere."""
        if link.state != Sv.INIT1 and link.socket == MAIN:
            self.liveness.heard(link.key, now)
        for message in link.decoder.feed(chunk):
            self._take(link, message, now, out)
            if link.state == Sv.EXIT:
                return
        link.row = None
        if link.decoder.broken:
            self._break(link, On.WRONG, link.decoder.broken, now, out)

    def _do(self, client: bytes, ref: int, request: frontend.Request, now: float, out: list[Command]) -> None:
        if not isinstance(request, StopWorkers):
            if isinstance(request, ListJobs):
                self.jobfrontend.largest = links.largest(self.links.values())
            self.jobfrontend.take(client, ref, request, now, out)
            return
        before, told = links.processors(self.links.values()), links.shares(self.links.values(), request.nproc)
        for link, nproc in told:
            self._stop(link, nproc, out)
        left = links.processors(self.links.values())
        self.jobfrontend.say(client, Stopping(ref, request.nproc, before - left, len(told), left), out)

    def _unsent(self, frames: Frames, reason: str, socket: str, now: float, out: list[Command]) -> None:
        """A worker that can not be sent to is gone: its stream would have a hole."""
        if socket in (FRONTEND, OPEN):
            self.counts["unsent answers"] += 1
        elif (link := self.links.get(frames[0] if socket == MAIN else _TCP + frames[0])) is not None:
            link.unsent(frames[-1])
            self._end(link, On.UNSENT, f"is {reason}", now, out)

    # ---- the seed's table ---------------------------------------------------------------------------------------

    def _take(self, link: Link, message: header.Message, now: float, out: list[Command]) -> None:
        kind, padding, arg0, body = message
        match link.state, kind:
            case Sv.INIT1, header.OK if 0 < arg0 <= MAX_SLOTS:
                # 001 SV_INIT1 on OK(n): record nproc=n
                link.max_nproc = link.offered = link.said = arg0
                # 001 SV_INIT2: send OK(nproc); SV_LOOP0 and SV_LOOP1: what waits is given after every event
                self._send(link, header.pack(OK, arg0), out)
                self._step(link, On.OK_N, On.PASS, On.PASS, On.PASS)
                self._joined(link, now, out)
            case Sv.INIT1, header.OK:
                self._break(link, On.WRONG, "slots out of range", now, out)
            case Sv.LOOP2, header.UPDATE:
                # 001 SV_LOOP2 on UPDATE(n): record task status, set nproc=n
                update = messages.update(body)
                if isinstance(update, str):
                    self._break(link, On.WRONG, update, now, out)
                    return
                self._record(link, update, now, out)
                self._send(link, header.pack(OK, link.free), out)  # 001 SV_LOOP3
                for row in self._updated:
                    row.times += 1
                self._place(link)
            case Sv.LOOP2, header.ERROR if arg0 == header.CANNOT_RUN_JOB:
                self._refused(link, padding, now, out)
            case _, header.ERROR if arg0 == header.LEAVING:
                # 001 SV_LOOP2 on DISCONNECT, in the words of a peer whose transport shows none
                self._end(link, On.DISCONNECT, "left", now, out)
            case state, _:
                out.extend(self.violations.add(link.key, f"{header.NAMES[kind]} in {state}", now))

    def _deal(self, now: float, out: list[Command]) -> None:
        """Give what waits to who has room, the least recently used worker first."""
        full: list[Link] = []
        jobs = self.jobfrontend.jobs
        if jobs.valve is not None:
            jobs.ask_anew()
        while jobs.ripe and (link := self._ready.first()) is not None:
            # 001 SV_LOOP0: request npending<=nproc pending tasks
            task = jobs.next(link.max_nproc, link.free, now)
            if task is None:
                full.append(link)
                self._ready.drop(link)
                continue
            # 001 SV_LOOP2 on JOB_QUEUED, SV_LOOP1: if npending > 0, send JOB(npending)
            for row in self._given:
                row.times += 1
            counter = link.hold(task)
            self.inflight.give(task, link.key, now)
            body = messages.pack_task(task.number, task.job.body, task.job.slots)
            self._send(link, header.pack_body(JOB, body, counter), out)
            self._place(link)
        for link in full:
            self._ready.put(link)
        jobs.peak.mark(jobs.queued, now)

    def _stop(self, link: Link, nproc: int, out: list[Command]) -> None:
        """Take processors from a worker. "All" is sent as their number, which every reading of STOP understands."""
        if link.state != Sv.LOOP2:
            return
        nproc = nproc if nproc == STOP_NOW else min(nproc, link.max_nproc)
        # 001 SV_LOOP2 on STOP_REQ(n), on STOP_IMMED: send STOP
        self._send(link, header.pack_sealed(STOP, nproc), out)
        link.max_nproc, link.doubt = max(0, link.max_nproc - nproc), links.DOUBT
        self._step(link, On.STOP_IMMED if nproc == STOP_NOW else On.STOP_REQ, On.PASS, On.PASS)
        link.row = None
        self._place(link)

    def _end(self, link: Link, event: str, why: str, now: float, out: list[Command], told: bool = True) -> None:
        # 001 SV_LOOP2 on DISCONNECT; ruling 10: its tasks go back to the queue
        known = link.state == Sv.LOOP2
        if link.decoder.partial:
            out.extend(self.violations.add(link.key, "ended inside a message", now))
        self._step(link, event)
        del self.links[link.key]
        self.liveness.forget(link.key)
        self._ready.drop(link)
        held = self.inflight.take_all(link.key)
        for task in held:
            if isinstance(task, JobTask):
                self.jobfrontend.returned(task, task.attempt >= self.options.tries, "lost", now, out)
        self._stopped.ended(link, why == "left", now)
        if known and told:  # or strangers would fill every log with their ends
            left = f", {several(len(held), 'task')} out" if held else ""
            out.append(Note("info" if why == "left" else "warn", f"{link.name} {why}{left}", link.key))

    # ---- pieces of the rows -------------------------------------------------------------------------------------

    def _joined(self, link: Link, now: float, out: list[Command]) -> None:
        link.joined, link.row = now, None
        self.counts["joins"] += 1
        if link.socket == STREAM:
            self.liveness.forget(link.key)  # its transport tells of its end
        else:
            self.liveness.heard(link.key, now)
        self._place(link)
        out.append(Note("good", f"{link.name} joined with {several(link.max_nproc, 'processor')}", link.key))
        if excess := self._stopped.excess(link, now):
            self._stop(link, excess, out)

    def _record(self, link: Link, update: messages.Update, now: float, out: list[Command]) -> None:
        """Book what an UPDATE says. Its capacity is shown, the broker's own count stands (ruling 7)."""
        if update.free is not None:
            link.said, link.shut = update.free, update.free == 0
        job = self.jobfrontend.jobs.get(update.job_id)
        held = None
        if job is not None and 0 < update.task - job.base <= job.text.num_tasks:
            held = self.inflight.take(link.key, (job.client, ID.pack(job.id, update.task)))
        if not isinstance(held, JobTask):
            self.counts["late"] += 1
            return
        link.yield_(held)
        if update.success:
            link.done += 1
            if link.done >= link.served.due:
                link.served.note(now - held.given, now, link.done)
        else:
            link.failed += 1
        self.jobfrontend.finished(held, update, now, out)

    def _refused(self, link: Link, counter: int, now: float, out: list[Command]) -> None:
        """ERROR(cannot_run_job): a JOB comes back, and the worker is given nothing until its next UPDATE."""
        if not counter and len(link.out) > 1:  # ruling 8: nothing says which
            self._break(link, On.WRONG, "error names no job", now, out)
            return
        task = link.out.get(counter) if counter else next(iter(link.out.values()), None)
        if task is None:
            out.extend(self.violations.add(link.key, "error about no job", now))
            return
        self._step(link, On.REFUSED)
        self.inflight.take(link.key, task.key)
        link.yield_(task)
        task.attempt -= 1  # it was not tried
        task.refusals += 1
        self.jobfrontend.returned(task, task.refusals >= self.options.tries, "refused", now, out)
        link.shut = True
        self._place(link)
        if not link.out:
            out.append(Note("warn", f"{link.name} runs nothing and refuses a job: it is given no more", link.key))

    def _break(self, link: Link, event: str, why: str, now: float, out: list[Command]) -> None:
        """End a conversation that can not go on, and tell the worker."""
        out += (told := self.violations.add(link.key, why, now))
        self._end(link, event, f"is cut off: {why}", now, out, told=bool(told))
        out.append(links.hang_up(link.peer, link.socket))

    def _place(self, link: Link) -> None:
        """Whoever was used or gave a slot back last stands at the end."""
        (self._ready.put if link.state == Sv.LOOP2 and link.free > 0 else self._ready.drop)(link)

    def _step(self, link: Link, *events: str) -> None:
        for event in events:
            link.state = self.walk.step(link.state, event)

    def _send(self, link: Link, message: bytes, out: list[Command]) -> None:
        link.sent.add(message)
        out.append(Send([link.peer, message], link.socket))
