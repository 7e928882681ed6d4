"""Conversation cores joined back to back: what one sends, the other has at once, and everything is noted in words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from engine.core import (
    MAIN,
    Cancel,
    Command,
    Core,
    Event,
    Exit,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Start,
    Started,
    Store,
    Unsent,
    Unstored,
    Woken,
)
from engine.parts.orders import Drain, Expire, Leave, Slow
from engine.parts.store import GLOBAL, Memory, Unavailable
from engine.protocols.conversation import beats, frontend, header, messages
from engine.protocols.conversation import words as told_in
from engine.protocols.conversation.broker import Broker
from engine.protocols.conversation.client import Client
from engine.protocols.conversation.durable import Durable
from engine.protocols.conversation.frontend import CancelJob, Hold, ListJobs, Release, StopWorkers, Submit
from engine.protocols.conversation.header import Decoder
from engine.protocols.conversation.jobfrontend import FRONTEND
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.options import Options
from engine.protocols.conversation.worker import Worker

LIMIT = Options().body_limit


def array(command: str, n: int = 1, name: str = "job") -> Description:
    """What a client submits."""
    return Description(0, name, n, "/srv", "/srv/logs", command)


def message(text: str) -> bytes:
    """A message of the wire from words: ``OK(4)``, ``JOB 1/2 #3``, ``UPDATE 1/2 done free 4``, hex digits …"""
    match text.split():
        case [head] if "(" in head:
            kind = next(kind for kind, name in header.NAMES.items() if name == head.partition("(")[0])
            return header.pack(kind, number(head.partition("(")[2].rstrip(")")))
        case ["ERROR", code, counter]:
            return header.pack(header.ERROR, int(code), int(counter.lstrip("#")))
        case ["JOB", which, counter, command, *slots]:
            job, task = map(int, which.split("/"))
            about = Description(job, "job", 9, "/srv", "/srv/logs", command.replace("_", " "), messages.RUNNING)
            body = messages.pack_task(task, messages.pack_description(about), int(slots[0]) if slots else 1)
            return header.pack_body(header.JOB, body, int(counter.lstrip("#")))
        case ["UPDATE", which, status, *free]:
            job, task = map(int, which.split("/"))
            right = status == "done"
            update = messages.Update(job, task, right, status, int(free[1]) if free else None)
            return header.pack_body(header.UPDATE, messages.pack_update(update))
    return bytes.fromhex(text)


def number(text: str) -> int:
    named = {"now": header.STOP_NOW, "all": header.STOP_ALL}
    return named[text] if text in named else int(text)


def words(chunk: bytes) -> str:
    """One message of the wire in words."""
    decoder = Decoder(LIMIT)
    said = []
    for kind, padding, arg0, body in decoder.feed(chunk):
        name, counter = header.NAMES[kind], f" #{padding}" if padding else ""
        if padding == header.seal(kind, arg0):
            counter = ""
        if kind == header.JOB:
            tasks = messages.tasks(body)
            assert not isinstance(tasks, str)
            name += " " + " ".join(f"{task.job.job_id}/{task.number}" for task in tasks) + counter
        elif kind == header.UPDATE:
            update = messages.update(body)
            assert not isinstance(update, str)
            data = "" if update.data is None else f" {len(update.data)} bytes"
            name += f" {update.job_id}/{update.task} {update.status} free {update.free}{data}"
        else:
            name += f"({'now' if arg0 == header.STOP_NOW and kind == header.STOP else arg0}){counter}"
        said.append(name)
    return " + ".join(said) if said and not decoder.partial and not decoder.broken else chunk.hex()


def frames_in_words(frames: Frames) -> str:
    """One ZeroMQ message between a worker and the broker, without the routing id."""
    match frames:
        case [b""]:
            return "opening"
        case [b"", beat]:
            return f"keep-alive {beats.fields(beat)[0]}"
        case [chunk]:
            return words(chunk)
    return " | ".join(frame.hex() for frame in frames)


def answer_in_words(body: bytes) -> str:
    """One answer of the frontend."""
    if not body:
        return "keep-alive"
    answer = frontend.answer(body)
    match answer:
        case frontend.Accepted(ref, job_id):
            return f"[{ref}] accepted {job_id}"
        case frontend.Stopping(ref):
            return f"[{ref}] {told_in.stops(answer)}"
        case frontend.Refusal(ref, why):
            return f"[{ref}] refused: {why}"
        case frontend.TaskEnded(ref, job_id, task, _, status, data):
            return f"[{ref}] task {job_id}/{task} {status}" + ("" if data is None else f" {len(data)} bytes")
        case frontend.JobEnded(ref, job_id, status, done, failed):
            return f"[{ref}] job {job_id} {messages.STATUS[status]}: {done} done, {failed} failed"
        case frontend.JobsListed(ref, jobs, more, largest):
            rows = [
                f"{row.job.job_id} {row.job.name} {messages.STATUS[row.job.status]}"
                f" {row.waiting}+{row.running}+{row.done}+{row.failed}"
                f"{' ' * bool(largest)}{told_in.wants(row, largest) if largest else ''}".rstrip()
                for row in jobs
            ]
            return f"[{ref}] " + ", ".join(rows) + (f" and {more} more" if more else "")
        case frontend.TasksListed(ref, row, tasks, more, forgotten):
            told = [
                f"{task.number} {task.state} {task.worker} x{task.attempts} {task.started:g}"
                f"{'' if task.took is None else f'/{task.took:g}'} {task.status} {task.log}".rstrip()
                for task in tasks
            ]
            rest = f" and {more} more" * bool(more) + f", {forgotten} forgotten" * bool(forgotten)
            return f"[{ref}] {row.job.job_id}: " + ", ".join(told) + rest
    raise AssertionError(answer)


