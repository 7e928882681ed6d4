"""Labs side by side, with labs that are none: what is opened when, what waits for whom, what becomes of errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from engine.errors import Refused
from engine.labs import manager as module
from engine.labs.manager import LabManager
from tests.helpers.fake_lab import FakeLab
from tests.helpers.processes import WAIT


class Lab(FakeLab):
    """Opens when its gate is open."""

    def __init__(self, name: str) -> None:
        super().__init__(0, busy=False)
        self.name = name
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.did: list[str] = []

    def open(self) -> Lab:
        assert self.gate.wait(WAIT)
        if self.failure is not None:
            raise self.failure
        self.did.append("open")
        return self

    def close(self) -> None:
        self.did.append("close")
        if isinstance(self.failure, OSError):
            raise self.failure


class Street:
    """A house, and every lab that was ever made for it."""

    def __init__(self) -> None:
        self.made: list[Lab] = []
        self.next = Lab
        self.house: LabManager = LabManager(("a", "b", "c"), self.make)

    def make(self, name: str) -> Lab:
        self.made.append(self.next(name))
        return self.made[-1]


@pytest.fixture
def street() -> Iterator[Street]:
    made = Street()
    yield made
    made.house.close()


def shut(name: str) -> Lab:
    lab = Lab(name)
    lab.gate.clear()
    return lab


def test_a_lab_is_opened_once_and_when_it_is_asked_for(street: Street) -> None:
    house = street.house
    assert (house.names, house.running, street.made) == (("a", "b", "c"), {}, [])
    b = house.open("b").result(WAIT)
    assert house.open("b").result(WAIT) is b
    a = house.open("a").result(WAIT)
    assert list(house.running.items()) == [("a", a), ("b", b)]
    assert [lab.did for lab in street.made] == [["open"], ["open"]]


def test_who_asks_does_not_wait_for_one_that_is_slow(street: Street) -> None:
    street.next = shut  # type: ignore[assignment]
    slow = street.house.open("a")
    street.next = Lab
    street.house.open("b").result(WAIT)
    assert not slow.done() and list(street.house.running) == ["b"]
    street.made[0].gate.set()
    assert slow.result(WAIT).did == ["open"]


def test_one_that_can_not_be_opened_is_forgotten(street: Street) -> None:
    def taken(name: str) -> Lab:
        lab = Lab(name)
        lab.failure = Refused("the port is taken")
        return lab

    street.next = taken  # type: ignore[assignment]
    with pytest.raises(Refused, match="taken"):
        street.house.open("a").result(WAIT)
    assert street.house.running == {}
    street.next = Lab
    assert street.house.open("a").result(WAIT).did == ["open"]


def test_a_maker_that_refuses_is_as_good(street: Street) -> None:
    def refuse(name: str) -> Lab:
        raise Refused(f"{name} has no settings")

    street.next = refuse  # type: ignore[assignment]
    with pytest.raises(Refused, match="a has no settings"):
        street.house.open("a").result(WAIT)


def test_orders_are_given_one_after_the_other_and_away_from_who_gives_them(street: Street) -> None:
    lab = street.house.open("a").result(WAIT)
    gate = threading.Event()
    threads: list[str] = []

    def note(lab: Lab) -> None:
        assert gate.wait(WAIT)
        threads.append(threading.current_thread().name)
        lab.did.append(f"order {len(threads)}")

    answers = [street.house.order("a", note) for _ in range(3)]
    assert not any(answer.done() for answer in answers)
    gate.set()
    assert [answer.result(WAIT) for answer in answers] == [None] * 3
    assert lab.did == ["open", "order 1", "order 2", "order 3"]
    assert threads == ["roundhouse-a"] * 3


def test_what_an_order_raises_is_its_answer_and_the_next_one_is_carried_out(street: Street) -> None:
    street.house.open("a").result(WAIT)

    def wrong(lab: Lab) -> None:
        raise ZeroDivisionError(lab.name)

    with pytest.raises(ZeroDivisionError):
        street.house.order("a", wrong).result(WAIT)
    street.house.order("a", lambda lab: lab.did.append("next")).result(WAIT)
    assert street.made[0].did == ["open", "next"]


def test_a_lab_that_does_not_follow_refuses_more(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 2)
    street.house.open("a").result(WAIT)
    gate = threading.Event()
    busy = threading.Event()

    def stall(lab: Lab) -> None:
        busy.set()
        assert gate.wait(WAIT)

    first = street.house.order("a", stall)
    assert busy.wait(WAIT)
    waiting = [street.house.order("a", stall) for _ in range(2)]
    with pytest.raises(Refused, match="a does not follow: 2 orders wait already"):
        street.house.order("a", stall).result(WAIT)
    gate.set()
    assert [answer.result(WAIT) for answer in (first, *waiting)] == [None] * 3


def test_closing_waits_for_no_order_and_raises_what_went_wrong(street: Street) -> None:
    lab, other = street.house.open("a").result(WAIT), street.house.open("b").result(WAIT)
    gate = threading.Event()
    stuck = street.house.order("a", lambda _: gate.wait(WAIT))
    lab.failure = OSError("the disk is full")
    with pytest.raises(OSError, match="full"):
        street.house.close()
    assert (lab.did, other.did, street.house.running) == (["open", "close"], ["open", "close"], {})
    gate.set()
    stuck.result(WAIT)


def test_one_that_is_just_being_opened_is_closed_as_well() -> None:
    street = Street()
    street.next = shut  # type: ignore[assignment]
    street.house.open("a")
    release = threading.Timer(0.01, lambda: street.made[0].gate.set())
    release.start()
    with street.house:
        pass
    release.join()
    assert street.made[0].did == ["open", "close"]


def test_one_more_is_added_behind_the_others(street: Street) -> None:
    house = street.house
    for _ in range(2):
        house.add("d", lambda name: Lab(f"added {name}"))
    assert house.names == ("a", "b", "c", "d")
    assert house.open("d").result(WAIT).name == "added d" and street.made == []


class Turn:
    """A lab's turn that notes who has it."""

    def __init__(self, did: list[str]) -> None:
        self._did = did

    def __enter__(self) -> None:
        self._did.append("begins")

    def __exit__(self, *_: object) -> None:
        self._did.append("ends")


def test_an_order_is_carried_out_in_the_labs_turn(street: Street) -> None:
    lab = street.house.open("a").result(WAIT)
    lab.turn = Turn(lab.did)
    street.house.order("a", lambda lab: lab.did.append("order")).result(WAIT)
    street.house.order("a", lambda lab: None).result(WAIT)
    assert lab.did[:4] == ["open", "begins", "order", "ends"]
