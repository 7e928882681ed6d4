from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.pictures.rows import QUIET, Flow, RowFilter, Rows, failed_of, failures, figure, natural, short_name
from engine.parts.view import BrokerView, LedgerView, State, WorkerRow

EMPTY = LedgerView(0, 0, (), 0, 0, 0)


def worker(key: bytes, done: int = 0, state: State = "ready", slots: int = 10, free: int = 10) -> WorkerRow:
    return WorkerRow(key, key.decode(), state, slots, free, slots - free, done, 0, 0, 0.0, 0.0, 10.0, None)


def view(at: float, *workers: WorkerRow) -> BrokerView:
    return BrokerView(at, workers, 0, 0, EMPTY, (), ())


def test_a_rate_is_what_was_done_within_the_last_second_of_pictures() -> None:
    rows = Rows()
    rows.update(view(0.0, worker(b"a")))
    assert rows.rows[0].rate == 0
    for tick in range(1, 21):
        rows.update(view(tick * 0.25, worker(b"a", tick * 250)))
        assert rows.rows[0].rate == 1000
    rests = worker(b"a", 5000)
    for tick, left in enumerate((750, 500, 250, 0, 0), 21):
        rows.update(view(tick * 0.25, rests))
        assert rows.rows[0].rate == left, "it falls although the worker's own row stays as it is"
    rows.update(view(56.25, worker(b"b"), rests._replace(done=5050)))
    assert [row.rate for row in rows.rows] == [0.0, 1.0], "since its last picture, however long ago that was"


def test_a_row_is_made_when_somebody_asks_for_it() -> None:
    rows, crew = Rows(), [b"w%d" % number for number in range(10_000)]
    for tick in range(3):
        rows.update(view(tick * 0.25, *(worker(key, tick) for key in crew)))
    assert rows.rows.made.count(None) == 10_000
    assert [row.label for row in rows.rows[5:8]] == ["w5", "w6", "w7"] and rows.rows[6].rate == 4
    assert rows.rows.made.count(None) == 10_000 - 3 and rows.rows[6] is rows.rows[6]
    assert rows.rows[-1].label == "w9999" and len(list(rows.rows)) == len(rows.rows) == 10_000
    assert None not in rows.rows.made


def test_an_unchanged_worker_keeps_its_row() -> None:
    rows = Rows()
    idle, moving = worker(b"idle"), worker(b"moving")
    rows.update(view(0.0, idle, moving))
    before = [*rows.rows]
    rows.update(view(0.25, idle, worker(b"moving", 5)))
    assert rows.rows[0] is before[0]
    assert rows.rows[1] is not before[1]


def test_a_row_knows_its_place_in_the_order_of_the_broker() -> None:
    rows = Rows()
    idle = worker(b"a"), worker(b"b"), worker(b"c")
    rows.update(view(0.0, *idle)._replace(order=(b"b", b"a")))
    assert [row.place for row in rows.rows] == [2, 1, 0]
    before = rows.rows
    rows.update(view(0.25, *idle)._replace(order=(b"c", b"a")))
    assert [row.place for row in rows.rows] == [2, 0, 1]
    assert rows.rows[0] is before[0], "neither the worker nor its place has changed"


def test_the_same_picture_twice_changes_nothing() -> None:
    rows = Rows()
    picture = view(1.0, worker(b"a"))
    rows.update(picture)
    before = rows.rows
    rows.update(picture)
    rows.update(view(0.5, worker(b"a", 100)))
    assert rows.rows is before


crews = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.integers(0, 3), st.sampled_from(["ready", "busy", "lost"])),
    unique_by=lambda one: one[0],
)