class Bench:
    """A broker; ``w…`` workers of ours, ``p…`` plain ZeroMQ workers and ``t…`` plain TCP ones that a test speaks for,
    ``c…`` clients that it speaks for. ``said`` is what happened since it was last taken, one line each."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = Options() if options is None else options
        self.now = 100.0
        self.store = Memory()
        self.slow = False  # whether the store answers only when ``commit`` says so
        self.asked: list[Store] = []  # what it has not answered
        self.broker = self._made()
        self.cores: dict[str, Any] = {}
        self.deaf: set[str] = set()  # nothing passes between these and the broker
        self.said: list[str] = []
        self.started: dict[str, list[object]] = {}
        self._under_way: deque[Callable[[], None]] = deque()
        self.event("broker", Started())

    def _made(self) -> Broker:
        return Durable(self.options) if self.options.backlog else Broker(self.options)

    def restart(self) -> list[str]:
        """Another broker goes on with the store; what is said."""
        self.asked.clear()
        self.store.reopen()
        self.broker = self._made()
        self.event("broker", Started())
        return self.take()

    def commit(self) -> list[str]:
        """The store does all that it was asked for; what is said."""
        while self.asked:
            self._under_way.append(self._store)
            self._run()
        return self.take()

    # ---- doing ------------------------------------------------------------------------------------------------------

    def do(self, line: str) -> list[str]:
        """Follow one line of a transcript; everything that is said then."""
        verb, *rest = line.split()
        name = rest[0] if rest else ""
        match verb, rest:
            case "start", [_, *slots]:
                self.start(name, int(slots[0]) if slots else 2)
            case "client", _:
                self.cores[name] = Client(self.options)
                self.event(name, Started())
            case "open", _:
                self.send(name, [b""])
            case "close", _:
                self.event("broker", Received([[name.encode(), b""]], STREAM))
            case "say", [_, *text]:
                self.send(name, [message(" ".join(text))])
            case "alive", [_, n]:
                self.send(name, [b"", int(n).to_bytes(4, "little")])
            case "ask", [_, ref, *text]:
                body = frontend.pack_request(int(ref), request(text))
                self.event("broker", Received([[name.encode(), body]], FRONTEND))
            case "end", [_, *how]:
                key = self.started[name].pop(0)
                status, *log = how
                result = "\0".join([status.replace("_", " "), *log])
                self.event(name, Finished(key, status == "done", result.encode()))
            case "order", [_, *text]:
                self.event(name, Ordered(order(text)))
            case "gone", _:
                self.event("broker", Unsent([name.encode(), b"x"], "unreachable", STREAM if name[0] == "t" else MAIN))
            case "expire", _:
                self.event("broker", Ordered(Expire(name.encode())))
            case "cut", _:
                self.deaf.add(name)
            case "mend", _:
                self.deaf.discard(name)
            case "paused", [_, seconds]:
                self.now += float(seconds)
                self.event(name, Paused(float(seconds)))
            case "wait", [seconds]:
                self.wait(float(seconds))
            case _:
                raise AssertionError(line)
        return self.take()

    def give(self, line: str) -> None:
        """Nothing can be given beforehand."""
        raise AssertionError(line)

    def shown(self, line: str) -> str:
        """What the broker, or where the state is a client's (``CL_``) a worker of ours, shows of its state."""
        name, asked = line.split()[:2]
        if asked.startswith("CL_"):
            return f"{name} {self.cores[name].state}"
        link = self.broker.links.get((b"\0stream-" if name[0] == "t" else b"") + name.encode())
        return f"{name} gone" if link is None else f"{name} {link.state} free {link.free} of {link.max_nproc}"

    def start(self, name: str, slots: int) -> None:
        """A worker of ours."""
        self.cores[name] = Worker(self.options, slots)
        self.started[name] = []
        self.event(name, Started())

    def wait(self, seconds: float) -> None:
        """Let time pass, deadline by deadline."""
        until = self.now + seconds
        while True:
            every = {"broker": self.broker, **self.cores}
            name, at = min(((name, core.wake_at()) for name, core in every.items()), key=lambda due: due[1])
            if at > until:
                break
            self.now = max(self.now, at)
            self.event(name, Woken())
        self.now = until

    def take(self) -> list[str]:
        """What was said since."""
        said, self.said = self.said, []
        return said

    def send(self, name: str, frames: Frames) -> None:
        """A message of a worker to the broker, noted; plain TCP where the name begins with t."""
        stream = name[0] == "t"
        if name in self.cores:
            self.said.append(f"{name} > {frames_in_words(frames)}")
        if name not in self.deaf:
            received = Received([[name.encode(), *frames]], STREAM if stream else MAIN)
            self._under_way.append(lambda: self._handle("broker", received))
            self._run()

    def event(self, name: str, event: Event) -> None:
        """Hand an event to a core, and everything that follows from it."""
        self._under_way.append(lambda: self._handle(name, event))
        self._run()

    # ---- carrying ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        if len(self._under_way) > 1:
            return  # it is being carried already
        while self._under_way:
            self._under_way[0]()
            self._under_way.popleft()

    def _handle(self, name: str, event: Event) -> None:
        core: Core = self.broker if name == "broker" else self.cores[name]
        for command in core.handle(event, self.now):
            self._perform(name, command)
        core.check()

    def _perform(self, name: str, command: Command) -> None:
        match command:
            case Send(frames, socket) if name == "broker":
                self._from_broker(frames, socket)
            case Send(frames) if name[0] == "c":
                body = frames[0]
                if body:
                    asked = frontend.request(body)
                    self.said.append(f"{name} > {asked}")
                self._later("broker", Received([[name.encode(), body]], FRONTEND), name)
            case Send(frames):
                self.said.append(f"{name} > {frames_in_words(frames)}")
                self._later("broker", Received([[name.encode(), *frames]]), name)
            case Start(key, body):
                self.said.append(f"{name} starts {key}: {' '.join(vars_of(body))}")
                self.started[name].append(key)
            case Cancel(key):
                self.said.append(f"{name} kills {key}")
            case Store():
                self.asked.append(command)
                if not self.slow:
                    self._under_way.append(self._store)
            case Reopen():
                self.said.append(f"{name} reconnects")
            case Exit(reason):
                self.said.append(f"{name} exits: {reason}")
            case Note(level, text):
                if level in ("warn", "bad"):
                    self.said.append(f"{name}: {text}")

    def _from_broker(self, frames: Frames, socket: str) -> None:
        to, *rest = frames
        name = to.decode()
        if socket == FRONTEND:
            if rest[0] and name not in self.cores:
                self.said.append(f"{name} < {answer_in_words(rest[0])}")
        else:
            text = "closed" if socket == STREAM and rest == [b""] else frames_in_words(rest)
            self.said.append(f"{name} < {text}")
        if name in self.cores:
            self._later(name, Received([rest]), name)

    def _store(self) -> None:
        if self.asked:
            asked = self.asked.pop(0)
            try:
                self._handle("broker", self.store.perform([asked])[0])
            except Unavailable as why:
                self._handle("broker", Unstored(asked.number, str(why)))

    def _later(self, to: str, event: Event, peer: str) -> None:
        if peer not in self.deaf:
            self._under_way.append(lambda: self._handle(to, event))


