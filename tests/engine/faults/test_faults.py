"""Every fault of every system: its promises hold on a sound system, and fail on a sabotaged one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.faults.faults import faults_for, plan, read, targets
from engine.faults.watch import Watch
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.fault import Fault
from engine.parts.inflight import Task
from engine.parts.liveness import Liveness
from engine.parts.orders import Slow
from engine.parts.store import Memory
from engine.parts.view import BrokerView
from engine.parts.violations import Violations
from engine.protocols.conversation.broker import Broker as ConversationBroker
from engine.protocols.negotiated.service import Service
from engine.protocols.pingpong.tasks import Tasks
from engine.protocols.roundrobin.pool import Pool
from tests.helpers.examples import seeds

CASES = [
    pytest.param(system, fault, kind, id=f"{system}-{fault.name}-{kind or 'its own'}")
    for system in SYSTEMS
    for fault in faults_for(SYSTEMS[system])
    for kind in fault.targets or ("",)
]
FALLBACK = "tcp://127.0.0.1:6727"


def busy(system: str, seed: int = 0, pair: bool = False) -> Sandbox:
    """Five workers, at work."""
    options = SYSTEMS[system].options()
    if pair:
        options = replace(options, fallback=FALLBACK)
    stage = Sandbox(SYSTEMS[system], options, seed=seed, workers=5, slots=3).open()
    stage.advance(5.0)
    stage.run(BulkSpec("ping", 150, rate=25.0, in_flight=100, timeout=30.0))
    stage.advance(2.3)
    return stage


def keeping() -> Sandbox:
    """The same of a round robin broker with a store, and more tasks than its workers have slots for."""
    options = replace(SYSTEMS["roundrobin"].options(), backlog="sqlite:")
    stage = Sandbox(SYSTEMS["roundrobin"], options, workers=5, slots=3).open()
    stage.advance(5.0)
    for worker in stage.workers():
        stage.order(worker, Slow(1.0))
    stage.run(BulkSpec("ping", 150, in_flight=100, timeout=60.0))
    stage.advance(2.3)
    return stage


def done(stage: Sandbox, line: str, limit: float = 120.0) -> Watch:
    """The fault, watched to its end."""
    watch = Watch(stage, plan(stage, line))
    watch.begin()
    for _ in range(int(limit)):
        stage.advance(1.0)
        if watch.done:
            return watch
    raise AssertionError([one for one in watch.results if one.kept is None])


def broken(watch: Watch) -> list[str]:
    return [one.promise.text for one in watch.results if not one.kept]


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize(("system", "fault", "kind"), CASES)
def test_every_promise_of_every_fault_holds(system: str, fault: Fault, kind: str, seed: int) -> None:
    stage = busy(system, seed, fault.name == "takeover")
    watch = done(stage, f"{fault.name} {'w3' if kind == 'worker' else kind}")
    assert broken(watch) == [] and stage.health().dead == ()
    assert len(watch.results) >= 2


@pytest.mark.parametrize("system", SYSTEMS)
def test_there_are_enough_faults_and_each_is_said(system: str) -> None:
    faults = faults_for(SYSTEMS[system])
    assert len(faults) >= 13 and len({fault.name for fault in faults}) == len(faults)
    assert all(fault.does and fault.usage.startswith(fault.name) for fault in faults)


def test_the_same_fault_on_the_same_seed_is_decided_at_the_same_times() -> None:
    runs = [[(one.kept, one.after) for one in done(busy("pingpong", 7), "freeze w3 8").results] for _ in range(2)]
    assert runs[0] == runs[1]


def test_short_outages_lose_nobody_and_say_so() -> None:
    for line in ("freeze w3 1.4", "cut w3 1.4"):
        watch = done(busy("conversation"), line)
        assert watch.results[0].promise.text == "w3 is not lost" and watch.held
    watch = done(busy("roundrobin"), "freeze broker 1.4")
    assert "nobody else is lost" in watch.results[0].promise.text and watch.held


def test_a_wall_clock_within_the_limit_changes_nothing() -> None:
    watch = done(busy("negotiated"), "wall w3 -20 5")
    assert watch.results[0].promise.text == "30 s are allowed: w3 stays in the table" and watch.held


# ---- promises can fail ----------------------------------------------------------------------------------------------


def nobody_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for its silence nor because its connection is gone."""
    monkeypatch.setattr(Liveness, "expired", lambda self, now: [])
    for core, name in ((Pool, "lose"), (ConversationBroker, "_unsent"), (Service, "unsent")):
        monkeypatch.setattr(core, name, lambda *_: None)


