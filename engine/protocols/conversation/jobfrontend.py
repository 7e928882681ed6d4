"""The frontend half of the broker: whose jobs these are, what may be done to them, and who hears of it.

- Every request gets an answer; that of a lone built-in task is its end.
- A submission is taken whole or refused whole; what is taken is in the ledger until its end is.
- One that is asked for again is taken once, also where it came twice without the word that says so. A command that is
  not known then is refused, for it may have run.
- What waits of a client that is gone is withdrawn; a job that nobody follows goes on, as the operator's.
- An order from the broker's own operator is a request of the client ``b""``; its answers are notes.
- Over ``open``, where anybody may connect, only lone built-in tasks are taken: ping and data. Whatever runs a command,
  ends or changes something or tells of it comes over ``frontend``, which is within the process and of this user alone.
"""

from __future__ import annotations

from engine.core import Command, Frames, Note, Send
from engine.parts.callers import Callers
from engine.parts.explain import show
from engine.parts.ledger import Ledger
from engine.parts.legs import EVERY, BrokerLegs
from engine.parts.limits import MAX_HELD, MAX_ROUTING_ID
from engine.parts.plain import several
from engine.parts.violations import Violations
from engine.protocols.conversation import frontend, messages, words
from engine.protocols.conversation.frontend import (
    Accepted,
    Answer,
    CancelJob,
    Hold,
    JobEnded,
    JobRow,
    JobsListed,
    ListJobs,
    ListTasks,
    Refusal,
    Release,
    Request,
    Submit,
    TaskEnded,
    TasksListed,
)
from engine.protocols.conversation.job import Job, JobTask, size_of
from engine.protocols.conversation.jobs import MAX_JOBS, OPEN_KEY, Jobs
from engine.protocols.conversation.machine import Does
from engine.protocols.conversation.messages import FAULT, WITHDRAWN, Description, Update
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.past import FAILED, short

FRONTEND, OPEN = "frontend", "open"
ELSEWHERE = "this port takes ping and data alone; jobs are handed in on the broker's machine, as its user"

TOLD = 20  # failures of one job that are told one by one

Errand = Submit | ListJobs | ListTasks | Hold | Release | CancelJob
"""The requests that concern jobs alone."""


