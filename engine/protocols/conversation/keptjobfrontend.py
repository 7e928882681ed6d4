"""The job frontend of a broker with a store: a job is on the disk before anybody hears of it, and so is its fate.

The rules of this file (rulings are those of README.md):

- A job is the store's first, and is added when the store has it: its id is its place there, over all restarts.
- Of an array its course is written anew after each event that changed it, one write at a time: what happens meanwhile
  goes into the next one. What is to be told of a change is told when it is on the disk.
- Until all that the store has is here nothing is given and no request is looked at.
- What a client asked for that is gone is done all the same.
"""

from __future__ import annotations

from engine.core import Command, Leased, Outcome
from engine.parts.inflight import TaskKey
from engine.parts.keeping import Keeping
from engine.parts.store import EPOCHS, GLOBAL
from engine.parts.violations import Violations
from engine.protocols.conversation import course, frontend, messages
from engine.protocols.conversation.frontend import CONTROL, Accepted, Answer, CancelJob, JobEnded, Submit, TaskEnded
from engine.protocols.conversation.job import Course, Job, JobTask
from engine.protocols.conversation.jobfrontend import Errand, JobFrontend
from engine.protocols.conversation.jobs import MAX_JOBS
from engine.protocols.conversation.messages import CANCELLED, HELD, Update
from engine.protocols.conversation.options import Options

OTHERS = 100  # clients that submitted the same job and hear of it, the newest
EARLY = 10_000  # requests that wait until the store has been read
OPERATOR = b"operator"  # as whose jobs the store has those of the broker's own operator
LOST = "lost"
DONE = Outcome("")  # of what is no job
_PLACE = (1 << EPOCHS) - 1


class File:
    """What the store has of a job. ``state``: the newest course there, ``writing``: one on its way.

    ``said`` is told once a write has succeeded that begins from now on, ``sent`` with the one on its way. ``others``:
    who submitted it too, each with its number. ``lost``: workers that were lost with a lone task, as the store knows.
    """

    __slots__ = ("course", "ended", "job", "key", "lost", "others", "outcome", "said", "sent", "state", "writing")

    def __init__(self, job: Job, key: TaskKey, lost: int) -> None:
        self.job, self.key, self.lost = job, key, lost
        self.state: TaskKey | None = None
        self.writing: TaskKey | None = None
        self.course: Course | None = None  # of an earlier broker, until all is read
        self.said: list[tuple[bytes, Answer]] = []
        self.sent: list[tuple[bytes, Answer]] = []
        self.others: dict[tuple[bytes, int], None] = {}
        self.outcome: Outcome | None = None
        self.ended = False


