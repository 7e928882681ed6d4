"""A drill on real processes: what they can not do is named before anything starts, and its history is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.faults.drill import Report
from engine.faults.real import Real, document, play, problems
from engine.faults.script import Drill, read_drill
from engine.parts.store import Counts
from engine.runs.checker import Judgement

HEAD = 'system = "roundrobin"\nworkers = 2\nslots = 4\nuntil = 60\n[options]\nheartbeat = 0.5\nexpiry = 1.5\n'
RUN = "at = 0\nrun = 'bulkping 200'\nrate = 200\nin_flight = 50\ntimeout = 60"


def script(tmp_path: Path, *acts: str, head: str = HEAD) -> Drill:
    path = tmp_path / "a.toml"
    path.write_text(head + "".join(f"[[do]]\n{act}\n" for act in acts), encoding="utf-8")
    return read_drill(path)


def test_a_drill_with_a_broker_that_is_killed_and_a_worker_that_is_stopped(tmp_path: Path) -> None:
    faults = [f"at = 0.{n}\nfault = '{what}'" for n, what in enumerate(("kill w1", "freeze w2 0.5", "restart"), 2)]
    drill = script(
        tmp_path,
        RUN,
        *faults,
        "at = 0.6\norder = 'add 1'",
        "at = 0.7\nfault = 'kill w1'",
        head=HEAD.replace("= 3", "= 60"),
    )
    real = play(drill)
    first, *rest, gone = real.report.outcomes
    assert first.words == "200 of 200 succeeded: pass, expected pass", real
    assert all(outcome.ok for outcome in rest) and not real.report.dead
    assert gone.words == "refused: no 'w1'; there are worker-2, worker-3" and not real.passed
    assert (real.judged.tasks, real.judged.ends, real.judged.wrong) == (200, (("ok", 200),), ())
    assert real.counts.succeeded == 200 and real.counts.balanced
    assert document(real)["history"]["executed_again"] == real.judged.again


@pytest.mark.parametrize(
    ("act", "wrong"),
    [
        (
            "at = 1\nfault = 'overcredit'",
            "at 1: fault overcredit: real processes can not do that; they do kill,",
        ),
        ("at = 1\nfault = 'cut client 1'", "real processes can not do that"),
        ("at = 1\nfault = 'kill client'", "no 'client' that it can be done to; it is done to worker, as in w1"),
        ("at = 1\nfault = 'kill broker'", "no 'broker' that it can be done to"),
        ("at = 1\norder = 'bulk'", "at 1: order bulk: real processes can not do that; they do add, remove, stop"),
        ("at = 1\nrun = 'ping'", "nobody hears what becomes of it"),
    ],
)
def test_what_processes_can_not_do_is_named(tmp_path: Path, act: str, wrong: str) -> None:
    drill = script(tmp_path, act)
    (found,) = problems(drill)
    assert wrong in found
    with pytest.raises(Refused, match="at 1: "):
        play(drill)


def test_systems_without_a_store_and_a_store_of_somebody_s_are_refused(tmp_path: Path) -> None:
    other = script(tmp_path, head="system = 'negotiated'\nuntil = 3\n")
    assert problems(other) == []
    other = replace(other, system=replace(SYSTEMS["negotiated"], store=""))
    assert problems(other) == ["negotiated has no broker with a store: a drill on real processes needs one"]
    (found,) = problems(script(tmp_path, head=f"{HEAD}backlog = 'sqlite:mine'\n"))
    assert found == "[options] backlog: a drill on real processes has a store of its own"


def test_it_has_held_only_where_history_and_books_are_right(tmp_path: Path) -> None:
    drill = script(tmp_path)
    good = Real(Report(drill, 0, (), ()), Judgement(1, (("ok", 1),), 0, ()), Counts(1, 1, (), 0, 0, 1))
    assert good.passed and document(good)["verdict"] == "pass"
    bad = [
        good._replace(judged=good.judged._replace(wrong=("a task was lost",))),
        good._replace(counts=good.counts._replace(succeeded=0)),
        good._replace(report=good.report._replace(dead=("worker-1 ended with status 1",))),
    ]
    assert [(one.passed, document(one)["verdict"]) for one in bad] == [(False, "fail")] * 3
