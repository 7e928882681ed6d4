"""The thread of a store: batches, order, and that what was asked for is done before the end."""

from __future__ import annotations

import threading

from engine.core import Entry, FromStore, Store, Stored, Unstored
from engine.drive.stores.writer import Writer
from engine.parts.store import Memory
from tests.helpers.processes import until


class Slow(Memory):
    """Does nothing before it may; knows how large its batches were, and on which threads."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.batches, self.closed = threading.Event(), list[int](), False

    def perform(self, commands: list[Store]) -> list[Stored]:
        assert threading.current_thread().name == "roundhouse-store"
        self.may.wait(60)
        self.batches.append(len(commands))
        return super().perform(commands)

    def close(self) -> None:
        self.closed = True


def command(number: int, tasks: int = 1) -> Store:
    return Store(number, [], [], [Entry(b"c", [b"\x04", b"%d" % n, b"\x01"]) for n in range(tasks)], 0)


def test_what_came_meanwhile_goes_together_and_in_order() -> None:
    store, answers = Slow(), list[FromStore]()
    writer = Writer(store)
    writer.start(answers.extend)
    for number in range(10):
        writer.submit(command(number, 300))
    store.may.set()
    assert writer.close(60) and store.closed
    assert [answer.number for answer in answers if isinstance(answer, Stored)] == list(range(10))
    assert max(store.batches) == 4 and sum(store.batches) == 10


def test_what_the_store_can_not_do_is_told() -> None:
    store, answers = Memory(), list[FromStore]()
    store.down = "away"
    writer = Writer(store)
    writer.start(answers.extend)
    writer.submit(command(1))
    until(lambda: answers)
    store.down = ""
    writer.submit(command(2))
    assert writer.close(60)
    assert answers[0] == Unstored(1, "away") and isinstance(answers[1], Stored) and answers[1].number == 2


def test_a_mistake_of_the_store_is_told_too() -> None:
    class Wrong(Memory):
        def perform(self, commands: list[Store]) -> list[Stored]:
            raise KeyError("x")

    answers = list[FromStore]()
    writer = Writer(Wrong())
    writer.start(answers.extend)
    writer.submit(command(1))
    assert writer.close(60) and answers == [Unstored(1, "the store failed: KeyError: 'x'")]


def test_one_that_never_began_lets_go_of_its_store() -> None:
    store = Slow()
    assert Writer(store).close() and store.closed
