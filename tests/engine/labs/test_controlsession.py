"""What a control socket tells of a lab, asked without a socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.alerts.rules import Rule, Rules
from engine.drive.clockname import clock_name
from engine.drive.control.server import Said
from engine.errors import Refused
from engine.labs import controlsession as module
from engine.labs.audit import Audit
from engine.labs.controlsession import BrokerControlSession, packed
from engine.labs.shared import codec_of
from engine.labs.watcher import Watcher, of_lab
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerLeg, WorkerView
from tests.helpers.fake_lab import FakeLab


class Clock:
    """``time`` for the session."""

    def __init__(self) -> None:
        self.at, self.cost = 100.0, 0.0

    def monotonic(self) -> float:
        return self.at

    def time(self) -> float:
        return 1_750_000_000.0

    def thread_time(self) -> float:
        self.cost += self.each
        return self.cost

    each = 0.0


class Shop:
    def __init__(self, clock: Clock) -> None:
        self.clock, self.lab = clock, FakeLab(3)
        self.session = BrokerControlSession(self.lab, "broker", dict)
        self.serial = 0

    def look(self, seconds: float = 0.0, **fields: Any) -> dict[str, Any]:
        self.clock.at += seconds
        said = self.session.words["look"](
            {"Instance": self.session.instance, "Since": self.serial, "Facts": 0, **fields}
        )
        assert isinstance(said, tuple) and said[0] == "looked"
        self.serial = said[1]["Serial"]
        return said[1]

    def order(self, name: str, *args: Any) -> Future[Said]:
        data = packed(codec_of(self.lab.system), args)
        answer = self.session.words["order"]({"Name": name, "Args": data})
        assert isinstance(answer, Future)
        return answer


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    made = Shop(clock)
    yield made
    made.session.close()


def test_pictures_are_drawn_because_somebody_asks_and_not_too_often(shop: Shop) -> None:
    looked = shop.lab.feed.looked("broker")
    assert shop.look()["Pages"] == 0 and shop.lab.feed.looked("broker") > looked
    told = shop.look(0.25)
    assert (told["Whole"], told["Serial"], told["Pages"]) == (True, 1, 2)
    assert shop.look(0.01)["Pages"] == 0, "nothing new"
    told = shop.look(0.25)
    assert (told["Whole"], told["Serial"]) == (False, 2)
    assert shop.look(0.0, Since=77)["Whole"], "a serial that nobody knows"
    assert shop.look(0.0, Instance="another")["Whole"]


def test_what_takes_long_is_done_seldom(shop: Shop) -> None:
    shop.look()
    shop.clock.each = 0.02
    shop.look(0.25)
    assert shop.session._due == pytest.approx(shop.clock.at + 0.02 / module.SHARE)
    touched = shop.lab.feed.looked("broker")
    shop.clock.each = 0.0
    for _ in range(2):
        assert shop.look(0.15)["Serial"] == 1
    assert shop.lab.feed.looked("broker") == touched, "the nodes draw nothing meanwhile"
    shop.look(0.3)
    assert shop.look(0.3)["Serial"] == 2


def test_what_nodes_draw_counts_and_what_they_drew_while_nobody_looked_does_not(shop: Shop) -> None:
    feed = shop.lab.feed
    feed.show("pool", {}, 7.0)
    shop.look()
    feed.show("pool", {}, 0.03)
    shop.look(0.25)
    assert shop.session._due == pytest.approx(shop.clock.at + 0.03 / module.SHARE)
    shop.look(10.0)
    shop.look(0.25)
    feed.show("pool", {}, 9.0)
    shop.look(60.0)
    shop.look(0.25)
    assert shop.session._due == pytest.approx(shop.clock.at + module.EVERY)


def test_whoever_is_behind_is_paid_for_too(shop: Shop) -> None:
    shop.look()
    shop.look(0.25)
    shop.clock.each = 0.01
    for _ in range(3):
        shop.look(0.0, Since=0)
    shop.clock.each = 0.0
    shop.look(0.3)
    assert shop.session._due == pytest.approx(shop.clock.at + 0.03 / module.SHARE)


def test_events_come_in_their_order_with_those_that_are_lost(shop: Shop) -> None:
    for number in range(module.FACTS + 50):
        shop.lab.fact(f"fact {number}")
    told = shop.look()
    last = told["Facts"][-1][0]
    assert (len(told["Facts"]), told["Lost"]) == (module.FACTS, 0) and told["More"] >= 50
    rest = shop.look(Facts=last)["Facts"]
    assert rest[0][0] == last + 1 and rest[-1][4] == f"fact {module.FACTS + 49}"
    for _ in range(3000):
        shop.lab.fact("flood")
    assert shop.look(Facts=last)["Lost"] > 0


@pytest.mark.parametrize("fields", [{"Since": -1}, {"Page": "x"}, {"Facts": True}])
def test_numbers_that_are_none_are_unreadable(shop: Shop, fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(fields))):
        shop.look(**fields)


def test_an_order_is_carried_out_or_refused_as_the_lab_does(shop: Shop) -> None:
    assert shop.order("add_workers", 2).result(60) == ("done", {"Came": ""})
    with pytest.raises(Refused, match="this lab does not take that order"):
        shop.order("operate", "config", (("key", "k"),)).result(60)
    assert shop.lab.orders[0] == ("add_workers", 2)
    shop.order("run", BulkSpec("ping", 7)).result(60)
    shop.order("stop_worker", b"w1").result(60)
    told = [fact.text for fact in shop.lab.feed.since(0)[0] if fact.source == "control"]
    assert told[0] == "an unknown process orders: add workers 2" and told[2:] == [
        "an unknown process orders: run 7 ping",
        "an unknown process orders: stop worker w1",
    ]
    shop.lab.came = "it is taken back"
    assert shop.order("undo").result(60) == ("done", {"Came": "it is taken back"})
    shop.lab.refusal = "not now"
    with pytest.raises(Refused, match="not now"):
        shop.order("stop_run").result(60)
    with pytest.raises(Refused, match="takes no order"):
        shop.order("close")
    with pytest.raises(ValueError, match="no arguments"):
        shop.session.words["order"]({"Name": "stop_run"})


def test_an_alert_is_acknowledged_and_silenced_from_elsewhere_and_that_is_kept(shop: Shop, tmp_path: Path) -> None:
    lab = shop.lab
    with pytest.raises(Refused, match="this lab does not take that order"):
        shop.order("acknowledge", "few").result(60)
    lab.audit = Audit(tmp_path / "orders.log", "here")
    rules = Rules((Rule("few", "workers", "critical", below=9),))
    lab.watcher = watcher = Watcher(of_lab(lab, "broker", lab.endpoints, tmp_path), rules)
    watcher.look(time.monotonic())
    assert shop.order("acknowledge", "few").result(60) == ("done", {"Came": ""})
    assert watcher.alerts()[0].state == "acknowledged"
    shop.order("silence", "few", 3600.0).result(60)
    assert watcher.alerts()[0].state == "silenced"
    with pytest.raises(Refused, match="there is no alert many"):
        shop.order("silence", "many", 3600.0).result(60)
    lab.readonly = True
    with pytest.raises(Refused, match="acknowledging an alert is refused: readonly"):
        shop.order("acknowledge", "few").result(60)
    assert [(line["what"], line["result"].partition(":")[0]) for line in lab.audit.lines(9)] == [
        ("acknowledge few", "done"),
        ("silence few 3600.0", "done"),
        ("silence many 3600.0", "refused"),
        ("acknowledge few", "refused"),
    ]
    watcher.close()


def test_orders_wait_for_each_other_and_for_whoever_has_the_turn(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 2)
    done = threading.Event()
    with shop.lab.turn:
        answers = [shop.order("add_workers", n) for n in (1, 2)]
        answers[0].add_done_callback(lambda _: done.set())
        assert not done.is_set() and shop.lab.orders == []
        with pytest.raises(Refused, match="2 orders wait already"):
            shop.order("add_workers", 3)
    for answer in answers:
        answer.result(60)
    assert shop.lab.orders == [("add_workers", 1), ("add_workers", 2)]


def test_a_process_of_workers_has_a_table_too(shop: Shop) -> None:
    shop.lab.endpoints = ()
    shop.lab.feed.show("broker", None)
    shop.lab.feed.show("pool", {"worker-1": WorkerView(1.0, "working", 10, 0, 0, 0.5, joined=True)})
    shop.look()
    assert shop.look(0.25)["Pages"] == 2


def test_the_clock_and_the_legs_of_one_client_are_told(shop: Shop) -> None:
    assert shop.session.words["clock"]({}) == ("clock", {"Now": shop.clock.at, "Clock": clock_name()})
    view = shop.lab.feed.peek("broker")
    legs = (BrokerLeg(b"c", b"1", 1.0, 2.0, 3.0, b"w", 2), BrokerLeg(b"d", b"1", 4.0, 5.0, 6.0))
    shop.lab.feed.show("broker", view._replace(legs=legs))
    said = shop.session.words["legs"]({"Client": b"c"})
    assert isinstance(said, tuple) and said[1]["At"] == view.at
    assert msgpack.unpackb(said[1]["Data"]) == [[b"1", 1.0, 2.0, 3.0, b"w", 2]]
    with pytest.raises(ValueError, match="Client"):
        shop.session.words["legs"]({"Client": "c"})
