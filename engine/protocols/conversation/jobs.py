"""The jobs of a broker (``job``), and which task is next.

- Running jobs come first, by id; then the oldest that waits. Ids ascend, so both are the order of ids.
- A worker is never given a task beyond its processors. If the next task fits into the worker but not beside what
  runs there, the worker gets nothing until it fits, or large tasks would wait for ever behind small ones.
- A task that comes back is given again before the fresh ones of its job.
- A job that has not ended has an owner: its client, or the operator, where it came through the control socket or goes
  on though its client is gone.
"""

from __future__ import annotations

from collections import Counter, deque
from heapq import heappop, heappush

from engine.parts.machine import Walk
from engine.parts.owners import Owners
from engine.parts.peak import Peak
from engine.parts.valve import Valve
from engine.protocols.conversation.job import Course, Job, JobTask
from engine.protocols.conversation.machine import JOB, Does, If, On
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.past import DONE, FAILED, MAX_LOG, RUNS, WAITS, Past, TaskRow, short

HISTORY = 1000  # ended jobs that are remembered
MAX_JOBS = 100_000  # that have not ended
SILENCE = 2  # times ``expiry``, and a client is gone; it opens its socket anew before

OPEN_KEY = b"\0open-"  # before the routing id of a client of the open port, so that its key is no other client's


