"""What a broker with a store keeps, with a core that only notes what it is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Command,
    Ended,
    Entry,
    Leased,
    Note,
    Ordered,
    Outcome,
    Shared,
    Sharer,
    Started,
    Store,
    Stored,
    Told,
    Unstored,
)
from engine.core import Woken as Wake
from engine.parts.inflight import TaskKey
from engine.parts.keeping import AHEAD, HIGH, RETRY, Keeping
from engine.parts.store import KEPT, Memory, Revive, Unavailable, misnamed
from engine.parts.view import BrokerView, LedgerView

ONE, TWO = b"1" * 16, b"2" * 16
DONE = Outcome("", b"data", b"w")


class Core:
    """The core of a broker, with workers that answer when the test says so."""

    def __init__(self, place: str = "sqlite:") -> None:
        self.crew = 0
        self.keeping = Keeping(self, place, workers=lambda: self.crew)
        self.here: dict[TaskKey, int] = {}  # tasks, and how many workers were lost with each
        self.heard: list[tuple[bytes, bytes, Outcome]] = []
        self.again = self.refused = self.sent = self.waiting = 0
        self.full, self.many = False, 3
        self.now = 0.0
        self.asked: list[Store] = []
        self.notes: list[Note] = []

    def do(self, event: Any = None, *puts: TaskKey) -> None:
        out: list[Command] = []
        if event is not None:
            self.keeping.handle(event, self.now, out)
        for key in puts:
            self.keeping.put(key, [b"", key[1], b"job"])
        self.keeping.ask(out)
        self.keeping.check()
        assert all(map(self.keeping.is_leased, self.here))
        self.asked += [command for command in out if isinstance(command, Store)]
        self.notes += [command for command in out if isinstance(command, Note)]

    def end(self, key: TaskKey, outcome: Outcome = DONE) -> None:
        del self.here[key]
        self.keeping.end(key, outcome)
        self.do()

    def holds(self, key: TaskKey) -> bool:
        return key in self.here

    def is_full(self) -> bool:
        return self.full

    def slots(self) -> int:
        return self.many

    def load(self, one: Leased, now: float) -> TaskKey | None:
        key = (one.client, one.message[1])
        if key in self.here:
            return None
        self.here[key] = one.lost
        return key

    def pump(self, now: float, out: list[Command]) -> None:
        """Its workers take what the test says."""

    def tell(self, client: bytes, ident: bytes, outcome: Outcome, out: list[Command]) -> None:
        self.heard.append((client, ident, outcome))

    def known(self) -> None:
        self.again += 1

    def refuse(self, key: TaskKey, why: str, out: list[Command]) -> None:
        self.refused += 1
        self.tell(*key, Outcome(why), out)

    def stored(self, news: int, waiting: int) -> None:
        self.sent += news
        self.waiting = waiting


class Pair(Core):
    """The same, with a store that answers when the test says so."""

    def __init__(self, store: Memory) -> None:
        super().__init__()
        self.store = store
        self.do(Started())

    def answer(self) -> None:
        command = self.asked.pop(0)
        try:
            self.do(self.store.perform([command])[0])
        except Unavailable as why:
            self.do(Unstored(command.number, str(why)))

    def settle(self) -> None:
        while self.asked:
            self.answer()


def begun(store: Memory | None = None) -> Pair:
    core = Pair(store or Memory())
    core.settle()
    return core


def test_a_task_is_here_when_it_is_leased_and_its_client_hears_when_the_store_knows_how_it_ended() -> None:
    core = begun()
    core.do(None, (b"c", ONE))
    assert core.here == {} and core.asked[0].tasks == [Entry(b"c", [b"", ONE, b"job"])] and core.asked[0].lease == 1
    core.answer()
    assert core.here == {(b"c", ONE): 0} and core.keeping.putting == {}
    core.end((b"c", ONE))
    assert core.heard == [] and core.asked[0].ended[0].outcome == DONE
    core.answer()
    assert core.heard == [(b"c", ONE, DONE)]
    core.do(None, (b"d", ONE))
    core.settle()
    assert core.heard[1:] == [(b"d", ONE, DONE)] and core.again == 1 and core.sent == 1


def test_who_asks_for_a_task_that_has_another_client_hears_as_well_and_each_once() -> None:
    core = begun()
    for client in (b"c", b"d"):
        core.do(None, (client, ONE))
        core.settle()
    core.end((b"c", ONE))
    core.settle()
    assert core.heard == [(b"c", ONE, DONE), (b"d", ONE, DONE)]


def test_no_more_is_leased_than_the_broker_may_hold() -> None:
    core = begun()
    core.full = True
    core.do(None, (b"c", ONE))
    core.settle()
    assert core.here == {} and core.waiting == 1
    core.full = False
    core.do()
    assert core.asked[0].lease == 1
    shared = Core("nats://here")
    shared.do(Started())
    assert [command.lease for command in shared.asked] == [AHEAD * shared.many]
    own = Core()
    own.do(Started())
    assert [command.lease for command in own.asked] == [HIGH]


def test_what_the_store_refuses_is_told_and_asked_again_after_a_while() -> None:
    core = begun(Memory(room=0))
    core.do(None, (b"c", ONE))
    core.answer()
    why = core.keeping.trouble
    assert core.heard == [(b"c", ONE, Outcome(why))] and core.refused == 1 and core.notes[-1].level == "bad"
    assert core.asked == [] and core.keeping.wake_at() == RETRY
    core.store.room, core.now = 10, RETRY
    core.do(Wake())
    core.settle()
    assert core.keeping.trouble == "" and core.notes[-1].text == "the store keeps tasks again"


def test_how_a_task_ended_is_not_forgotten_while_the_store_is_away() -> None:
    core = begun()
    core.do(None, (b"c", ONE))
    core.settle()
    core.do(None, (b"d", TWO))
    core.settle()
    core.keeping.lose((b"d", TWO))
    core.end((b"c", ONE))
    core.store.down = "away"
    core.answer()
    core.end((b"d", TWO))
    assert core.asked == [] and core.heard == []
    core.store.down, core.now = "", RETRY
    core.do(Wake())
    assert [(len(command.ended), len(command.lost)) for command in core.asked] == [(2, 1)]
    core.settle()
    assert core.heard == [(b"c", ONE, DONE), (b"d", TWO, DONE)] and core.store.counts().succeeded == 2


def test_a_lease_that_is_another_ones_by_now_tells_nobody() -> None:
    store = Memory()
    core = begun(store)
    core.do(None, (b"c", ONE))
    core.settle()
    store.reopen()
    core.end((b"c", ONE))
    core.settle()
    assert core.heard == [] and core.keeping.fenced == 1


def test_a_task_that_comes_twice_under_an_id_of_its_client_is_done_once() -> None:
    store = Memory()
    store.perform([Store(1, [], [], [Entry(b"c", [b"", b"own", b"job"])] * 2, 0)])
    core = begun(store)
    assert core.here == {(b"c", b"own"): 0} and core.keeping.found == 2
    core.settle()
    assert dict(store.counts().failed) == {"asked again": 1}


def test_dead_tasks_are_revived_and_an_operator_hears_how_many() -> None:
    core = begun()
    core.do(None, (b"c", ONE))
    core.settle()
    core.end((b"c", ONE), Outcome("undeliverable"))
    core.settle()
    assert core.keeping.dead == 1
    core.do(Ordered(Revive((1, 7))))
    core.settle()
    assert core.notes[-1] == Note("warn", "1 of 2 dead tasks wait again") and (b"c", ONE) in core.here


def test_of_a_shared_store_what_others_did_is_told_and_their_clients_are_not_told_here() -> None:
    core = Core("nats://here")
    core.do(Started())
    core.do(Stored(1, [], [Leased(1, b"far", [b"", ONE, b"job"], 0, 0, far=True)], [], 4))
    assert core.sent == 1 and core.waiting == 0
    core.do(Told(None, [(b"c", TWO, DONE)]))
    assert core.heard == [(b"c", TWO, DONE)]
    core.end((b"far", ONE))
    assert core.asked[-1].ended == [Ended(1, DONE)]
    for command in core.asked[1:]:
        core.do(Stored(command.number, [], [], [], 0))
    assert len(core.heard) == 1


def test_how_a_shared_store_is_stands_in_the_picture_and_its_other_brokers_hear_of_our_workers() -> None:
    core = Core("nats://here")
    core.do(Started())
    core.do(Stored(1, [], [], [], 0))
    shared = Shared("nats://here/x", 9, 7, 1, 2, "n1", 3, ("n2",), 1 << 20, 4 << 20, (Sharer("a\x1b 1", 2, 20, 7),))
    core.crew = 2
    core.do(Told(None, [], shared))
    assert core.asked[-1].crew == (2, 3) and core.asked[-1].lease == 0
    asked = len(core.asked)
    core.do(Told(None, [], shared))
    assert len(core.asked) == asked, "the same workers are said once"
    plain = BrokerView(0.0, (), 0, 0, LedgerView(0, 0, (), 0, 0, 0), (), ())
    view = core.keeping.shown(plain)
    assert view.shared is shared and dict(view.counters)["dead tasks"] == 2
    said = dict(view.terms)
    assert (
        said["queue"] == ("9 wait, 7 leased, 1 of them again; led by n1, 3 copies, behind: n2, 25 % of 4 MiB used")
        and said["brokers"] == "a· 1: 2 workers, 20 slots, 7 leased"
    )
    core.do(Told(None, [], shared._replace(leader="", behind=(), room=0)))
    assert dict(core.keeping.shown(plain).terms)["queue"].endswith("; without a leader, 3 copies")


def test_names_of_stores() -> None:
    assert not misnamed("", shared=False) and not misnamed("sqlite:x", shared=False)
    assert not misnamed("nats://x", shared=True)
    assert "can not share one" in misnamed("nats://x", shared=False)
    assert "sqlite:PATH or empty" in misnamed("x", shared=False)
    assert "nats://HOST:PORT" in misnamed("x", shared=True)


WORDS = st.sampled_from(["put", "put", "answer", "answer", "end", "lose", "crash", "away", "back", "wake"])


@pytest.mark.parametrize("idents", [(ONE, TWO, b"3" * 16)])
@given(script=st.lists(st.tuples(WORDS, st.integers(0, 2)), max_size=40))
def test_each_task_ends_once_and_its_client_hears_only_what_the_store_knows(
    idents: tuple[bytes, ...], script: list[tuple[str, int]]
) -> None:
    """Whatever comes of broker and store, a client that goes on asking hears of the one outcome."""
    store = Memory()
    core = begun(store)
    for word, number in script:
        key = (b"c%d" % number, idents[number])
        match word:
            case "put" if key not in core.keeping.putting and key not in core.here:
                core.do(None, key)
            case "answer" if core.asked:
                core.answer()
            case "end" if key in core.here:
                core.end(key)
            case "lose" if key in core.here:
                core.keeping.lose(key)
                core.do()
            case "crash":
                store.down = ""
                store.reopen()
                core = begun(store)
            case "away" | "back":
                store.down = "away" if word == "away" else ""
            case "wake":
                core.now += RETRY
                core.do(Wake())
        for _, ident, outcome in core.heard:
            assert outcome.why or store.result(ident) == outcome
    store.down, core.now = "", core.now + RETRY
    core.do(Wake())
    for _ in range(10):
        core.settle()
        for key in list(core.here):
            core.end(key)
    counts = store.counts()
    assert counts.balanced and counts.waiting == counts.leased == 0 and not counts.failed
    assert all(store.result(ident) in (None, DONE) and store.result(ident) != KEPT for ident in idents)
