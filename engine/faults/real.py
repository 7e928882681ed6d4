"""Plays a drill on real processes: a broker with a store, workers and a client, judged by the history of its tasks.

The rules of this file:

- Each act is done at its second of the real clock; a process that has to start may make the next one late. It ends
  as soon as all is done, all runs have ended and nobody is stopped any more, and no later than its ``until``.
- ``problems`` names all that real processes can not do, before anything starts.
- Everything lives in a folder of its own, which goes with the drill: its socket, its store, what its workers write.
- It has held where the history and the books of the store are right, every run ended as expected, nothing was refused
  and nobody ended who was not killed. A promise of a sandbox, which sees everything, is not looked at.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from engine.drive.stores import opened
from engine.drive.tempdir import LockedTempDir
from engine.errors import Refused
from engine.faults import drill as sandboxed
from engine.faults import faults, terms
from engine.faults.drill import Outcome, Report, run_outcome
from engine.faults.realprocess import RealProcess
from engine.faults.script import Act, Drill
from engine.labs.live import LiveLab
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.store import Counts
from engine.runs.checker import Event, Judgement, Recorder, executions, judge, outcomes
from engine.system import System, store_of

FAULTS = {"kill": ("worker",), "freeze": ("worker", "broker"), "restart": ("broker",)}
ORDERS = ("add", "remove", "stop")
BROKER, WORKER = "broker", "worker-"
LINKED = 60.0  # seconds that the client may take to its broker
LOOK = 0.1  # seconds between two looks at the last run
SHOWN = 20  # wrong things of a history that a report names


class Real(NamedTuple):
    """A drill that was played on processes."""

    report: Report
    judged: Judgement
    counts: Counts  # of the store at the end

    @property
    def passed(self) -> bool:
        """Whether everything held."""
        return self.report.passed and not self.judged.wrong and self.counts.balanced


def document(real: Real) -> dict[str, Any]:
    """The report as ``engine.faults.drill.document`` makes it, in real seconds, and beside it what was judged."""
    judged, counts = real.judged, real.counts
    return {
        **sandboxed.document(real.report),
        "verdict": "pass" if real.passed else "fail",
        "history": {
            "tasks": judged.tasks,
            "ends": dict(judged.ends),
            "executed_again": judged.again,
            "wrong": list(judged.wrong[:SHOWN]),
            "wrong_in_all": len(judged.wrong),
        },
        "store": {**counts._asdict(), "failed": dict(counts.failed)},
    }


def problems(drill: Drill) -> list[str]:
    """In words all that real processes can not do of it."""
    system = drill.system
    if not isinstance(system, System) or not system.store:
        return [f"{system.name} has no broker with a store: a drill on real processes needs one"]
    named = store_of(system, drill.options)
    found = [f"[options] {system.store}: a drill on real processes has a store of its own"] if named else []
    for act in drill.acts:
        try:
            _check(system, act)
        except Refused as refusal:
            found.append(f"at {act.at:g}: {act.kind} {act.text}: {refusal}")
    return found


def _check(system: System, act: Act) -> None:
    if act.kind == "run":
        assert isinstance(act.spec, BulkSpec)
        if not act.spec.tracked:
            raise Refused("nobody hears what becomes of it; pingt waits for the answer")
        return
    name = act.text.split()[0]
    known = tuple(FAULTS) if act.kind == "fault" else ORDERS
    if name not in known:
        raise Refused(f"real processes can not do that; they do {', '.join(known)}")
    if act.kind == "fault":
        _, target, _ = faults.read(system, act.text)
        kinds = FAULTS[name]
        if not (target in kinds if target == BROKER else "worker" in kinds and _seat(target)):
            raise Refused(f"no {target!r} that it can be done to; it is done to {' or '.join(kinds)}, as in w1")


def _seat(target: str) -> str:
    """``worker-3`` of ``w3`` or ``worker-3``; empty where it is no worker."""
    number = target.removeprefix(WORKER) if target.startswith(WORKER) else target.removeprefix("w")
    return f"{WORKER}{number}" if number != target and number.isdecimal() else ""


def play(drill: Drill) -> Real:
    """Play it from its beginning to its end; real seconds. Raises Refused where it can not begin."""
    wrong = problems(drill)
    if wrong:
        raise Refused("; ".join(wrong))
    with ExitStack() as stack:
        folder = LockedTempDir("roundhouse-drill-")
        stack.callback(folder.close)
        crew = stack.enter_context(_Crew(drill, Path(folder.path)))
        recorder = stack.enter_context(Recorder())
        with crew.client as client:
            if not client.wait_linked(LINKED):
                raise Refused(f"the client has found no broker within {LINKED:.0f} s")
            player = _Player(drill, crew)
            report = player.play()
        crew.end()
        events = [*recorder.events, *crew.events]
        for path in sorted(Path(folder.path).glob(f"{WORKER}*.tasks")):
            events += [event._replace(who=path.stem) for event in executions(path)]
        with closing(opened(crew.backlog, Path(folder.path), drill.system.name)) as store:
            known, counts = outcomes(store.result, events), store.counts()
        return Real(report, judge(events, known), counts)


class _Crew:
    """The processes, and the client of this one. A context manager: who is left at its end is killed."""

    def __init__(self, drill: Drill, folder: Path) -> None:
        assert isinstance(drill.system, System)
        self.events: list[Event] = []
        self.all: list[RealProcess] = []
        self.workers: dict[str, RealProcess] = {}
        self._drill, self._folder, self._started = drill, folder, 0
        self._endpoint, self.backlog = f"ipc://{folder}/socket", f"sqlite:{folder}/tasks.sqlite"
        self._options = replace(drill.options, **{drill.system.store: self.backlog})
        self.client = LiveLab(drill.system, self._options, connect=self._endpoint, workers=0, broker=False)
        self._due: list[tuple[float, Callable[[], None]]] = []  # what goes on when

    def __enter__(self) -> _Crew:
        try:
            self.start_broker()
            self.add(self._drill.crew.workers)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill everybody; who is stopped was so until now."""
        for _, deed in self._due:
            deed()
        self._due.clear()
        for process in self.all:
            process.kill()

    def start_broker(self) -> None:
        """It has bound when this returns."""
        self.broker = self._process(BROKER, BROKER)
        self.broker.ready()

    def add(self, n: int) -> None:
        """Start so many workers, and wait until they are there."""
        came = []
        for _ in range(n):
            self._started += 1
            name = f"{WORKER}{self._started}"
            slots = str(self._drill.crew.slots)
            came.append(self._process(name, "worker", slots, f"{self._folder}/{name}.tasks"))
        for process in came:
            process.ready()
            self.workers[process.name] = process

    def _process(self, name: str, role: str, *more: str) -> RealProcess:
        options = json.dumps(asdict(self._options))
        words = (role, self._drill.system.name, self._endpoint, options, *more)
        self.all.append(RealProcess(name, self._folder, words))
        return self.all[-1]

    def freeze(self, process: RealProcess, seconds: float) -> None:
        """It does nothing for so long."""
        began = time.monotonic()
        process.stop()

        def go() -> None:
            process.go()
            self.events.append(Event(began, "stopped", process.name, said=str(time.monotonic())))

        self._due.append((began + seconds, go))

    @property
    def waits(self) -> bool:
        """Whether somebody is stopped."""
        return bool(self._due)

    def wait(self, until: float) -> None:
        """Wait until this monotonic time, and let go on who is due before it."""
        while True:
            self._due.sort(key=lambda due: due[0])
            at = min(until, self._due[0][0]) if self._due else until
            time.sleep(max(0.0, at - time.monotonic()))
            while self._due and self._due[0][0] <= time.monotonic():
                self._due.pop(0)[1]()
            if time.monotonic() >= until:
                return


