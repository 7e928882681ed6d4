"""The jobfrontend of a broker with a store: who hears what when, and how another broker goes on."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Ordered
from engine.parts.store import FOUND, Revive
from engine.parts.view import BrokerView
from engine.protocols.conversation import keptjobfrontend as module
from engine.protocols.conversation.options import Options
from tests.helpers.conversation import Bench


def bench(**options: Any) -> Bench:
    return Bench(Options(backlog="sqlite:", **options))


def heard(said: list[str], who: str = "c1") -> list[str]:
    return [line for line in said if line.startswith(f"{who} <")]


def begun(said: list[str]) -> list[str]:
    """The numbers of the tasks that begin, by their place."""
    return [line.split("/")[-1].rpartition("_")[2] for line in said if " starts " in line]


def view_of(it: Bench) -> BrokerView:
    return it.broker.snapshot(it.now)


# ---- when its client hears what ------------------------------------------------------------------------------------


def test_a_job_is_accepted_and_given_when_it_is_on_the_disk() -> None:
    it = bench()
    it.do("start w1 1")
    it.slow = True
    assert it.do("ask c1 1 submit echo 2") == [] and view_of(it).backlog == 0
    said = it.commit()
    assert heard(said) == ["c1 < [1] accepted 1"] and begun(said) == ["1"]


def test_how_a_task_ended_is_told_when_it_is_on_the_disk_and_its_worker_goes_on_at_once() -> None:
    it = bench()
    it.do("start w1 1")
    it.do("ask c1 1 submit echo 2")
    it.slow = True
    said = it.do("end w1 done")
    assert heard(said) == [] and begun(said) == ["2"] and "w1 < OK(1)" in said
    assert heard(it.commit()) == ["c1 < [1] task 1/1 done"]
    assert heard(it.do("end w1 done")) == []
    assert heard(it.commit()) == ["c1 < [1] task 1/2 done", "c1 < [1] job 1 finished: 2 done, 0 failed"]


def test_what_happens_during_a_write_goes_into_the_next_one() -> None:
    it = bench()
    it.do("start w1 3")
    it.do("ask c1 1 submit echo 4")
    it.slow = True
    for _ in range(3):
        it.do("end w1 done")
    courses = [entry.message[0] for command in it.asked for entry in command.tasks]
    assert courses == [b"course"]
    assert len(heard(it.commit())) == 3


@pytest.mark.parametrize("dies", [False, True])
def test_of_a_job_that_has_ended_nothing_stays_in_the_store(dies: bool) -> None:
    """Its last course was on its way when it ended; or it is there, and the broker that wrote it is gone."""
    it = bench()
    it.do("start w1 2")
    it.do("ask c1 1 submit echo 2")
    it.slow = True
    it.do("end w1 done")
    it.do("end w1 done")
    if dies:
        it.store.perform(it.asked)
        it.restart()
    assert it.commit() or dies
    counts = it.store.counts()
    assert (counts.waiting, counts.leased, counts.succeeded) == (0, 0, counts.accepted)


def test_a_lone_task_is_answered_when_its_outcome_is_kept() -> None:
    it = bench()
    it.do("start w1 1")
    it.slow = True
    assert heard(it.do("ask c1 1 submit :data_3 as id")) == []
    assert heard(it.commit()) == ["c1 < [1] task 1/1 done 3 bytes"]
    assert it.store.result(b"id".rjust(16)) == ("", b"\0\1\2", b"w1")


def test_a_worker_is_told_which_task_it_executes() -> None:
    it, executed = bench(), list[bytes]()
    it.do("start w1 1")
    it.cores["w1"].executing = executed.append
    for line in ("ask c1 1 submit :ping as id", "ask c1 2 submit :ping", "ask c1 3 submit echo as other"):
        it.do(line)
    assert executed == [b"id".rjust(16), b"", b""]


def test_an_order_about_a_job_is_answered_when_it_is_on_the_disk() -> None:
    it = bench()
    it.do("ask c1 1 submit echo 2")
    it.slow = True
    assert heard(it.do("ask c1 2 hold 1")) == []
    assert heard(it.commit()) == ["c1 < [2] accepted 1"]
    it.restart()
    it.commit()
    assert heard(it.do("ask c1 3 jobs")) == ["c1 < [3] 1 job held 2+0+0+0"]
    assert heard(it.do("ask c1 4 cancel 1")) == []
    assert heard(it.commit()) == ["c1 < [1] job 1 cancelled: 0 done, 2 failed", "c1 < [4] accepted 1"]
    it.restart()
    it.commit()
    assert heard(it.do("ask c1 5 jobs")) == ["c1 < [5] "]


# ---- another broker goes on ----------------------------------------------------------------------------------------


def test_what_was_out_is_given_again_and_what_had_ended_is_not() -> None:
    it = bench()
    it.do("start w1 2")
    it.do("ask c1 1 submit echo 4")
    it.do("ask c1 2 submit date")
    it.do("end w1 done")
    it.restart()
    it.do("start w2 9")
    assert heard(it.do("ask c1 3 jobs")) == ["c1 < [3] 1 job running 0+3+1+0, 2 job running 0+1+0+0"]
    view = view_of(it)
    assert (view.ledger.sent, dict(view.counters)[FOUND], dict(view.counters)["redelivered"]) == (4, 4, 2)
    assert view.kept == (4, 0, "") and view.terms[0] == ("store", "4 tasks kept")
    said = [line for _ in range(4) for line in heard(it.do("end w2 done"))]
    assert said[-2:] == ["c1 < [2] task 2/1 done", "c1 < [2] job 2 finished: 1 done, 0 failed"]
    assert "c1 < [1] job 1 finished: 4 done, 0 failed" in said
    assert it.store.counts().leased == it.store.counts().waiting == 0


def test_a_worker_over_plain_tcp_is_given_again_what_it_had() -> None:
    it = bench()
    for line in ("open t1", "say t1 OK(1)", "ask c1 1 submit echo 1"):
        it.do(line)
    it.restart()
    it.do("open t1")
    assert [line for line in it.do("say t1 OK(1)") if "JOB" in line] == ["t1 < JOB 1/1 #1"]
    assert it.do("say t1 UPDATE 1/1 done") == [
        "t1 < OK(1)",
        "c1 < [1] task 1/1 done",
        "c1 < [1] job 1 finished: 1 done, 0 failed",
    ]


def test_a_job_that_was_cancelled_ends_with_the_broker_that_had_its_tasks_out() -> None:
    it = bench()
    it.do("start w1 1")
    it.do("ask c1 1 submit echo 3")
    it.do("ask c1 2 cancel 1")
    assert heard(it.restart()) == ["c1 < [1] job 1 cancelled: 0 done, 3 failed"]
    assert view_of(it).ledger.balanced and it.store.counts().leased == 0


def test_until_all_is_here_no_request_is_looked_at_and_nothing_is_given() -> None:
    it = bench()
    it.do("ask c1 1 submit echo 1")
    it.slow = True
    it.restart()
    it.do("start w1 1")
    assert heard(it.do("ask c1 2 hold 1")) == []
    said = it.commit()
    assert heard(said) == ["c1 < [2] accepted 1"] and begun(said) == []


def test_nothing_is_given_of_a_job_before_it_is_known_how_far_it_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    it = bench()
    it.do("start w1 1")
    it.do("ask c1 1 submit echo 3")
    it.do("end w1 done")
    whole = it.store._lease
    monkeypatch.setattr(it.store, "_lease", lambda most: whole(min(most, 1)))
    it.slow = True
    it.restart()
    it.do("start w2 1")
    assert begun(it.commit()) == ["2"]


# ---- who asks again --------------------------------------------------------------------------------------------------


def test_who_comes_back_and_asks_again_is_told_what_has_become_of_it() -> None:
    it = bench()
    it.do("start w1 1")
    it.do("ask c1 1 submit echo 2 as first")
    it.restart()
    assert heard(it.do("ask c1 1 submit echo 2 again as first")) == ["c1 < [1] accepted 1"]
    it.do("start w2 1")
    it.do("end w2 done")
    it.do("end w2 failed")
    it.restart()
    ended = ["c1 < [1] accepted 1", "c1 < [1] job 1 finished: 1 done, 1 failed"]
    assert heard(it.do("ask c1 1 submit echo 2 again as first")) == ended
    assert heard(it.do("ask c2 7 submit echo 2 again as first"), "c2") == [
        line.replace("c1 < [1]", "c2 < [7]") for line in ended
    ]
    assert it.store.counts().accepted == it.store.counts().succeeded + 1


def test_without_an_id_a_command_that_is_not_known_any_more_is_refused() -> None:
    it = bench()
    it.do("ask c1 1 submit echo 2")
    it.restart()
    assert heard(it.do("ask c1 1 submit echo 2 again")) == ["c1 < [1] accepted 1"]
    assert "it may have run" in heard(it.do("ask c1 2 submit echo 2 again"))[0]
    assert heard(it.do("ask c1 3 submit echo 2 again as new")) == ["c1 < [3] accepted 2"]


def test_one_id_is_one_job_whoever_submits_it_and_all_hear_of_its_end() -> None:
    it = bench()
    it.slow = True
    it.do("ask c1 1 submit echo 1 as one")
    it.do("ask c1 1 submit echo 1 as one")
    it.do("ask c2 5 submit echo 1 as one")
    said = it.commit()
    assert (heard(said), heard(said, "c2")) == (["c1 < [1] accepted 1"], ["c2 < [5] accepted 1"])
    it.slow = False
    assert heard(it.do("ask c3 6 submit echo 1 as one"), "c3") == ["c3 < [6] accepted 1"]
    it.do("start w1 1")
    said = it.do("end w1 done")
    for who, ref in (("c1", 1), ("c2", 5), ("c3", 6)):
        assert heard(said, who) == [
            f"{who} < [{ref}] task 1/1 done",
            f"{who} < [{ref}] job 1 finished: 1 done, 0 failed",
        ]
    assert it.store.counts().results == 1


def test_a_client_that_submits_twice_hears_once() -> None:
    it = bench()
    for _ in range(2):
        it.do("ask c1 1 submit :ping as id")
    assert heard(it.do("start w1 1")) == ["c1 < [1] task 1/1 done"]
    assert ("asked again", 1) in view_of(it).counters


def test_who_asks_again_for_what_is_on_its_way_hears_under_the_new_number() -> None:
    it = bench()
    it.slow = True
    assert heard(it.do("ask control 1 submit echo 2 as one"), "control") == []
    assert "on its way" in heard(it.do("ask control 2 submit echo 2 as one"), "control")[0]
    assert heard(it.do("ask control 3 submit echo 2 again as one"), "control") == []
    assert heard(it.commit(), "control") == ["control < [3] accepted 1"]
    assert view_of(it).backlog == 2 and ("asked again", 1) in view_of(it).counters


def test_who_submits_a_job_that_nobody_follows_follows_it() -> None:
    it = bench()
    it.do("ask c1 1 submit echo quiet as it")
    it.do("ask c2 2 submit echo as it")
    it.do("start w1 1")
    assert len(heard(it.do("end w1 done"), "c2")) == 2


def test_what_is_on_its_way_into_the_store_counts_as_waiting() -> None:
    it = bench(max_backlog=5)
    it.slow = True
    assert heard(it.do("ask c1 1 submit echo 3")) == []
    assert heard(it.do("ask c1 2 submit echo 3")) == ["c1 < [2] refused: full"]
    it = bench(max_backlog=5000)
    assert heard(it.do("ask c1 1 submit echo 1001")) == [
        "c1 < [1] refused: full: more than 1000 tasks of one client may not wait"
    ]


def test_a_client_that_is_gone_has_its_jobs_done_all_the_same() -> None:
    it = bench()
    it.do("ask c1 1 submit echo 1 as it")
    it.do("ask c1 2 submit :ping")
    it.do("wait 60")
    assert view_of(it).backlog == 2
    it.do("start w1 2")
    it.do("end w1 done")
    assert it.store.result(b"it".rjust(16)) == ("", b"job 1 finished: 1 done, 0 failed", b"")


def test_through_the_control_socket_numbers_begin_anew_with_a_broker() -> None:
    it = bench()
    it.do("ask control 1 submit echo 1")
    it.restart()
    it.do("ask control 1 submit date 1")
    it.do("start w1 2")
    said = heard(it.do("end w1 done") + it.do("end w1 done"), "control")
    assert said == ["control < [1] task 2/1 done", "control < [1] job 2 finished: 1 done, 0 failed"]


def test_of_those_who_submit_the_same_job_the_newest_hear_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OTHERS", 2)
    it = bench()
    for number in range(4):
        it.do(f"ask c{number} 7 submit :ping as it")
    said = it.do("start w1 1")
    assert [bool(heard(said, f"c{number}")) for number in range(4)] == [True, False, True, True]


# ---- lost with workers -----------------------------------------------------------------------------------------------


def test_lost_workers_are_counted_over_restarts_and_what_none_could_do_is_dead() -> None:
    it = bench(tries=2)
    it.do("ask c1 1 submit :ping")
    for worker in ("p1", "p2"):
        for line in (f"open {worker}", f"say {worker} OK(1)", f"gone {worker}"):
            it.do(line)
        it.restart()
    assert (it.store.counts().dead, it.store.counts().failed) == (1, (("lost", 1),))
    assert view_of(it).ledger.queued == 0
    it.event("broker", Ordered(Revive((1,))))
    assert view_of(it).ledger.queued == 1 and it.store.counts().failed == ()
    assert "c1 < [1] task 2/1 done" in it.do("start w1 1")
    assert it.store.counts().dead == it.store.counts().leased == 0


def test_a_task_of_an_array_that_none_could_do_is_revived_under_its_number() -> None:
    it = bench(tries=2)
    it.do("ask c1 1 submit echo 3")
    for line in ("open p1", "say p1 OK(1)", "say p1 UPDATE 1/1 done", "gone p1"):
        it.do(line)
    it.restart()
    for line in ("open p2", "say p2 OK(1)"):
        it.do(line)
    assert heard(it.do("gone p2")) == ["c1 < [1] task 1/2 error encountered: lost"]
    assert (it.store.counts().dead, view_of(it).ledger.queued) == (1, 1)
    it.do("start w1 1")
    assert heard(it.do("end w1 done"))[-1] == "c1 < [1] job 1 finished: 2 done, 1 failed"
    it.event("broker", Ordered(Revive((next(iter(it.store._dead)),))))
    it.restart()
    assert begun(it.do("start w2 1")) == ["2"]
    assert heard(it.do("end w2 done")) == [] and it.broker.inflight.count == 0
    assert it.store.counts().dead == view_of(it).backlog == it.store.counts().leased == 0


def test_a_restart_of_the_broker_spends_no_try() -> None:
    it = bench(tries=1)
    it.do("ask c1 1 submit echo 2")
    for number in range(3):
        it.do(f"start w{number} 1")
        it.restart()
    assert view_of(it).ledger.queued == 2 and it.store.counts().dead == 0