@pytest.mark.parametrize("system", ["roundrobin", "conversation", "negotiated"])
def test_a_broker_that_never_gives_a_worker_up_breaks_what_is_promised_of_a_kill(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = busy(system)
    nobody_is_given_up(monkeypatch)
    stage.world.checks = False
    wrong = broken(done(stage, "kill w3"))
    assert any("is lost within" in text for text in wrong) and any("not counted on past" in text for text in wrong)


def test_a_broker_that_forgets_what_a_lost_worker_held_breaks_the_books(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = busy("roundrobin")
    stage.order("worker-3", Slow(2.0))
    stage.advance(1.0)
    stage.world.checks = False
    monkeypatch.setattr(Pool, "take_back", lambda self, worker, tasks: worker.held.clear())
    assert "the ledger balances after every message: nothing is lost, nothing is counted twice" in broken(
        done(stage, "kill w3")
    )


def test_the_same_with_checks_stops_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = busy("roundrobin")
    stage.order("worker-3", Slow(2.0))
    stage.advance(1.0)
    monkeypatch.setattr(Pool, "take_back", lambda self, worker, tasks: worker.held.clear())
    watch = done(stage, "kill w3")
    assert not watch.held and "AssertionError" in stage.health().dead[0]


def test_a_broker_that_gives_up_at_once_fails_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = busy("pingpong")
    stage.order("worker-3", Slow(2.0))
    stage.advance(1.0)

    retry = Tasks.retry

    def never_again(self: Tasks, task: Task) -> bool:
        task.attempt = 99
        return retry(self, task)

    monkeypatch.setattr(Tasks, "retry", never_again)
    assert "no task that was accepted fails" in broken(done(stage, "kill w3"))


def test_a_broker_that_counts_nothing_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = busy("pingpong")
    monkeypatch.setattr(Violations, "add", lambda self, peer, reason, now: [])
    (text,) = broken(done(stage, "garbage"))
    assert text == "the broker has counted 5 violations of rogue-1"


def test_a_broker_whose_word_nobody_hears_gets_nobody_back(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = busy("roundrobin")
    for name in stage.workers():
        stage.world.after(0.1, stage.world.cut, name, "broker")
    assert any(text.startswith("every worker is in the table") for text in broken(done(stage, "restart")))


# ---- what is typed --------------------------------------------------------------------------------------------------


def test_a_line_is_read_with_what_is_left_out() -> None:
    fault, target, amounts = read(SYSTEMS["roundrobin"], "  cut   w3 ")
    assert (fault.name, target, amounts) == ("cut", "w3", (10.0,))
    assert read(SYSTEMS["roundrobin"], "drop client 0.5 3")[1:] == ("client", (0.5, 3.0))
    assert read(SYSTEMS["roundrobin"], "restart")[1:] == ("broker", ())
    assert read(SYSTEMS["roundrobin"], "garbage")[1:] == ("", ())
    assert read(SYSTEMS["roundrobin"], "cut w3")[0].usage == "cut WORKER|CLIENT [SECONDS]"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", r"no fault ''; there are kill, freeze"),
        ("kil w3", r"no fault 'kil'; did you mean kill\?"),
        ("wall w3", r"no fault 'wall'"),
        ("kill", r"kill needs a target: kill WORKER"),
        ("kill w3 5", r"kill takes no '5'"),
        ("cut w3 soon", r"cut: seconds is a number from 0.1 to 600, got 'soon'; cut WORKER\|CLIENT \[SECONDS\]"),
        ("cut w3 nan", r"got 'nan'"),
        ("drop w3 2", r"share is a number from 0.01 to 0.9"),
        ("kill w33", r"kill: no 'w33' that it can be done to; did you mean w3\?; there are w1, w2, w3"),
        ("kill client", r"no 'client' that it can be done to"),
        ("freeze fallback", r"there are broker, w1"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_known(line: str, words: str) -> None:
    stage = busy("roundrobin")
    with pytest.raises(Refused, match=words):
        plan(stage, line)


def test_a_worker_is_aimed_at_by_its_seat_or_in_short_and_called_so_in_what_is_promised() -> None:
    assert targets(busy("conversation"), read(SYSTEMS["conversation"], "kill x")[0]) == tuple(
        f"w{n}" for n in range(1, 6)
    )
    for name in ("worker-2", "w2"):
        stage = busy("conversation")
        watch = Watch(stage, plan(stage, f"kill {name}"))
        assert watch.plan.text == f"kill {name}" and watch.plan.does == "w2 is dead, without a word"
        watch.begin()
        assert "worker-2" not in stage.world.names


def test_a_seat_is_meant_whatever_its_broker_calls_it_and_the_dead_are_no_target() -> None:
    stage = busy("roundrobin")
    view: BrokerView = stage.feed.pictures["broker"]
    called = {row.key: row.name for row in view.workers}
    assert called[stage.key("worker-1")] != "w1"  # but by the order in which they joined
    plan(stage, "kill w1").inject()
    assert "worker-1" not in stage.workers()
    with pytest.raises(Refused, match="no 'w1'"):
        plan(stage, "kill w1")


def test_planning_does_nothing() -> None:
    stage = busy("negotiated")
    before = (stage.now, stage.world.names, stage.sight())
    for fault in faults_for(SYSTEMS["negotiated"]):
        if fault.name != "takeover":
            plan(stage, f"{fault.name} {'w3' if 'worker' in fault.targets else ''}")
    assert before == (stage.now, stage.world.names, stage.sight())


def test_a_pair_is_needed_for_a_takeover() -> None:
    with pytest.raises(Refused, match=r"there is no fallback; set negotiated\.fallback"):
        plan(busy("negotiated"), "takeover")


def test_twins_and_rogues_have_names_of_their_own_and_twins_can_be_killed() -> None:
    stage = busy("roundrobin")
    for line in ("twin w2", "garbage", "garbage"):
        plan(stage, line).inject()
    assert {"twin-1", "rogue-1", "rogue-2"} <= set(stage.world.names)
    plan(stage, "kill twin-1").inject()
    assert "twin-1" not in stage.world.names


def test_of_two_under_one_name_the_loss_of_one_is_no_loss() -> None:
    for line in ("kill twin-1", "freeze w2 8", "kill w2"):
        stage = busy("roundrobin")
        plan(stage, "twin w2").inject()
        stage.advance(2.0)
        watch = done(stage, line)
        assert watch.held and "one row" in watch.results[0].promise.text


def test_what_a_broker_kept_is_there_again_when_it_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = done(keeping(), "restart")
    assert "every task that was accepted" in watch.plan.promises[0].text and watch.held
    assert "knows what its store keeps" in watch.plan.does

    def forgets(store: Memory) -> None:
        store.epoch += 1

    monkeypatch.setattr(Memory, "reopen", forgets)
    (text,) = broken(done(keeping(), "restart"))
    assert text == "every task that was accepted and had not ended is there again"
