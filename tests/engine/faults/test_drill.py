"""Drills are played, judged and the same every time; those that are shipped pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.faults.drill import Report, document, play
from engine.faults.script import read_drill
from engine.parts.violations import Violations
from engine.protocols.roundrobin.pool import Pool

SHIPPED = sorted((Path(__file__).parents[3] / "docs" / "drills").glob("*.toml"))
HEAD = 'system = "roundrobin"\nworkers = 3\nslots = 2\nuntil = 30\n'


def played(tmp_path: Path, *acts: str, seed: int | None = None) -> Report:
    path = tmp_path / "a.toml"
    path.write_text(HEAD + "".join(f"[[do]]\n{act}\n" for act in acts), encoding="utf-8")
    return play(read_drill(path), seed)


def test_there_is_one_drill_for_each_system_of_a_stage() -> None:
    assert {read_drill(path).system.name for path in SHIPPED} == {
        "roundrobin",
        "conversation",
        "pingpong",
        "negotiated",
        "diskqueue",
    }


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_drill_passes(path: Path) -> None:
    report = play(read_drill(path))
    assert [outcome for outcome in report.outcomes if not outcome.ok] == [] and report.passed
    assert sum(len(outcome.promises) for outcome in report.outcomes) >= 10


def test_one_seed_gives_one_report_and_another_may_be_named(tmp_path: Path) -> None:
    acts = ("at = 2\nrun = 'bulkping 200'\nrate = 40", "at = 4\nfault = 'kill w2'")
    first, again, other = played(tmp_path, *acts), played(tmp_path, *acts), played(tmp_path, *acts, seed=5)
    assert document(first) == document(again)
    assert (first.seed, other.seed, other.passed) == (0, 5, True)


def test_what_came_of_everything_stands_in_the_document(tmp_path: Path) -> None:
    report = played(tmp_path, "at = 2\nrun = 'bulkping 20'", "at = 4\nfault = 'kill w2'", "at = 5\norder = 'add 2'")
    whole = document(report)
    assert {key: value for key, value in whole.items() if key != "acts"} == {
        "schema": "roundhouse.drill/1", "drill": "a", "system": "roundrobin", "seed": 0, "workers": 3, "slots": 2,
        "until_s": 30.0, "verdict": "pass", "stopped_by": None,
    }  # fmt: skip
    run, fault, order = whole["acts"]
    assert run == {
        "at_s": 2.0, "run": "bulkping 20", "ok": True, "promises": [],
        "words": "20 of 20 succeeded: pass, expected pass",
    }  # fmt: skip
    assert (fault["fault"], fault["ok"], len(fault["promises"])) == ("kill w2", True, 4)
    assert fault["promises"][2] == {
        "text": "no task that was accepted fails", "within_s": 4.0, "kept": True, "after_s": 4.0,
    }  # fmt: skip
    assert (order["order"], order["words"]) == ("add 2", "done")


def test_runs_end_as_expected_or_not(tmp_path: Path) -> None:
    nobody = ("at = 1\norder = 'endbulk'", "at = 2\norder = 'deregister'")
    run = "at = 5\nrun = 'bulkping 3'\ntimeout = 0.5"
    assert played(tmp_path, *nobody, f"{run}\nexpect = 'fail'").passed
    report = played(tmp_path, *nobody, run)
    assert report.outcomes[-1].words == "0 of 3 succeeded, 3 timeout: fail, expected pass" and not report.passed
    assert not played(tmp_path, "at = 5\nrun = 'bulkping 3'\nexpect = 'fail'").passed
    late = played(tmp_path, "at = 29\nrun = 'bulkping 100'\nrate = 10")
    assert late.outcomes[0].words.endswith("succeeded; not ended by the end of the drill") and not late.passed


def test_a_run_that_ended_is_remembered_when_the_next_begins(tmp_path: Path) -> None:
    report = played(tmp_path, "at = 5\nrun = 'bulkping 3'", "at = 6\nrun = 'bulkdata 4'", "at = 7\nrun = 'pingt'")
    assert [outcome.words.split(":")[0] for outcome in report.outcomes] == [
        "3 of 3 succeeded", "4 of 4 succeeded", "1 of 1 succeeded",
    ]  # fmt: skip
    assert report.passed


def test_what_is_refused_is_an_outcome_and_the_rest_goes_on(tmp_path: Path) -> None:
    report = played(
        tmp_path,
        "at = 5\nrun = 'bulkping 300'\nrate = 100",
        "at = 5\nrun = 'bulkping 3'",
        "at = 6\nfault = 'kill w9'",
        "at = 6\norder = 'remove 5'",
        "at = 7\norder = 'stop'",
        "at = 10\nfault = 'garbage'",
    )
    run, second, kill, remove, stop, garbage = report.outcomes
    assert second.words == "refused: a run is going on (0 of 300 done): stop it first"
    assert kill.words.startswith("refused: kill: no 'w9'") and remove.words.startswith("refused: 5 workers")
    assert [one.ok for one in (run, second, kill, remove, stop, garbage)] == [False, False, False, False, True, True]
    assert "expected pass" in run.words


def test_a_promise_that_is_open_at_the_end_was_not_kept(tmp_path: Path) -> None:
    report = played(tmp_path, "at = 29\nfault = 'freeze w2 20'")
    assert not report.passed
    assert [one for one in report.outcomes[0].promises if one.after is None and not one.kept]


def test_a_broken_promise_fails_the_drill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Violations, "add", lambda self, peer, reason, now: [])
    report = played(tmp_path, "at = 4\nfault = 'garbage'")
    assert not report.passed and [one.kept for one in report.outcomes[0].promises].count(False) == 1
    assert document(report)["verdict"] == "fail"


def test_a_world_that_stands_still_fails_the_drill_and_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Pool) -> None:
        raise AssertionError("a task is in two places")

    monkeypatch.setattr(Pool, "check", broken)
    report = played(tmp_path, "at = 5\nrun = 'bulkping 3'")
    assert report.dead == ("broker: AssertionError: a task is in two places",) and not report.passed
    assert document(report)["stopped_by"] == report.dead[0]
    assert report.outcomes[0].words == "the client was never told"


def test_every_order_can_be_given(tmp_path: Path) -> None:
    report = played(
        tmp_path,
        *(
            f"at = {at}\norder = '{text}'"
            for at, text in enumerate(("deregister", "register", "bulk", "remove 1", "endbulk", "add 1"), 5)
        ),
    )
    assert report.passed


# ---- disk queues --------------------------------------------------------------------------------------------------

QUEUES = 'system = "diskqueue"\nstages = ["parse=2", "output"]\nuntil = 60\n'


def piped(tmp_path: Path, *acts: str) -> Report:
    path = tmp_path / "a.toml"
    path.write_text(QUEUES + "".join(f"[[do]]\n{act}\n" for act in acts), encoding="utf-8")
    return play(read_drill(path))


def test_documents_are_fed_and_faults_are_judged(tmp_path: Path) -> None:
    acts = ("at = 1\nrun = 'feed 20'\nrate = 2", "at = 4\nfault = 'freeze 1 3'", "at = 30\norder = 'done'")
    report = piped(tmp_path, *acts)
    assert document(report) == document(piped(tmp_path, *acts)) and report.passed
    whole = document(report)
    assert (whole["system"], whole["stages"]) == ("diskqueue", {"parse": 2, "output": 1}) and "slots" not in whole
    assert [act["words"] for act in whole["acts"]] == [
        "20 of 20 published: pass, expected pass",
        "driver 1 is stopped for 3 s, and then goes on where it was",
        "done",
    ]
    assert len(whole["acts"][1]["promises"]) >= 4


def test_documents_that_fail_and_those_that_wait(tmp_path: Path) -> None:
    fails = ("at = 1\nrun = 'feed 3'", "at = 1\nfault = 'fail parse 2'")
    report = piped(tmp_path, *fails)
    assert report.outcomes[0].words == "2 of 3 published, 1 failed twice: fail, expected pass" and not report.passed
    waits = piped(tmp_path, "at = 1\norder = 'pause output'", "at = 2\nrun = 'feed 3'")
    assert waits.outcomes[1].words == "0 of 3 published; not ended by the end of the drill" and not waits.passed


def test_every_order_of_queues_can_be_given(tmp_path: Path) -> None:
    orders = ("add parse", "remove parse", "pause parse", "resume parse", "done", "pause nowhere")
    report = piped(tmp_path, *(f"at = {at}\norder = '{text}'" for at, text in enumerate(orders, 1)))
    assert [outcome.words for outcome in report.outcomes] == ["done"] * 5 + ["refused: there is no stage nowhere"]
    late = piped(tmp_path, "at = 1\norder = 'done'", "at = 20\nrun = 'feed 2'", "at = 21\nfault = 'kill 1'")
    assert late.outcomes[-1].words.startswith("refused: kill: no driver '1'; there are nobody")
