"""The client: it submits jobs to the broker's frontend, in bulk or by an operator's order, and hears how they end.

- A bulk run is one submission of one built-in task at a time, ``:ping`` or ``:data N``, so that each task of the run
  is one task of the broker's ledger. Its ``Ref`` is a counter that never starts again: late answers are told apart.
- One run at a time. Orders (``frontend``'s requests) may be given beside it; their answers are kept for whoever
  gave them, newest last.
- An empty frame every heartbeat keeps the link; the broker answers it. A broker that is silent for ``expiry`` is looked
  for on a new connection, and again every so often. What is out is asked for again then, with a word that says so: a
  submission that got no answer may have been taken.
"""

from __future__ import annotations

from collections import deque
from typing import assert_never

from engine.core import (
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
from engine.parts.bulk import BulkSpec
from engine.parts.machine import Walk
from engine.parts.name import Name
from engine.parts.orders import StopRun
from engine.parts.runner import Runner
from engine.parts.taken import Taken
from engine.parts.view import ClientView
from engine.parts.violations import Violations
from engine.protocols.conversation import frontend, messages, words
from engine.protocols.conversation.frontend import (
    Accepted,
    Answer,
    JobEnded,
    JobsListed,
    Refusal,
    Request,
    Stopping,
    Submit,
    TaskEnded,
    TasksListed,
)
from engine.protocols.conversation.machine import LINK, Link, On
from engine.protocols.conversation.messages import MAX_DATA, Description
from engine.protocols.conversation.options import Options

ANSWERS = 1000  # that are kept; of lists the newest of each kind
ORDERS = 100  # that may wait for their answer, and jobs that may be followed
PATIENCE = 5.0  # seconds that an order waits


class Client:
    """The client core on one dealer socket. ``name``: its routing id at first."""

    def __init__(self, options: Options, name: str = "client") -> None:
        self.options = options
        self._name = Name(name)
        self._taken = Taken(options.expiry, options.heartbeat)
        self._broken = False  # its connection is, and it has no other yet
        self.violations = Violations()
        self._runs = Runner(first=1)  # numbers are Refs
        self._text: Submit | None = None  # what each task of the run submits
        self._expected = b""  # what each task of the run must bring
        self._orders: dict[int, float] = {}  # Ref → when to give up
        self._followed: set[int] = set()  # Refs of jobs that an order submitted and that have not ended
        self._submitted: dict[int, Submit] = {}  # what orders submitted whose acceptance or end is to come
        self._answers: deque[tuple[int, Answer]] = deque(maxlen=ANSWERS)
        self._lists: dict[type[Answer], tuple[int, Answer]] = {}
        self._told = 0
        self._heard = -NEVER
        self._patient = NEVER  # until then: the broker may be silent, on this connection
        self._link: str = Link.SILENT
        self._beat = NEVER
        self.reopened = 0
        self._walk = Walk(LINK)
        self._told_again = self._walk.tally(Link.LINKED, On.HEARD)
        self._task_ended = self._walk.tally(Link.LINKED, On.ANSWERED)

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event (``engine.core``). Orders: BulkSpec, StopRun, and every request of ``frontend``."""
        out: list[Command] = []
        match event:
            case Started():
                self._beat, self._patient = now, now + self.options.expiry
            case Received(found):
                spoken = [self._arrived(frames, now, out) for frames in found]
                if any(spoken):
                    self._hear(now)
            case Unsent(frames):
                self._unsent(frames, now)
            case Ordered(order):
                self._ordered(order, now, out)
            case Paused(seconds):
                self._heard += seconds
                self._patient = max(self._patient, now + self.options.heartbeat)
                out.append(Note("warn", f"paused for {seconds:.1f} s"))
            case Connected():
                if self._broken:
                    self._broken = False
                    self._step(On.CONNECTED)
                    self._ask_again(out)
            case Disconnected():
                self._broken = True
                self._taken.disconnected()
            case Woken() | Finished() | Stored() | Unstored() | Told():
                pass
            case _:
                assert_never(event)
        self._tick(now, out)
        return out

    def wake_at(self) -> float:
        """The next keep-alive, task, timeout, or order to give up."""
        return min(self._runs.wake_at(), self._beat, self._patient, next(iter(self._orders.values()), NEVER))

    def check(self) -> None:
        """Every invariant of the client."""
        self._runs.check()
        assert len(self._orders) <= ORDERS and len(self._followed) <= ORDERS
        assert self._submitted.keys() <= {*self._orders, *self._followed}

    def snapshot(self, now: float) -> ClientView:
        """The link, the newest run, and in ``answers`` what the broker answered to orders."""
        return ClientView(
            at=now,
            linked=now < self._heard + self.options.expiry,
            run=self._runs.view(now),
            late=self._runs.late,
            legs=self._runs.legs.view(),
            answers=self._kept(),
            terms=(
                ("broker", "alive" if self._link == Link.LINKED else "silent"),
                ("reopened", str(self.reopened)),
                ("asked again", str(self._runs.again)),
            ),
            walked=self._walk.walked(),
        )

    # ---- bulk runs ----------------------------------------------------------------------------------------------

    def _run(self, spec: BulkSpec, now: float, out: list[Command]) -> None:
        if not self._runs.begin(spec, now, out, MAX_DATA):
            return
        command = ":ping" if spec.kind == "ping" else f":data {spec.size}"
        self._text = Submit(Description(0, "", 1, "", "", command), 1, spec.tracked)
        self._expected = messages.answer(command) or b""

    def _submit_of(self, task: int) -> Submit:
        """What a task of the run submits; under its id, where the run has any."""
        assert self._text is not None and self._runs.bulk is not None
        return self._text._replace(ident=self._runs.ident(task)) if self._runs.bulk.spec.tag else self._text

    def _tick(self, now: float, out: list[Command]) -> None:
        """Whatever time brings: a new connection, the next tasks, what is given up, the keep-alive."""
        self._runs.expire(now)
        if now >= self._patient:
            self._reopen(now, out)
        if self._text is not None:
            submitted = [(self._runs.base + task, self._submit_of(task)) for task in self._runs.due(now)]
            out += [Send([frontend.pack_request(ref, submit)]) for ref, submit in submitted]
        while self._orders and next(iter(self._orders.values())) <= now:
            ref = next(iter(self._orders))
            del self._orders[ref]
            self._forget(ref)
            self._keep(Refusal(ref, "no answer"))
            out.append(Note("bad", "the broker did not answer an order"))
        if now >= self._beat:
            self._step(On.BEAT)
            self._beat = now + self.options.heartbeat
            out.append(Send([b""]))

    def _hear(self, now: float) -> None:
        """The broker is there: what answers in another protocol is none."""
        if self._link == Link.LINKED:
            self._told_again.times += 1
        else:
            self._step(On.HEARD)
        self._heard, self._patient = now, now + self.options.expiry
        self._taken.heard(now)

    def _step(self, event: str) -> None:
        self._link = self._walk.step(self._link, event)

    def _reopen(self, now: float, out: list[Command]) -> None:
        """The broker is silent: look for it on a new connection, and ask again for what is out."""
        if self._link == Link.LINKED:
            out.append(Note("warn", f"the broker is silent for {self.options.expiry:g} s: the socket is opened anew"))
        self._step(On.NO_ANSWER)
        self._patient, self._beat = now + self.options.expiry, now + self.options.heartbeat
        self.reopened += 1
        self._broken = False
        out += self._name.reopen(self._taken.silent(now))
        self._ask_again(out)

    def _ask_again(self, out: list[Command]) -> None:
        out.append(Send([b""]))
        submitted = dict(self._submitted)
        self._runs.again += len(submitted)
        if self._text is not None:
            submitted |= {self._runs.base + task: self._submit_of(task) for task in self._runs.repeat()}
        for ref, submit in submitted.items():
            out.append(Send([frontend.pack_request(ref, submit._replace(again=True))]))

    def _ended(self, ended: TaskEnded, task: int, now: float) -> None:
        """One task of the run is answered."""
        self._task_ended.times += 1
        if not self._runs.awaited(task):
            return
        got = ended.data or b""
        if not ended.success:
            self._runs.failed(task, "withdrawn" if ended.status == messages.WITHDRAWN else "failed", now)
        elif got != self._expected:
            self._runs.failed(task, "wrong data", now)
        else:
            ref = self._runs.base + task
            self._runs.replied(task, ref.to_bytes(8, "little"), now, len(got))

    # ---- orders -------------------------------------------------------------------------------------------------

    def _ordered(self, order: object, now: float, out: list[Command]) -> None:
        match order:
            case BulkSpec():
                self._run(order, now, out)
            case StopRun():
                self._runs.stop(now)
            case _ if isinstance(order, Request):
                self._request(order, now, out)
            case _:
                out.append(Note("warn", f"a client takes no such order: {type(order).__name__}"))

    def _request(self, request: Request, now: float, out: list[Command]) -> None:
        if len(self._orders) >= ORDERS or len(self._followed) >= ORDERS:
            out.append(Note("warn", "too many orders wait for an answer"))
            return
        ref = self._runs.next
        self._runs.next += 1
        self._orders[ref] = now + PATIENCE
        if isinstance(request, Submit):
            self._submitted[ref] = request
            if request.follow and not messages.lone(request.job):
                self._followed.add(ref)
        out.append(Send([frontend.pack_request(ref, request)]))

    def _arrived(self, frames: Frames, now: float, out: list[Command]) -> bool:
        """One message; whether it is one of this protocol."""
        match frames:
            case [b""]:
                return True
            case [body]:
                answer = frontend.answer(body)
            case _:
                answer = "not one frame"
        if isinstance(answer, str):
            out.extend(self.violations.add(b"", answer, now))
            return False
        run, task = self._runs.bulk, answer.ref - self._runs.base
        if run is not None and 0 <= task < run.spec.n:
            match answer:
                case TaskEnded():
                    self._ended(answer, task, now)
                case Refusal(_, why):
                    if self._runs.awaited(task):
                        self._runs.failed(task, _refused(why, run.spec.tag), now)
                case _:
                    out.extend(self.violations.add(b"", "unexpected answer", now))
        elif isinstance(answer, Accepted) and answer.ref in self._followed and answer.ref not in self._orders:
            pass  # it is known, and was asked for again
        elif self._orders.pop(answer.ref, None) is not None or answer.ref in self._followed:
            self._answered(answer, out)
        else:
            self._runs.late += 1
        return True

    def _answered(self, answer: Answer, out: list[Command]) -> None:
        """An answer to an order; a followed job gives more of them until it has ended."""
        self._keep(answer)
        match answer:
            case Accepted(ref, job_id) if job_id:
                if ref not in self._followed:
                    self._forget(ref)
                out.append(Note("good", f"job {job_id}: accepted"))
            case Stopping():
                out.append(Note("info", words.stops(answer)))
            case TaskEnded(ref) if ref not in self._followed:
                self._forget(ref)
            case Refusal(ref, why):
                self._forget(ref)
                out.append(Note("warn", f"refused: {why}"))
            case JobEnded(ref, job_id, _, done, failed):
                self._forget(ref)
                out.append(Note("bad" if failed else "good", f"job {job_id} ended: {done} done, {failed} failed"))

    def _forget(self, ref: int) -> None:
        """Nothing more is to come of what an order submitted."""
        self._followed.discard(ref)
        self._submitted.pop(ref, None)

    def _kept(self) -> tuple[tuple[int, Answer], ...]:
        kept: list[tuple[int, Answer]] = [*self._answers, *self._lists.values()]
        return tuple(sorted(kept, key=lambda pair: pair[0]))

    def _keep(self, answer: Answer) -> None:
        self._told += 1
        if isinstance(answer, JobsListed | TasksListed):
            self._lists[type(answer)] = self._told, answer
        else:
            self._answers.append((self._told, answer))

    def _unsent(self, frames: Frames, now: float) -> None:
        """The driver could not take a message: the task, or the order, has failed."""
        asked = frontend.request(frames[0]) if frames[0] else ""
        if isinstance(asked, str):
            return  # a keep-alive
        ref = asked[0]
        if self._orders.pop(ref, None) is not None:
            self._forget(ref)
            self._keep(Refusal(ref, "unsent"))
        else:
            self._runs.refused(now, ref - self._runs.base)


def _refused(why: str, tag: bytes) -> str:
    """How a task of a run has failed that was refused; one with an id by the words of the broker's store."""
    return "full" if why.startswith(frontend.FULL) else why if tag else "refused"