@given(st.lists(st.tuples(crews, st.lists(st.sampled_from([b"a", b"b", b"c"]), unique=True)), max_size=12))
def test_what_is_made_of_changes_is_what_is_made_of_everything(
    pictures: list[tuple[list[tuple[bytes, int, State]], list[bytes]]],
) -> None:
    rows, seen = Rows(), dict[tuple[bytes, int, State], WorkerRow]()
    counts: list[tuple[float, dict[bytes, int]]] = []
    for tick, (crew, order) in enumerate(pictures):
        now = tick * 0.25
        workers = [seen.setdefault(one, worker(one[0], 7 * one[1], one[2], free=one[1])) for one in crew]
        counts = [*(one for one in counts if one[0] >= now - 1), (now, {one.key: one.done for one in workers})]
        rates = []
        for one in workers:
            then, before = next((at, done[one.key]) for at, done in counts if one.key in done)
            rates.append(max(0, one.done - before) / (now - then) if now > then else 0.0)
        before_it = rows.rows
        rows.update(view(now, *workers)._replace(order=tuple(order)))
        assert rows.rows.alike(before_it) == ([one.key for one in workers] == [one.key for one in before_it.workers])
        assert [row.worker for row in rows.rows] == workers
        assert [row.place for row in rows.rows] == [
            ([*order, one.key].index(one.key) + 1) * (one.key in order) for one in workers
        ]
        assert [row.rate for row in rows.rows] == pytest.approx(rates)
        assert rows.tally.states == Counter(one.state for one in workers)
        assert rows.tally.free == sum(one.free for one in workers if one.state != "lost")


def test_a_worker_that_counts_anew_has_no_negative_rate() -> None:
    rows = Rows()
    rows.update(view(0.0, worker(b"a", 1000)))
    rows.update(view(0.25, worker(b"a", 3)))
    assert rows.rows[0].rate == 0


def test_the_pool_in_numbers() -> None:
    rows = Rows()
    rows.update(
        view(0.0, worker(b"a", free=4), worker(b"b", state="lost"), worker(b"c", state="late", slots=2, free=2))
    )
    tally = rows.tally
    assert (tally.slots, tally.free, tally.present) == (12, 6, 2)
    assert (tally.of("ready"), tally.of("late", "lost"), tally.of("drain")) == (1, 2, 0)


def test_a_routing_id_that_is_an_endpoint_is_called_by_its_number() -> None:
    assert short_name("tcp://127.0.0.1:6714:503206") == "503206"
    assert short_name("tcp://[::1]:6714:7") == "7"
    assert short_name("inproc://roundrobin:99") == "99"
    assert short_name("tcp://127.0.0.1:6714") == "tcp://127.0.0.1:6714"
    assert short_name("tern-01") == "tern-01"
    assert short_name("worker-19368") == "w19368"
    assert short_name("a\x1b[0m") == "a·[0m"


def test_names_of_peers() -> None:
    rows = Rows()
    rows.update(view(0.0, worker(b"tern")))
    assert rows.name(b"tern") == "tern"
    assert rows.name(b"tcp://127.0.0.1:6714:12") == "12"
    assert rows.name(b"\xff") == "ff"


def test_a_peer_has_one_name_whoever_else_calls_it_something() -> None:
    seats = {b"tcp://127.0.0.1:6714:7": "worker-3"}
    rows = Rows(seats.get)
    assert rows.name(b"tcp://127.0.0.1:6714:7") == "w3"  # before anything is seen of it
    ours, stranger, rogue = (
        worker(key)._replace(name=name)
        for key, name in ((b"tcp://127.0.0.1:6714:7", "w1"), (b"tcp://127.0.0.1:6714:8", "w3"), (b"rogue-1", "w4"))
    )
    rows.update(view(0.0, ours, stranger, rogue))
    assert [row.label for row in rows.rows] == ["w3", "8", "rogue-1"]
    seats.clear()
    rows.update(view(1.0))
    assert [rows.name(row.key) for row in (ours, stranger, rogue)] == ["w3", "8", "rogue-1"]  # also when it has left


def test_numbers_in_names_are_numbers() -> None:
    assert sorted(["w10", "W2", "w1", "9", "x"], key=natural) == ["9", "w1", "W2", "w10", "x"]


