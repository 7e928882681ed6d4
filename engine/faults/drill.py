"""Plays a drill: a script of runs and faults in a sandbox, judged by its promises and by how its runs ended.

The rules of this file:

- A drill is played in virtual time: one seed gives the same report to the last digit.
- It passes where every promise was kept by its end, every run ended as expected, and nothing was refused.
- A refusal is an outcome too; the rest of the script is still played.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, NamedTuple

from engine.errors import Refused
from engine.faults import faults, queuefaults, terms
from engine.faults.script import Act, Drill
from engine.faults.terms import Feed
from engine.faults.watch import Plan, Watch
from engine.labs.queuesandbox import QueueSandbox
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkView
from engine.system import System

SCHEMA: Literal["roundhouse.drill/1"] = "roundhouse.drill/1"


class Judged(NamedTuple):
    """A promise of the drill, with its final verdict."""

    text: str
    within: float  # virtual seconds
    kept: bool  # one that was open at the end was not
    after: float | None  # virtual seconds until it was decided; None: it was still open


class Outcome(NamedTuple):
    """The outcome of one act."""

    act: Act
    ok: bool
    words: str  # what was done, how a run ended, or why it was refused
    promises: tuple[Judged, ...] = ()


class Report(NamedTuple):
    """A drill that was played."""

    drill: Drill
    seed: int
    outcomes: tuple[Outcome, ...]
    dead: tuple[str, ...]  # the core that stopped the world, if one did

    @property
    def passed(self) -> bool:
        """Whether everything went as promised and expected."""
        return not self.dead and all(outcome.ok for outcome in self.outcomes)


def play(drill: Drill, seed: int | None = None) -> Report:
    """Play a script from its beginning to its end; ``seed`` in place of its own."""
    seed = drill.seed if seed is None else seed
    player: _Player = _Documents(drill, seed) if drill.crew.stages else _Tasks(drill, seed)
    with player.sandbox:
        for act in drill.acts:
            player.go(act.at)
            player.do(act)
        player.go(drill.until)
        return Report(drill, seed, tuple(player.outcomes()), player.sandbox.health().dead)


def document(report: Report) -> dict[str, Any]:
    """A report as the JSON object of schema ``roundhouse.drill/1``; seconds are virtual."""
    drill = report.drill
    return {
        "schema": SCHEMA,
        "drill": drill.name,
        "system": drill.system.name,
        "seed": report.seed,
        **_crew(drill),
        "until_s": drill.until,
        "verdict": "pass" if report.passed else "fail",
        "stopped_by": report.dead[0] if report.dead else None,
        "acts": [
            {
                "at_s": outcome.act.at,
                outcome.act.kind: outcome.act.text,
                "ok": outcome.ok,
                "words": outcome.words,
                "promises": [
                    {
                        "text": one.text,
                        "within_s": round(one.within, 3),
                        "kept": one.kept,
                        "after_s": None if one.after is None else round(one.after, 3),
                    }
                    for one in outcome.promises
                ],
            }
            for outcome in report.outcomes
        ],
    }


def _crew(drill: Drill) -> dict[str, Any]:
    crew = drill.crew
    if crew.stages:
        return {"stages": {stage.name: stage.workers for stage in crew.stages}}
    return {"workers": crew.workers, "slots": crew.slots}


class _Player(ABC):
    """Plays acts in a sandbox; subclasses say what a run is."""

    sandbox: Any  # a Candidate of one kind or the other

    def __init__(self) -> None:
        self._done: list[tuple[Act, Watch | str]] = []  # with the watch of a fault, or what there is to say

    def go(self, until: float) -> None:
        """Let time pass until then, or until nothing more happens."""
        sandbox = self.sandbox
        while sandbox.now < until and not sandbox.health().dead:
            sandbox.advance(until - sandbox.now)

    def do(self, act: Act) -> None:
        """Do one thing now."""
        try:
            self._done.append((act, self._begun(act)))
        except Refused as refusal:
            self._done.append((act, f"refused: {refusal}"))

    def outcomes(self) -> list[Outcome]:
        """All outcomes so far."""
        self._look()
        return [self._outcome(place, act, what) for place, (act, what) in enumerate(self._done)]

    # ---- what differs -----------------------------------------------------------------------------------------------

    @abstractmethod
    def _plan(self, line: str) -> Plan:
        """The fault of a line, with its promises."""

    @abstractmethod
    def _order(self, text: str) -> None:
        """Give an order in words."""

    @abstractmethod
    def _run(self, act: Act) -> None:
        """Begin one; its place among what was done is ``len(self._done)``."""

    @abstractmethod
    def _ended(self, place: int) -> tuple[str, bool | None]:
        """What came of the run at this place, and whether it passed; None where it has not ended."""

    @abstractmethod
    def _look(self) -> None:
        """Note the state of runs while it can be seen."""

    # ---- what does not ----------------------------------------------------------------------------------------------

    def _begun(self, act: Act) -> Watch | str:
        if act.kind == "fault":
            watch = Watch(self.sandbox, self._plan(act.text))
            watch.begin()
            return watch
        if act.kind == "order":
            self._order(act.text)
        else:
            self._look()
            self._run(act)
        return ""

    def _outcome(self, place: int, act: Act, what: Watch | str) -> Outcome:
        if isinstance(what, Watch):
            promises = tuple(
                Judged(one.promise.text, one.promise.within, bool(one.kept), one.after) for one in what.results
            )
            return Outcome(act, what.held, what.plan.does, promises)
        if what or act.kind == "order":
            return Outcome(act, not what, what or "done")
        return run_outcome(act, *self._ended(place))


class _Tasks(_Player):
    """In a sandbox with a broker."""

    def __init__(self, drill: Drill, seed: int) -> None:
        super().__init__()
        assert isinstance(drill.system, System)
        crew = drill.crew
        self.sandbox = Sandbox(drill.system, drill.options, workers=crew.workers, slots=crew.slots, seed=seed)
        self._runs: dict[int, BulkView | None] = {}  # by place among what was done: as it was seen last
        self._newest: int | None = None

    def _plan(self, line: str) -> Plan:
        return faults.plan(self.sandbox, line)

    def _order(self, text: str) -> None:
        order(self.sandbox, text)

    def _run(self, act: Act) -> None:
        self.sandbox.run(act.spec)
        self._newest = len(self._done)
        self._runs[self._newest] = None

    def _look(self) -> None:
        """Note the newest run; the client knows no other."""
        if self._newest is not None and "client" in self.sandbox.world.names:
            self._runs[self._newest] = self.sandbox.run_view()

    def _ended(self, place: int) -> tuple[str, bool | None]:
        return ended(self._runs[place])


def ended(run: BulkView | None) -> tuple[str, bool | None]:
    """What came of a run of tasks, and whether it passed; None where it has not ended, or nobody ever heard of it."""
    if run is None:
        return "the client was never told", None
    ledger = run.ledger
    failed = "".join(f", {n:,} {kind}" for kind, n in ledger.failed)
    words = f"{ledger.succeeded:,} of {run.spec.n:,} succeeded{failed}"
    if run.state != "ended":
        return f"{words}; not ended by the end of the drill", None
    return words, run.passed


def run_outcome(act: Act, words: str, passed: bool | None) -> Outcome:
    """The outcome of a run, as the drill expects it or not; ``passed``: None where it has not ended."""
    if passed is None:
        return Outcome(act, False, words)
    verdict = "pass" if passed else "fail"
    return Outcome(act, verdict == act.expect, f"{words}: {verdict}, expected {act.expect}")


class _Documents(_Player):
    """In a sandbox of disk queues."""

    def __init__(self, drill: Drill, seed: int) -> None:
        super().__init__()
        self.sandbox = QueueSandbox(drill.crew.stages, drill.options, seed=seed, feeding=False)
        self._fed: dict[int, tuple[int, list[str]]] = {}  # by place: how many are to be fed, and which were

    def _look(self) -> None:
        """Nothing to note: documents stay where they are."""

    def _plan(self, line: str) -> Plan:
        return queuefaults.plan(self.sandbox, line)

    def _order(self, text: str) -> None:
        queue_order(self.sandbox, text)

    def _run(self, act: Act) -> None:
        assert isinstance(act.spec, Feed)
        self._fed[len(self._done)] = (act.spec.n, self.sandbox.feed_batch(act.spec.n, act.spec.rate))

    def _ended(self, place: int) -> tuple[str, bool | None]:
        """A document that is given up, with its input kept, is accounted for; it is counted."""
        wanted, fed = self._fed[place]
        published, given_up = self.sandbox.ended(fed)
        words = f"{published:,} of {wanted:,} published"
        words += f", {given_up:,} failed twice" if given_up else ""
        if published + given_up < wanted:
            return f"{words}; not ended by the end of the drill", None
        return words, not given_up


def order(sandbox: Sandbox, text: str) -> None:
    """Carry out an order such as ``add 2``. Raises Refused."""
    name, n = terms.words_of(text, terms.ORDERS)
    match name:
        case "add":
            sandbox.add_workers(n)
        case "remove":
            sandbox.remove_workers(n)
        case "stop":
            sandbox.stop_run()
        case _:
            getattr(sandbox, name)()


def queue_order(sandbox: QueueSandbox, text: str) -> None:
    """Carry out an order such as ``pause parse``. Raises Refused."""
    name, of = terms.queue_order(text)
    match name:
        case "add" | "remove":
            sandbox.known(of)
            wanted = next(row.wanted for row in sandbox.view().stages if row.name == of)
            sandbox.set_workers(of, wanted + (1 if name == "add" else -1))
        case "pause":
            sandbox.pause_stage(of)
        case "resume":
            sandbox.resume_stage(of)
        case "done":
            sandbox.say_done()
