"""A drill: a script that is played on a stage, and judged by its promises and by how its runs ended.

The rules of this file:

- A drill is played in virtual time: one seed gives the same report to the last digit.
- It passes where every promise was kept by its end, every run ended as expected, and nothing was refused.
- What is refused is an outcome like any other: the rest is played all the same.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from engine.lab.pool import Refused
from engine.parts.bulk import BulkView
from engine.rehearsal.faults import plan
from engine.rehearsal.script import ORDERS, Act, Drill, words_of
from engine.rehearsal.stage import Stage
from engine.rehearsal.watch import Watch

SCHEMA: Literal["roundhouse.drill/1"] = "roundhouse.drill/1"


class Judged(NamedTuple):
    """A promise of the drill's, as it was in the end."""

    text: str
    within: float  # virtual seconds
    kept: bool  # one that was open at the end was not
    after: float | None  # virtual seconds until it was decided; None: it was still open


class Outcome(NamedTuple):
    """What came of one act."""

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
    with Stage(drill.system, drill.options, workers=drill.workers, slots=drill.slots, seed=seed) as stage:
        player = _Player(stage)
        for act in drill.acts:
            player.go(act.at)
            player.do(act)
        player.go(drill.until)
        return Report(drill, seed, tuple(player.outcomes()), stage.health().dead)


def document(report: Report) -> dict[str, Any]:
    """A report as the JSON object of schema ``roundhouse.drill/1``; seconds are virtual."""
    drill = report.drill
    return {
        "schema": SCHEMA,
        "drill": drill.name,
        "system": drill.system.name,
        "seed": report.seed,
        "workers": drill.workers,
        "slots": drill.slots,
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


class _Player:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._done: list[tuple[Act, Watch | str]] = []  # with the watch of a fault, or what there is to say
        self._runs: dict[int, BulkView | None] = {}  # by place among what was done: as it was seen last
        self._run: int | None = None  # the place of the newest

    def go(self, until: float) -> None:
        """Let time pass until then, or until the world stands still."""
        stage = self._stage
        while stage.now < until and not stage.health().dead:
            stage.advance(until - stage.now)

    def do(self, act: Act) -> None:
        """Do one thing now."""
        try:
            self._done.append((act, self._begun(act)))
        except Refused as refusal:
            self._done.append((act, f"refused: {refusal}"))

    def outcomes(self) -> list[Outcome]:
        """What came of everything so far, as at the end."""
        self._look()
        return [self._outcome(place, act, what) for place, (act, what) in enumerate(self._done)]

    def _begun(self, act: Act) -> Watch | str:
        stage = self._stage
        if act.kind == "fault":
            watch = Watch(stage, plan(stage, act.text))
            watch.begin()
            return watch
        if act.spec is None:
            order(stage, act.text)
            return ""
        self._look()
        stage.run(act.spec)
        self._run = len(self._done)
        self._runs[self._run] = None
        return ""

    def _look(self) -> None:
        """See how the newest run is: the client knows no other."""
        if self._run is not None and "client" in self._stage.world.names:
            self._runs[self._run] = self._stage.run_view()

    def _outcome(self, place: int, act: Act, what: Watch | str) -> Outcome:
        if isinstance(what, Watch):
            promises = tuple(
                Judged(one.promise.text, one.promise.within, bool(one.kept), one.after) for one in what.results
            )
            return Outcome(act, what.held, what.plan.does, promises)
        if what or act.kind == "order":
            return Outcome(act, not what, what or "done")
        run = self._runs[place]
        if run is None:
            return Outcome(act, False, "the client was never told")
        ledger = run.ledger
        failed = "".join(f", {n:,} {kind}" for kind, n in ledger.failed)
        words = f"{ledger.succeeded:,} of {run.spec.n:,} succeeded{failed}"
        if run.state != "ended":
            return Outcome(act, False, f"{words}; not ended by the end of the drill")
        verdict = "pass" if run.passed else "fail"
        return Outcome(act, verdict == act.expect, f"{words}: {verdict}, expected {act.expect}")


def order(stage: Stage, text: str) -> None:
    """Carry out an order such as ``add 2``. Raises Refused."""
    name, n = words_of(text, ORDERS)
    match name:
        case "add":
            stage.add_workers(n)
        case "remove":
            stage.remove_workers(n)
        case "stop":
            stage.stop_run()
        case _:
            getattr(stage, name)()