def test_flow_is_what_happened_in_the_last_second() -> None:
    flow = Flow()
    assert flow.update(0.0, EMPTY) == (0, 0, 0)
    for tick in range(1, 9):
        rates = flow.update(tick * 0.25, LedgerView(tick * 100, tick * 50, (), tick * 20, tick * 25, tick * 5))
    assert rates == pytest.approx((400, 280, 200))


def test_nothing_flows_when_pictures_stop() -> None:
    flow = Flow()
    flow.update(0.0, EMPTY)
    moving = LedgerView(10, 10, (), 0, 0, 0)
    assert flow.update(0.5, moving).sent == 20
    for _ in range(QUIET):
        rates = flow.update(0.5, moving)
    assert rates == (0, 0, 0)


def shown(name: bytes, state: State = "ready") -> Rows:
    rows = Rows()
    rows.update(view(0.0, worker(name, state=state)))
    return rows


@pytest.mark.parametrize(
    ("text", "tern", "lost"),
    [
        ("tern", True, False),
        ("!tern", False, True),
        ("^T..n", True, False),
        ("lost", False, True),
        ("!lost$", True, False),
    ],
)
def test_filter(text: str, tern: bool, lost: bool) -> None:
    wanted = RowFilter.parse(text)
    assert wanted is not None
    assert wanted(shown(b"tern").rows[0]) is tern
    assert wanted(shown(b"osprey", "lost").rows[0]) is lost


def test_a_filter_that_is_none() -> None:
    assert RowFilter.parse("") is None
    assert RowFilter.parse("!") is None
    with pytest.raises(ValueError, match=r"filter '\(': missing \)"):
        RowFilter.parse("(")


def test_figures_of_run_files_are_not_taken_for_granted() -> None:
    run = {"rate_per_s": 8.5, "ok": True, "service_us": {"p99": 5}, "failed": {"timeout": 2, "odd": "x"}}
    assert figure(run, "rate_per_s") == 8.5
    assert figure(run, "service_us", "p99") == 5
    assert [figure(run, *path) for path in (("none",), ("ok",), ("rate_per_s", "x"), ("service_us",))] == [0, 0, 0, 0]
    assert failed_of(run) == 2
    assert failed_of({}) == failed_of({"failed": 3}) == 0
    assert failures(LedgerView(9, 1, (("timeout", 3), ("full", 4)), 0, 1, 0)) == 7


def test_where_time_stands_still_another_picture_is_taken_all_the_same() -> None:
    rows = Rows()
    rows.update(view(1.0, worker(b"a")))
    rows.update(view(2.0, worker(b"a", done=5)))
    rate = rows.rows[0].rate
    assert rate > 0
    busy = worker(b"a", done=5, free=3)
    rows.update(view(2.0, busy))
    assert rows.rows[0].worker is busy and rows.rows[0].rate == rate
    rows.update(view(1.5, worker(b"a")))
    assert rows.rows[0].worker is busy, "an older one is not"


def test_the_numbers_of_a_broker_far_away_are_names_until_somebody_there_has_a_seat() -> None:
    seats: dict[bytes, str] = {}
    rows = Rows(seats.get, numbered=True)
    first, second = worker(b"\0\1")._replace(name="w1"), worker(b"\0\2")._replace(name="w2")
    rows.update(view(0.0, first, second))
    assert [row.label for row in rows.rows] == ["w1", "w2"] and rows.name(b"\0\2") == "w2"
    seats[b"\0\3"] = "worker-1"
    rows.update(view(1.0, worker(b"\0\3")._replace(name="w3"), first, second))
    assert [row.label for row in rows.rows] == ["w1", Rows().name(b"\0\1"), Rows().name(b"\0\2")]
    rows = Rows(seats.get, numbered=True)
    rows.update(view(0.0, first, second))
    assert [row.label for row in rows.rows] == ["w1", "w2"]
    assert rows.name(b"\0\3") == "w1", "a seat is known from here on"
    rows.update(view(1.0, first, second))
    assert [row.label for row in rows.rows] == [Rows().name(b"\0\1"), Rows().name(b"\0\2")]