class KeptJobFrontend(JobFrontend):
    """``found``: tasks that the store kept when this broker began; ``loaded``: whether they are all here."""

    def __init__(self, options: Options, violations: Violations, keeping: Keeping) -> None:
        super().__init__(options, violations)
        self.found = 0
        self.loaded = False
        self._keeping = keeping
        self._tries = options.tries
        self._early: list[tuple[bytes, int, Errand]] = []
        self._leased: list[tuple[TaskKey, Leased]] = []  # by the event at hand
        self._rows: set[TaskKey] = set()  # all that is leased
        self._files: dict[int, File] = {}
        self._idents: dict[bytes, File] = {}
        self._changed: dict[int, File] = {}
        self._coming: dict[TaskKey, tuple[bytes, int, Submit]] = {}  # on its way into the store
        self._asked: dict[tuple[bytes, int], TaskKey] = {}  # the same, by client and its number
        self._amount = 0  # of all these
        self._dying: set[TaskKey] = set()  # tasks of arrays that are dead as soon as the store has them
        self._writing: dict[TaskKey, File] = {}
        self._serial = 0

    # ---- requests ---------------------------------------------------------------------------------------------------

    def take(self, client: bytes, ref: int, errand: Errand, now: float, out: list[Command]) -> None:
        """Do what a client asks, as soon as all jobs are here."""
        if self.loaded:
            super().take(client, ref, errand, now, out)
        elif len(self._early) < EARLY:
            self._early.append((client, ref, errand))
        else:
            self.refuse(client, ref, frontend.FULL, out)

    def say(self, client: bytes, answer: Answer, out: list[Command]) -> None:
        """Answer; how a job or its tasks ended is told when it is on the disk."""
        if isinstance(answer, (TaskEnded, JobEnded)) and (file := self._files.get(answer.job_id)) is not None:
            file.said.append((client, answer))
        else:
            super().say(client, answer, out)

    def expire(self, now: float, out: list[Command]) -> None:
        """What a client that is gone asked for goes on as the operator's."""
        for client in self.jobs.owners.silent(now):
            for job in self.jobs.of(client):
                self.jobs.adopt(job, now)

    def _submit(self, client: bytes, ref: int, submit: Submit, now: float, out: list[Command]) -> None:
        key = self._asked.get((client, ref)) if client not in (b"", CONTROL) else None
        if key is not None and self._coming[key][2][:3] == submit[:3]:
            self.again += 1  # its answer is to come
            return
        file = self._idents.get(submit.ident) if submit.ident else None
        if file is None:
            super()._submit(client, ref, submit, now, out)
        elif (file.job.client, file.job.ref) == (client, ref):
            self._taken(file.job, out)
        else:
            self._join(file, client, ref, submit, out)

    def _join(self, file: File, client: bytes, ref: int, submit: Submit, out: list[Command]) -> None:
        """Somebody submits a job that is here as another's."""
        self.again += 1
        file.others[client, ref] = None
        if len(file.others) > OTHERS:
            del file.others[next(iter(file.others))]
        file.job.follow |= submit.follow
        if not file.job.lone:
            self.say(client, Accepted(ref, file.job.id), out)

    def _doubt(self, submit: Submit) -> str:
        return "" if submit.ident else super()._doubt(submit)  # the store knows what it had

    def _excess(self, client: bytes, submit: Submit) -> str:
        queued, jobs = self.jobs.queued + self._amount, self.jobs.open + len(self._coming)
        if queued + submit.job.num_tasks > self._backlog or jobs >= MAX_JOBS:
            return frontend.FULL
        return super()._excess(client, submit)

    def _accept(self, client: bytes, ref: int, submit: Submit, now: float, out: list[Command]) -> None:
        ident = submit.ident or self._next()
        key = (client or OPERATOR, ident)
        before = key in self._coming
        if before and not submit.again:
            self.refuse(client, ref, "it is on its way under another number", out)
            return
        if before:  # whoever asks again waits under the new number, and no more under the old one
            self._came(key)
        self._coming[key] = (client, ref, submit)
        self._asked[client, ref] = key
        self._amount += submit.job.num_tasks
        if before:
            self.again += 1
            return
        if submit.ident and messages.lone(submit.job):  # its worker is told which one it is
            submit = submit._replace(job=submit.job._replace(name=ident.hex()))
        self._keeping.put(key, course.pack_job(ident, ref, submit))

    def _came(self, key: TaskKey) -> tuple[bytes, int, Submit] | None:
        """What was on its way under this key, and is not any more."""
        coming = self._coming.pop(key, None)
        if coming is not None:
            self._amount -= coming[2].job.num_tasks
            if self._asked.get(coming[:2]) == key:
                del self._asked[coming[:2]]
        return coming

    # ---- what happens to jobs --------------------------------------------------------------------------------------

    def returned(self, task: JobTask, enough: bool, kind: str, now: float, out: list[Command]) -> None:
        """See ``JobFrontend``; the store counts lost workers."""
        super().returned(task, enough, kind, now, out)
        file = self._files[task.job.id]
        if not task.job.lone:
            self._change_of(file)
        elif not file.ended and task.attempt > file.lost:
            file.lost += 1
            self._keeping.lose(file.key)

    def _done(self, job_id: int, client: bytes, answer: Answer, out: list[Command]) -> None:
        file = self._files.get(job_id)
        if file is None:
            super()._done(job_id, client, answer, out)
            return
        file.said.append((client, answer))
        self._change_of(file)

    def _ended(self, task: JobTask, update: Update, now: float, out: list[Command]) -> None:
        job, file = task.job, self._files[task.job.id]
        if job.lone:
            file.outcome = course.outcome_of_task(update, task.worker)
        elif update.status == f"{messages.FAULT}{LOST}" and not job.builtin:
            self._bury(job, task.number)
        super()._ended(task, update, now, out)
        self._change_of(file)

    def _last(self, job: Job, out: list[Command]) -> None:
        file = self._files.get(job.id)
        if file is not None and file.ended:
            return  # it is told when it is on the disk
        super()._last(job, out)
        if file is not None:
            file.ended = True
            self._changed.pop(job.id, None)
            self._end(file.key, file.outcome or course.outcome_of(job), True)
            if file.state is not None:
                self._end(file.state)

    def _change_of(self, file: File) -> None:
        if not file.ended and not file.job.lone:
            self._changed[file.job.id] = file

    def _bury(self, job: Job, number: int) -> None:
        """Have the store keep a task of an array that nobody could do."""
        key = (job.client or OPERATOR, self._next())
        self._dying.add(key)
        self._keeping.put(key, course.pack_task(key[1], job, number))

    def _end(self, key: TaskKey, outcome: Outcome = DONE, wanted: bool = False) -> None:
        self._rows.discard(key)
        self._keeping.end(key, outcome, wanted)

    def _next(self) -> bytes:
        """An id in the store that nothing else has that has not ended."""
        self._serial += 1
        return self._serial.to_bytes(8, "big")

    # ---- into the store --------------------------------------------------------------------------------------------

    def write(self, out: list[Command]) -> None:
        """What the event at hand has for the store."""
        if not self.loaded and self._keeping.trouble:
            for client, ref, _ in self._early:
                self.refuse(client, ref, self._keeping.trouble, out)
            self._early.clear()
        if not self._keeping.trouble:
            for file in [file for file in self._changed.values() if file.writing is None]:
                del self._changed[file.job.id]
                key = file.writing = (b"", self._next())
                self._writing[key] = file
                file.sent, file.said = file.said, []
                self._keeping.put(key, course.pack_course(key[1], file.job))
        self._keeping.ask(out)

    def unkept(self, key: TaskKey, why: str, out: list[Command]) -> None:
        """The store does not take it."""
        if (coming := self._came(key)) is not None:
            self.refuse(*coming[:2], why, out)
        elif (file := self._writing.pop(key, None)) is not None:
            file.writing = None
            file.said = file.sent + file.said
            self._change_of(file)
        self._dying.discard(key)

    # ---- out of the store --------------------------------------------------------------------------------------------

    def holds(self, key: TaskKey) -> bool:
        """Whether what the store has under this key is leased."""
        return key in self._rows

    def load(self, one: Leased) -> TaskKey | None:
        """Something of the store is here; see ``keeping``."""
        key = (one.client, one.message[1])
        if key in self._rows:
            return None
        self._rows.add(key)
        self._leased.append((key, one))
        if len(key[1]) != GLOBAL:
            self._serial = max(self._serial, int.from_bytes(key[1], "big"))
        return key

    def pump(self, now: float, out: list[Command]) -> None:
        """Look at all that was loaded."""
        leased, self._leased = self._leased, []
        for key, one in leased:
            kind = one.message[0]
            if kind == course.COURSE:
                self._load_course(key, one, out)
            elif key in self._dying:
                self._dying.discard(key)
                self._end(key, Outcome(LOST))
            elif (asked := course.read_job(one.message)) is None:
                self._end(key, Outcome("unreadable"))
            else:
                self._load_job(key, one, *asked, now, out)

    def _load_job(self, key: TaskKey, one: Leased, ref: int, submit: Submit, now: float, out: list[Command]) -> None:
        coming = self._came(key)
        client = b"" if one.client == OPERATOR else one.client
        if coming is None and client == CONTROL:  # nobody there goes by this number any more
            client, submit = b"", submit._replace(follow=False)
        ref = ref if coming is None else coming[1]
        job = self.jobs.add(submit.job, submit.slots, client, ref, now, one.token & _PLACE)
        self._files[job.id] = self._idents[key[1]] = File(job, key, one.lost)
        if one.message[0] == course.TASK:
            job.base = int(one.message[3]) - 1
        if coming is not None:
            self._added(job, submit, now, out)
            return
        job.follow = submit.follow
        self.ledger.sent += job.text.num_tasks
        self.callers.sent(client, job.text.num_tasks, now)
        if job.lone:
            lost = min(one.lost, self._tries - 1)
            self.jobs.resume(job, Course(job.id, 0, 2, 0, 0, 0, ((1, lost),)))

    def _load_course(self, key: TaskKey, one: Leased, out: list[Command]) -> None:
        written = self._writing.pop(key, None)
        if written is not None:
            written.writing = None
            self._tell(written, written.sent, out)
            written.sent = []
            self._put_state(written, key)
            return
        told = course.read_course(one.message, self._tries)
        file = self._files.get(told.job_id) if told is not None else None
        if file is None:
            self._end(key)  # of a job that has ended
        else:
            file.course = told
            self._put_state(file, key)

    def _put_state(self, file: File, key: TaskKey) -> None:
        """A newer course is in the store."""
        if file.state is not None and not file.ended:
            self._end(file.state)
        file.state = key
        if file.ended:
            self._end(key)

    def stored(self, waiting: int, now: float, out: list[Command]) -> None:
        """The store has answered, and all that it said was looked at. ``waiting``: what it has that is not here."""
        for key in self._coming.keys() - self._keeping.putting.keys():
            if (file := self._idents.get(key[1])) is not None and (coming := self._came(key)) is not None:
                self._join(file, *coming, out)
        if self.loaded or waiting:
            return
        self.loaded = True
        for file in list(self._files.values()):
            if file.course is not None:
                self._resume(file.job, file.course, out)
        self.found = self.jobs.queued
        early, self._early = self._early, []
        for asked in early:
            self.take(*asked, now, out)

    def _resume(self, job: Job, told: Course, out: list[Command]) -> None:
        self.ledger.sent -= self.jobs.resume(job, told)
        self.redelivered += len(told.out)
        if told.status == HELD:
            self.jobs.hold(job)
        elif told.status == CANCELLED:
            self._change(job, CancelJob(job.id), out)

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        """The store has how a job ended, or had it before it was submitted again."""
        coming = self._came((client, ident))
        if coming is not None:
            self.again += 1
            asker, ref, submit = coming
            for answer in course.answers(ref, submit, outcome):
                self.say(asker, answer, out)
        elif (file := self._idents.get(ident)) is not None and file.ended:
            del self._idents[ident], self._files[file.job.id]
            self._tell(file, file.sent + file.said, out)

    def _tell(self, file: File, answers: list[tuple[bytes, Answer]], out: list[Command]) -> None:
        """What was to be told of a job once it is on the disk."""
        for client, answer in answers:
            super().say(client, answer, out)
            if isinstance(answer, (TaskEnded, JobEnded)):
                for other, ref in file.others:
                    super().say(other, answer._replace(ref=ref), out)

    def check(self) -> None:
        """Each job that has not ended is in the store, and what is on its way is counted."""
        assert self._amount == sum(submit.job.num_tasks for _, _, submit in self._coming.values())
        assert not self._leased and set(self._asked.values()) <= self._coming.keys()
        for job in self.jobs.all():
            assert job.id in self._files or not (job.out + job.queued), "a job that is in no store"
        for file in self._files.values():
            assert (file.key in self._rows) != file.ended, "a job that has ended and is leased, or the other way round"
            assert file.state is None or (file.state in self._rows) != file.ended
            assert file.writing is None or self._writing[file.writing] is file