class JobFrontend:
    """Takes errands, keeps the ledger of tasks, tells the followers."""

    def __init__(self, options: Options, violations: Violations) -> None:
        self.jobs = Jobs(options)
        self.callers = Callers()
        self.ledger = Ledger()
        self.legs = BrokerLegs()
        self.refused = self.redelivered = self.again = 0
        self.largest = 0  # processors of the largest worker when the jobs are listed
        self._backlog = options.max_backlog
        self._violations = violations

    def read(self, frames: Frames, socket: str, now: float, out: list[Command]) -> tuple[bytes, int, Request] | None:
        """One message of a client: its key, its number and what it asks, unless that is answered here."""
        match frames:
            case [client, *_] if len(client) > MAX_ROUTING_ID:
                out.extend(self._violations.add(client[:MAX_ROUTING_ID], "routing id too long", now))
                return None
            case [client, b""] if client:
                self.jobs.owners.heard(self._key(client, socket), now)
                out.append(Send([client, b""], socket))
                return None
            case [client, body] if client:
                request = frontend.request(body)
            case _:
                client, request = frames[0] if frames else b"", "not one frame"
        if isinstance(request, str):
            out.extend(self._violations.add(client, request, now))
            return None
        key, (ref, asked) = self._key(client, socket), request
        self.jobs.owners.heard(key, now)
        if socket == FRONTEND or (isinstance(asked, Submit) and messages.lone(asked.job) and asked.slots == 1):
            return key, ref, asked
        out.extend(self._violations.add(client, "an order over an open port", now))
        self.refuse(key, ref, ELSEWHERE, out)
        return None

    @staticmethod
    def _key(client: bytes, socket: str) -> bytes:
        return client if socket == FRONTEND else OPEN_KEY + client

    def take(self, client: bytes, ref: int, errand: Errand, now: float, out: list[Command]) -> None:
        """Do what a client asks, and answer."""
        match errand:
            case Submit():
                self._submit(client, ref, errand, now, out)
            case ListJobs():
                known = [job for job in self.jobs.all() if not job.lone]
                rows = _newest(known)
                self.say(client, JobsListed(ref, rows + self._crowds(), len(known) - len(rows), self.largest), out)
            case ListTasks(job_id, failed, after):
                job = self.jobs.get(job_id)
                if job is None or job.lone:
                    self.refuse(client, ref, "no such job", out)
                else:
                    self.say(client, self._tasks(ref, job, failed, after, now), out)
            case Hold(job_id) | Release(job_id) | CancelJob(job_id):
                job = self.jobs.get(job_id)
                why = self._change(job, errand, out) if job is not None else "no such job"
                if why:
                    self.refuse(client, ref, why, out)
                else:
                    self._done(job_id, client, Accepted(ref, job_id), out)

    def _done(self, job_id: int, client: bytes, answer: Answer, out: list[Command]) -> None:
        """A job is changed, and its order is answered."""
        self.say(client, answer, out)

    def say(self, client: bytes, answer: Answer, out: list[Command]) -> None:
        """Answer a client, or the broker's own operator."""
        if client.startswith(OPEN_KEY):
            out.append(Send([client[len(OPEN_KEY) :], frontend.pack_answer(answer)], OPEN))
        elif client:
            out.append(Send([client, frontend.pack_answer(answer)], FRONTEND))
        elif not isinstance(answer, TaskEnded):
            out.append(Note("warn" if isinstance(answer, Refusal) else "info", words.of(answer)))

    def refuse(self, client: bytes, ref: int, why: str, out: list[Command]) -> None:
        """Answer no, and count it."""
        self.refused += 1
        self.say(client, Refusal(ref, why), out)

    def finished(self, task: JobTask, update: Update, now: float, out: list[Command]) -> None:
        """A worker says that a task, in flight until now, has ended."""
        job = task.job
        if update.success:
            self.ledger.succeeded += 1
        else:
            self.ledger.fail("failed")
        if job.builtin and not job.ref % EVERY:
            key = id_of(job.client), job.ref.to_bytes(8, "little")
            self.legs.note(*key, job.accepted, task.given, now, task.worker, task.attempt)
        self._ended(task, update, now, out)

    def returned(self, task: JobTask, enough: bool, kind: str, now: float, out: list[Command]) -> None:
        """A task, in flight until now, is not done. ``enough``: it is not given again, and has failed as ``kind``."""
        if task.job.state == Does.CANCELLED:
            enough, kind = True, "cancelled"
        if not enough:
            self.redelivered += 1
            task.why = kind
            self.jobs.back(task)
            return
        self.ledger.fail(kind)
        self._ended(task, Update(task.job.id, task.number, False, f"{FAULT}{kind}"), now, out)

    def expire(self, now: float, out: list[Command]) -> None:
        """Withdraw what waits of clients that are gone; what none of them follows is the operator's from now on."""
        withdrawn = 0
        for client in self.jobs.owners.silent(now):
            for job in self.jobs.of(client):
                if job.follow or job.builtin:
                    withdrawn += self._withdraw(job, out)
                else:
                    self.jobs.adopt(job, now)
        if withdrawn:
            out.append(Note("warn", f"{several(withdrawn, 'task')} withdrawn from the backlog: clients are silent"))

    def withdraw(self, client: bytes, out: list[Command]) -> None:
        """An operator says that what waits of a client is not to be done."""
        jobs = self.jobs.of(client) + self.jobs.of(OPEN_KEY + client) if client else []
        withdrawn = sum(self._withdraw(job, out) for job in jobs)
        out.append(Note("info", f"{several(withdrawn, 'task')} withdrawn from the backlog", client))

    def _submit(self, client: bytes, ref: int, submit: Submit, now: float, out: list[Command]) -> None:
        why = frontend.refusal(submit)
        job = None if why else self.jobs.asked(client, ref)
        if job is not None and (submit.again or _same(job, submit)):
            self._taken(job, out)
            return
        why = why or (self._doubt(submit) if submit.again else "") or self._excess(client, submit)
        if why:
            self.refuse(client, ref, why, out)
        else:
            self._accept(client, ref, submit, now, out)

    def _doubt(self, submit: Submit) -> str:
        """Why a submission that is asked for again, and is not known, is not taken."""
        return "" if messages.built_in(submit.job.command) else "not taken, or not known any more: it may have run"

    def _accept(self, client: bytes, ref: int, submit: Submit, now: float, out: list[Command]) -> None:
        self._added(self.jobs.add(submit.job, submit.slots, client, ref, now), submit, now, out)

    def _added(self, job: Job, submit: Submit, now: float, out: list[Command]) -> None:
        job.follow = submit.follow
        self.ledger.sent += job.text.num_tasks
        self.callers.sent(job.client, job.text.num_tasks, now)
        if not job.lone:
            self.say(job.client, Accepted(job.ref, job.id), out)

    def _taken(self, job: Job, out: list[Command]) -> None:
        """A submission that was taken before is asked for again; a lone task is answered when it ends."""
        self.again += 1
        if not job.lone:
            self.say(job.client, Accepted(job.ref, job.id), out)
            if job.state in (Does.FINISHED, Does.CANCELLED) and not job.out:
                self._last(job, out)

    def _excess(self, client: bytes, submit: Submit) -> str:
        """Why there is no room for a submission."""
        jobs, text = self.jobs, submit.job
        size = size_of(text)
        if jobs.queued + text.num_tasks > self._backlog or jobs.open >= MAX_JOBS or jobs.size + size > MAX_HELD:
            return frontend.FULL
        owner = b"" if client == frontend.CONTROL else client
        why = jobs.owners.excess(owner, text.num_tasks, size, submit.slots)
        return f"{frontend.FULL}: {why}" if why else ""

    def _change(self, job: Job, errand: Hold | Release | CancelJob, out: list[Command]) -> str:
        match errand:
            case Hold():
                return self.jobs.hold(job)
            case Release():
                return self.jobs.release(job)
            case CancelJob() if job.lone:
                for one in self.jobs.of(job.owner):
                    if one.lone and one.queued:
                        self._withdraw(one, out)
                return ""
            case CancelJob():
                why, dropped = self.jobs.cancel(job)
                if dropped:
                    self.ledger.fail("cancelled", dropped)
                if not why and self.jobs.settle(job):
                    self._last(job, out)
                return why

    def _withdraw(self, job: Job, out: list[Command]) -> int:
        """Drop what waits of a job, and tell its client; how many tasks that were."""
        why, dropped = self.jobs.cancel(job)
        if why:
            return 0
        if dropped:
            self.ledger.fail("withdrawn", dropped)
        if self.jobs.settle(job):
            if job.lone and job.follow:
                self.say(job.client, TaskEnded(job.ref, job.id, 1, False, WITHDRAWN, None), out)
            self._last(job, out)
        return dropped

    def _crowds(self) -> tuple[JobRow, ...]:
        """The lone tasks that wait, a row for each owner: under the id of the oldest."""
        found: dict[bytes, list[Job]] = {}
        for job in self.jobs.all():
            if job.lone and job.queued:
                found.setdefault(job.owner, []).append(job)
        most = sorted(found.items(), key=lambda crowd: -len(crowd[1]))[: frontend.MAX_CROWDS]
        return tuple(_crowd(client, jobs) for client, jobs in most)

    def _tasks(self, ref: int, job: Job, failed: bool, after: int, now: float) -> TasksListed:
        known = self.jobs.tasks(job)
        forgotten = job.done + job.failed - job.dropped - len(self.jobs.past.of(job.id))
        rows = [row for row in known if row.number > after and (row.state == FAILED or not failed)]
        told = tuple(row._replace(started=now - row.started) for row in rows[: frontend.MAX_TASKS])
        return TasksListed(ref, _row(job), told, len(rows) - len(told), forgotten)

    def _ended(self, task: JobTask, update: Update, now: float, out: list[Command]) -> None:
        job = task.job
        success, status, data = update.success, update.status, update.data
        last = self.jobs.ended(task, success, status, update.log, now)
        if job.follow:
            self.say(job.client, TaskEnded(job.ref, job.id, task.number, success, status, data), out)
        if not success and not job.builtin and job.told < TOLD and job.state != Does.CANCELLED:
            job.told += 1
            more = "; its further failures are not told one by one" if job.told == TOLD else ""
            words = f"job {job.id}, task {task.number} failed on {task.holder}: {short(status)}{more}"
            out.append(Note("warn", words, task.worker))
        if last:
            self._last(job, out)

    def _last(self, job: Job, out: list[Command]) -> None:
        """Nothing of this job is left."""
        if job.follow and not job.lone:
            self.say(job.client, JobEnded(job.ref, job.id, job.status, job.done, job.failed), out)


def _same(job: Job, submit: Submit) -> bool:
    """Whether a submission under a number that is known is the same one. Through the control socket numbers repeat."""
    return job.client != frontend.CONTROL and (job.text, job.slots, job.follow) == submit[:3]


def _newest(jobs: list[Job]) -> tuple[JobRow, ...]:
    """As many as one answer holds, oldest first."""
    rows: list[JobRow] = []
    size = 0
    for job in reversed(jobs[-frontend.MAX_LISTED :]):
        size += job.size
        if size > frontend.MAX_LIST:
            break
        rows.append(_row(job))
    return tuple(reversed(rows))


def id_of(client: bytes) -> bytes:
    """The routing id of a client, by its key."""
    return client.removeprefix(OPEN_KEY)


def name_of(client: bytes) -> str:
    """A client for people."""
    return show(id_of(client))


def _crowd(client: bytes, jobs: list[Job]) -> JobRow:
    first, n = jobs[0], len(jobs)
    text = Description(first.id, name_of(client), n, "", "", first.text.command)
    return JobRow(text, max(job.slots for job in jobs), n, 0, 0, 0)


def _row(job: Job) -> JobRow:
    return JobRow(job.description, job.slots, job.queued, job.out, job.done, job.failed)
