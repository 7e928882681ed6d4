"""What changed between pictures, told to another process and put together there."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from engine.catalogue import SYSTEMS
from engine.journal.codec import Unreadable
from engine.labs import shared as module
from engine.labs.shared import LEGS, Copy, Easel, codec_of, crew_of
from engine.parts.view import BrokerLeg, WorkerRow, WorkerView
from tests.helpers.fake_lab import FakeLab

CODEC = codec_of(SYSTEMS["roundrobin"])


class Pair:
    """Both sides, and what a viewer knows."""

    def __init__(self, lab: FakeLab) -> None:
        self.lab, self.serial = lab, 0
        self.easel, self.copy = Easel(CODEC, lab.seats.get), Copy(CODEC)

    def put(self) -> None:
        self.easel.put({name: self.lab.feed.picture(name) for name in ("broker", "client")})

    def tell(self, pool: bool = False) -> list[bytes]:
        whole = self.serial not in self.easel.known
        pages = self.easel.pages(self.serial, pool)
        self.copy.take(pages, whole)
        self.serial = self.easel.serial
        return pages

    def same(self) -> bool:
        return all(self.copy.pictures[name] == self.lab.feed.picture(name) for name in ("broker", "client"))


def test_a_seat_is_told_once_and_of_sampled_tasks_the_newest() -> None:
    asked: list[bytes] = []

    def seat_of(key: bytes) -> str:
        asked.append(key)
        return key.decode()

    lab = FakeLab(50)
    easel, copy = Easel(CODEC, seat_of), Copy(CODEC)
    legs = tuple(BrokerLeg(b"c", b"%d" % n, 1.0, 2.0, float(n)) for n in range(LEGS + 5))
    view = lab.feed.peek("broker")._replace(legs=legs)
    easel.put({"broker": view})
    copy.take(easel.pages(0), True)
    assert len(asked) == 50 and len(copy.seats) == 50
    assert copy.pictures["broker"].legs == legs[5:]
    easel.put({"broker": view._replace(workers=tuple(row._replace(done=9_999) for row in view.workers))})
    copy.take(easel.pages(1), False)
    newcomer = view.workers[0]._replace(key=b"new")
    easel.put({"broker": view._replace(workers=(*view.workers[1:], newcomer))})
    copy.take(easel.pages(2), False)
    assert asked[50:] == [b"new"] and set(copy.seats) == {row.key for row in view.workers[1:]} | {b"new"}


def test_all_is_told_first_and_then_what_changed() -> None:
    pair = Pair(FakeLab(1000))
    pair.lab.seats[pair.lab.workers[0].key] = "worker-1"
    pair.put()
    first = sum(map(len, pair.tell()))
    assert pair.same() and pair.copy.seats == {pair.lab.workers[0].key: "worker-1"}
    pair.lab.replace(3, done=7_000_000)
    pair.lab.publish()
    pair.put()
    assert sum(map(len, pair.tell())) < first / 3 and pair.same()
    assert pair.easel.pages(pair.serial - 1) is pair.easel.pages(pair.serial - 1), "made once for all"


def test_who_leaves_comes_or_stands_elsewhere_is_told() -> None:
    pair = Pair(FakeLab(5))
    pair.put()
    pair.tell()
    came = pair.lab.workers[0]._replace(key=b"new")
    for change in (
        lambda rows: rows[1:],
        lambda rows: [*rows, came],
        lambda rows: rows[::-1],
        lambda rows: [rows[0]._replace(key=b"newer"), *rows[:2]],
        lambda rows: [],
    ):
        pair.lab.workers = change(pair.lab.workers)
        pair.lab.publish()
        pair.put()
        pair.tell()
        assert pair.same()


def test_a_viewer_that_fell_behind_is_told_the_rest_or_all() -> None:
    pair = Pair(FakeLab(20))
    pair.put()
    pair.tell()
    for _ in range(module.KEPT - 1):
        pair.lab.advance(0.25)
        pair.put()
    assert pair.serial in pair.easel.known
    pair.tell()
    assert pair.same()
    for _ in range(module.KEPT):
        pair.lab.advance(0.25)
        pair.put()
    assert pair.serial not in pair.easel.known
    pair.tell()
    assert pair.same()


def test_many_workers_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 7)
    pair = Pair(FakeLab(30))
    pair.put()
    assert len(pair.tell()) == 1 + 5 and pair.same()
    pair.lab.workers = pair.lab.workers[15:]
    pair.lab.advance(0.25)
    pair.put()
    assert len(pair.tell()) > 3 and pair.same()


def test_the_workers_own_pictures_come_where_they_are_asked_for() -> None:
    pair = Pair(FakeLab(2))
    seen = WorkerView(1.0, "working", 10, 3, 5, 0.5, joined=True)
    pair.easel.put({"pool": {"worker-1": seen}})
    pair.tell()
    assert pair.copy.pool == {}
    pair.tell(pool=True)
    assert pair.copy.pool == {"worker-1": seen}


def test_workers_whose_broker_is_elsewhere_have_a_table() -> None:
    joined = WorkerView(1.0, "working", 10, 3, 5, 0.5, joined=True)
    table = crew_of({"worker-1": joined, "worker-2": joined._replace(joined=False)}, {b"k": "worker-1"})
    assert table is not None and table.ledger.balanced
    assert [(row.key, row.name, row.state, row.free, row.in_flight, row.done) for row in table.workers] == [
        (b"k", "worker-1", "ready", 7, 3, 5),
        (b"worker-2", "worker-2", "lost", 7, 3, 5),
    ]
    assert crew_of({}, {}) is None


def rows(**changes: Any) -> list[bytes]:
    """Pages of one worker, of which one column is another."""
    easel = Easel(CODEC, lambda key: None)
    easel.put({"broker": FakeLab(1).feed.picture("broker")})
    head, page = map(msgpack.unpackb, easel.pages(0))
    fields = (*WorkerRow._fields, "seat")
    for name, value in changes.items():
        page["in"][fields.index(name)] = value
    return [msgpack.packb(head), msgpack.packb(page)]


HEAD = msgpack.packb({"heads": {}})


@pytest.mark.parametrize(
    "pages",
    [
        [b""],
        [b"\xc1"],
        [msgpack.packb([])],
        [msgpack.packb({"heads": {"nobody": 1}})],
        [msgpack.packb({"heads": {"broker": 1}})],
        [msgpack.packb({"heads": {"broker": ["\x00", "os.system", "true"]}})],
        [msgpack.packb({"heads": {}, "pool": {"w": 1}})],
        [msgpack.packb({"heads": {}, "pool": [1]})],
        [HEAD, msgpack.packb({"rows": "broker", "in": [], "out": []})],
        [HEAD, msgpack.packb({"rows": ["x"], "in": 1, "out": 2})],
        [msgpack.packb([[]] * 300_000)],
        rows(key=[1]),
        rows(state=["dancing"]),
        rows(slots=[True]),
        rows(done=[]),
        rows(done=5),
        rows(terms=[[["a"]]]),
        rows(terms=[[1]]),
        rows(took=[[1, "x"]]),
        rows(took=[7]),
        rows(seat=[b"x"]),
    ],
)
def test_what_can_not_be_believed_changes_nothing(pages: list[bytes]) -> None:
    pair = Pair(FakeLab(2))
    pair.put()
    pair.tell()
    before = pair.copy.pictures
    with pytest.raises(Unreadable):
        pair.copy.take(pages, True)
    assert pair.copy.pictures is before and pair.same()
    pair.copy.take(rows(), True)