def vars_of(body: Any) -> tuple[str, ...]:
    return body.command, body.argument, body.cwd, f"{body.log_dir}/{body.log_name}"


def request(text: list[str]) -> frontend.Request:
    """``submit COMMAND [N] [slots S] [quiet] [again] [as ID]``, ``jobs``,
    ``tasks J [failed] [AFTER]``, ``hold J``, ``release J``, ``cancel J``, ``stop [N]``."""
    match text:
        case ["submit", command, *rest]:
            n = int(rest[0]) if rest and rest[0].isdecimal() else 1
            slots = int(rest[rest.index("slots") + 1]) if "slots" in rest else 1
            ident = rest[rest.index("as") + 1].encode().rjust(GLOBAL) if "as" in rest else b""
            return Submit(array(command.replace("_", " "), n), slots, "quiet" not in rest, "again" in rest, ident)
        case ["jobs"]:
            return ListJobs()
        case ["tasks", job, *rest]:
            after = int(rest[-1]) if rest and rest[-1].isdecimal() else 0
            return frontend.ListTasks(int(job), "failed" in rest, after)
        case ["hold", job]:
            return Hold(int(job))
        case ["release", job]:
            return Release(int(job))
        case ["cancel", job]:
            return CancelJob(int(job))
        case ["stop", n]:
            return StopWorkers(number(n))
    raise AssertionError(text)


def order(text: list[str]) -> object:
    match text:
        case ["leave"]:
            return Leave()
        case ["slow", seconds]:
            return Slow(float(seconds))
        case ["drain", name]:
            return Drain(name.encode())
    return request(text)