class _Player:
    def __init__(self, drill: Drill, crew: _Crew) -> None:
        self._drill, self._crew = drill, crew
        self._done: list[tuple[Act, str, bool]] = []  # with what there is to say, and whether it was refused
        self._runs: dict[int, BulkView | None] = {}  # by place among what was done: as it was seen last

    def play(self) -> Report:
        began = time.monotonic()
        for act in self._drill.acts:
            self._crew.wait(began + act.at)
            try:
                self._done.append((act, self._do(act), False))
            except Refused as refusal:
                self._done.append((act, f"refused: {refusal}", True))
        end = began + self._drill.until
        while time.monotonic() < end and self._goes_on():
            self._crew.wait(min(end, time.monotonic() + LOOK))
        self._look()
        dead = [one.trouble for one in self._crew.all if one.trouble] + list(self._crew.client.health().dead)
        outcomes = [self._outcome(place, *done) for place, done in enumerate(self._done)]
        return Report(self._drill, self._drill.seed, tuple(outcomes), tuple(map(str, dead)))

    def _goes_on(self) -> bool:
        self._look()
        newest = self._runs[max(self._runs)] if self._runs else None
        return self._crew.waits or (bool(self._runs) and (newest is None or newest.state != "ended"))

    def _outcome(self, place: int, act: Act, words: str, refused: bool) -> Outcome:
        if refused or place not in self._runs:
            return Outcome(act, not refused, words)
        return run_outcome(act, *sandboxed.ended(self._runs[place]))

    def _look(self) -> None:
        """Note the newest run; the client knows no other."""
        if self._runs:
            self._runs[max(self._runs)] = self._crew.client.run_view()

    def _do(self, act: Act) -> str:
        if act.kind == "fault":
            return self._fault(act.text)
        if act.kind == "order":
            return self._order(act.text)
        assert isinstance(act.spec, BulkSpec)
        self._look()
        self._crew.client.run(act.spec)
        self._runs[len(self._done)] = None
        return ""

    def _fault(self, text: str) -> str:
        crew = self._crew
        assert isinstance(self._drill.system, System)
        fault, target, amounts = faults.read(self._drill.system, text)
        if fault.name == "restart":
            began = time.monotonic()
            crew.broker.kill()
            crew.start_broker()
            return f"the broker was killed, and another one serves after {time.monotonic() - began:.2f} s"
        process = crew.broker if target == BROKER else crew.workers.get(_seat(target))
        if process is None:
            raise Refused(f"no {target!r}; there are {', '.join(crew.workers) or 'no workers'}")
        if fault.name == "freeze":
            crew.freeze(process, amounts[0])
            return f"{process.name} does nothing for {amounts[0]:g} s"
        crew.workers.pop(process.name).kill()
        return f"{process.name} was killed"

    def _order(self, text: str) -> str:
        name, n = terms.words_of(text, terms.ORDERS)
        crew = self._crew
        if name == "stop":
            crew.client.stop_run()
        elif name == "add":
            crew.add(n)
        elif n > len(crew.workers):
            raise Refused(f"there are only {len(crew.workers)} workers")
        else:
            for _ in range(n):
                crew.workers.popitem()[1].leave()
        return "done"