class Jobs:
    """All jobs that are not forgotten. ``queued``: tasks that wait; ``ripe``: those of them that may be given.

    ``size``: bytes of the jobs' texts.
    """

    def __init__(self, options: Options) -> None:
        self.owners: Owners[int] = Owners(options.max_backlog, MAX_JOBS, SILENCE * options.expiry)
        self.queued = 0
        self.peak = Peak()
        self.valve: Valve | None = None  # None while nothing is limited
        self._aside: dict[int, Job] = {}  # that a limit of its client holds up
        self.ripe = 0
        self.size = 0
        self.past = Past()
        self._jobs: dict[int, Job] = {}
        self._asked: dict[tuple[bytes, int], int] = {}  # client and its number → the newest job of both
        self._ended: deque[int] = deque()
        self._last = 0
        self.walk = Walk(JOB)
        self._submitted = self.walk.tally(Does.NEW, On.SUBMITTED)  # rows of each task's way
        self._given = {at: self.walk.tally(at, On.GIVEN) for at in (Does.WAITING, Does.RUNNING)}
        self._finished = self.walk.tally(Does.RUNNING, On.ENDED, If.LAST)
        self._queues: dict[int, list[tuple[int, int]]] = {}  # processors a task → heap of (waits, id), lazily cleaned

    def get(self, job_id: int) -> Job | None:
        """A job that is known."""
        return self._jobs.get(job_id)

    def asked(self, client: bytes, ref: int) -> Job | None:
        """The job that a client asked for under this number, if it is known."""
        return self._jobs.get(self._asked.get((client, ref), 0))

    def of(self, client: bytes) -> list[Job]:
        """What a client owns, oldest first."""
        return [self._jobs[job_id] for job_id in self.owners.of(client)]

    def all(self) -> list[Job]:
        """Every job that is known, oldest first."""
        return list(self._jobs.values())

    @property
    def open(self) -> int:
        """Jobs that have not ended."""
        return len(self._jobs) - len(self._ended)

    def add(self, text: Description, slots: int, client: bytes, ref: int, now: float, job_id: int = 0) -> Job:
        """Queue an array. ``job_id``: one that is above all others, 0 for the next one."""
        self._last = job_id or self._last + 1
        job = self._jobs[self._last] = Job(self._last, text, slots, client, ref, now)
        self._asked[client, ref] = self._last
        self.owners.add(job.owner, self._last, text.num_tasks, job.size, now, slots)
        self.size += job.size
        self.queued += text.num_tasks
        self.ripe += text.num_tasks
        self._submitted.times += 1
        job.state = self._submitted.next
        self._stand(job)
        return job

    def next(self, slots: int, free: int, now: float = 0.0) -> JobTask | None:
        """The next task for a worker of so many processors, so many of them free; None if it must wait."""
        best = self._best(slots)
        while self.valve is not None and best is not None and best.slots <= free:
            if not self.valve.flows(now):
                return None
            if self.valve.lets(best.client.removeprefix(OPEN_KEY), now):
                break
            heappop(self._queues[best.slots])  # what a limit of one client holds up stands aside until ``ask_anew``
            best.entry, self._aside[best.id] = None, best
            best = self._best(slots)
        return None if best is None or best.slots > free else self._take(best)

    def ask_anew(self) -> None:
        """Jobs that a limit has set aside may be asked for again."""
        if self.valve is not None:
            self.valve.ask_anew()
        for job in self._aside.values():
            self._stand(job)
        self._aside.clear()

    def _best(self, slots: int) -> Job | None:
        best: Job | None = None
        for size in tuple(self._queues):
            head = self._head(size) if size <= slots else None
            if head is not None and (best is None or head.entry < best.entry):  # type: ignore[operator]
                best = head
        return best

    def _take(self, best: Job) -> JobTask:
        self.queued -= 1
        self.ripe -= 1
        self.owners.wait(best.owner, -1)
        best.out += 1
        if best.returned:
            task = best.returned.popleft()
        else:
            task = JobTask(best, best.base + best.fresh)
            best.fresh += 1
        if not best.lone:
            best.running[task.number] = task
        row = self._given[best.state]
        row.times += 1
        if best.state != row.next:
            best.state = row.next
            self._stand(best)
        return task

    def back(self, task: JobTask) -> None:
        """A task that was out waits again."""
        job = task.job
        job.out -= 1
        job.running.pop(task.number, None)
        job.returned.append(task)
        self.queued += 1
        self.owners.wait(job.owner, 1)
        job.state = self.walk.step(job.state, On.BACK)
        if job.state != Does.HELD:
            self.ripe += 1
            self._stand(job)

    def ended(self, task: JobTask, success: bool, status: str = "", log: str = "", now: float = 0.0) -> bool:
        """A task that was out has ended; True if it was the last of its job."""
        job = task.job
        job.out -= 1
        if not job.lone:
            del job.running[task.number]
            named = "" if "/" in log else log[:MAX_LOG]  # a file in the job's folder of logs, and nowhere else
            self.past.add(job.id, task.row(DONE if success else FAILED, now - task.given, short(status), named))
        if success:
            job.done += 1
        else:
            job.failed += 1
        last = not job.out and not job.queued
        if last and job.state == Does.RUNNING:
            self._finished.times += 1
            job.state = self._finished.next
        else:
            job.state = self.walk.step(job.state, On.ENDED, If.LAST if last and job.state == Does.HELD else "")
        return self.settle(job)

    def resume(self, job: Job, course: Course) -> int:
        """A job that was just added goes on where an earlier broker left it; how many of its tasks have ended."""
        before = job.queued
        job.fresh, job.done, job.failed, job.dropped = course.fresh, course.done, course.failed, course.dropped
        for number, attempts in course.out:
            task = JobTask(job, number)
            task.attempt = attempts
            job.returned.append(task)
        ended = before - job.queued
        self.queued -= ended
        self.ripe -= ended
        self.owners.wait(job.owner, -ended)
        if job.fresh > 1:
            row = self._given[job.state]
            row.times += 1
            job.state = row.next
            self._stand(job)
        return ended

    def hold(self, job: Job) -> str:
        """Give no more of a job; the reason where it can not be held."""
        if job.state not in (Does.WAITING, Does.RUNNING):
            return f"job is {job.state}"
        job.state = self.walk.step(job.state, On.HOLD)
        self.ripe -= job.queued
        return ""

    def release(self, job: Job) -> str:
        """Undo a hold; the reason where there is none."""
        if job.state != Does.HELD:
            return f"job is {job.state}"
        job.state = self.walk.step(job.state, On.RELEASE, If.BEGUN if job.fresh > 1 else "")
        self.ripe += job.queued
        self._stand(job)
        return ""

    def cancel(self, job: Job) -> tuple[str, int]:
        """Drop what waits: the reason where it can not be, and how many tasks were dropped; they count as failed."""
        if job.state in (Does.FINISHED, Does.CANCELLED):
            return f"job is {job.state}", 0
        dropped = job.queued
        self.queued -= dropped
        self.owners.wait(job.owner, -dropped)
        if job.state != Does.HELD:
            self.ripe -= dropped
        job.state = self.walk.step(job.state, On.CANCEL)
        job.failed += dropped
        job.dropped += dropped
        job.fresh = job.text.num_tasks + 1
        job.returned.clear()
        return "", dropped

    def tasks(self, job: Job) -> list[TaskRow]:
        """The tasks of a job that were given at least once, as far as they are remembered, by number."""
        out = [task.row(RUNS) for task in job.running.values()]
        waiting = [task.row(WAITS, None, task.why) for task in job.returned]
        return sorted([*out, *waiting, *self.past.of(job.id)])

    def adopt(self, job: Job, now: float) -> None:
        """A job goes on without its client: it is the operator's from now on."""
        self.owners.wait(job.owner, -job.queued)
        self.owners.end(job.owner, job.id, job.size, job.slots)
        job.owner = b""
        self.owners.add(b"", job.id, job.queued, job.size, now, job.slots)

    def settle(self, job: Job) -> bool:
        """Whether nothing of a job is out or waits; it is then history. To be asked once, after its last change."""
        if job.out or job.queued:
            return False
        self.owners.end(job.owner, job.id, job.size, job.slots)
        if job.builtin:
            self._forget(job.id)
            return True
        self._ended.append(job.id)
        if len(self._ended) > HISTORY:
            self._forget(self._ended.popleft())
        return True

    def _forget(self, job_id: int) -> None:
        job = self._jobs.pop(job_id)
        self.past.forget(job_id)
        self.size -= job.size
        if self._asked.get((job.client, job.ref)) == job_id:  # the newest of this number
            del self._asked[job.client, job.ref]

    def check(self) -> None:
        """The counts agree with the jobs, and whatever may be given stands in its queue."""
        assert self.size == sum(job.size for job in self._jobs.values())
        assert self.queued == sum(job.queued for job in self._jobs.values())
        known = set(self._asked.values())
        assert known <= self._jobs.keys() and len(known) == len(self._asked)
        open_ = [job for job in self._jobs.values() if job.out + job.queued]
        waiting, sizes = Counter[bytes](), Counter[bytes]()
        for job in open_:
            waiting[job.owner] += job.queued
            sizes[job.owner] += job.size
        self.owners.check(waiting, sizes, Counter(job.owner for job in open_))
        ripe = [job for job in self._jobs.values() if job.state in (Does.WAITING, Does.RUNNING) and job.queued]
        assert self.ripe == sum(job.queued for job in ripe)
        for job in ripe:
            aside = job.id in self._aside
            assert aside or job.entry in self._queues[job.slots], "a job that may be given stands in no queue"
        for job in self._jobs.values():
            assert job.out + job.done + job.failed + job.queued == job.text.num_tasks, "a task is lost or counted twice"
            assert job.state != Does.WAITING or job.fresh == 1
            assert len(job.running) == (0 if job.lone else job.out)
            assert job.state != Does.NEW and (job.state == Does.FINISHED) <= (job.out + job.queued == 0)

    def _stand(self, job: Job) -> None:
        entry = (int(job.state == Does.WAITING), job.id)
        if job.entry != entry:
            job.entry = entry
            heappush(self._queues.setdefault(job.slots, []), entry)

    def _head(self, size: int) -> Job | None:
        """The first job of this size that may be given; entries that say something past are dropped on the way."""
        queue = self._queues[size]
        while queue:
            job = self._jobs.get(queue[0][1])
            if job is not None and job.entry == queue[0]:
                if job.state in (Does.WAITING, Does.RUNNING) and job.queued:
                    return job
                job.entry = None
            heappop(queue)
        del self._queues[size]
        return None
