"""The lab manager: several labs, each opened when it is first used.

The rules of this file:

- Nothing blocks the caller: opening a lab and giving it an order return futures.
- Each lab has its own thread, which opens it and gives it its orders, one after the other. So a lab that stalls holds
  up no other, and no two orders run in one lab at the same time.
- A lab that could not be opened is forgotten: asking again tries again.
- All are closed at once, each on an extra thread, because its own thread may wait for an answer that never comes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from queue import Full, Queue
from typing import Generic, Protocol, TypeVar

from engine.errors import Refused

CLOSE = 1.9  # seconds that closing may take
WAITING = 100  # orders that may wait for one lab


class Opens(Protocol):
    """Something that can be opened and closed, such as ``engine.labs.live.Lab``."""

    def open(self) -> object: ...
    def close(self) -> None: ...


L = TypeVar("L", bound=Opens)


class LabThread(Generic[L]):
    """One lab and its thread."""

    def __init__(self, name: str, make: Callable[[str], L]) -> None:
        self.opened: Future[L] = Future()
        self._name, self._make = name, make
        self._orders: Queue[tuple[Callable[[L], object], Future[None]] | None] = Queue(WAITING)
        threading.Thread(target=self._live, name=f"roundhouse-{name}", daemon=True).start()

    @property
    def lab(self) -> L | None:
        """The lab, once it is open."""
        here = self.opened.done() and self.opened.exception() is None
        return self.opened.result() if here else None

    @property
    def failed(self) -> bool:
        """Whether it could not be opened."""
        return self.opened.done() and self.opened.exception() is not None

    def order(self, give: Callable[[L], object]) -> Future[None]:
        """See ``LabManager.order``."""
        answer: Future[None] = Future()
        try:
            self._orders.put_nowait((give, answer))
        except Full:
            answer.set_exception(Refused(f"{self._name} does not follow: {WAITING} orders wait already"))
        return answer

    def close(self) -> Future[None]:
        """Close the lab, also one that is just being opened."""
        closed: Future[None] = Future()
        threading.Thread(target=self._close, args=(closed,), name=f"close-{self._name}", daemon=True).start()
        return closed

    def _live(self) -> None:
        try:
            lab = self._make(self._name)
            lab.open()
        except Exception as error:  # of whoever asked
            self.opened.set_exception(error)
            return
        self.opened.set_result(lab)
        while (order := self._orders.get()) is not None:
            give, answer = order
            _answer(answer, lambda give=give: give(lab))  # type: ignore[misc]

    def _close(self, closed: Future[None]) -> None:
        if self.opened.exception() is None:
            _answer(closed, self.opened.result().close)
        else:
            closed.set_result(None)


class LabManager(Generic[L]):
    """Labs by the names of their systems. ``make`` builds one, not yet opened; it may raise ``Refused`` as well."""

    def __init__(self, names: Sequence[str], make: Callable[[str], L]) -> None:
        self.names = tuple(names)
        self._make = make
        self._rooms: dict[str, LabThread[L]] = {}

    def open(self, name: str) -> Future[L]:
        """The lab of this system, opened now where it is not yet. The future raises what opening raised."""
        room = self._rooms.get(name)
        if room is None or room.failed:
            room = self._rooms[name] = LabThread(name, self._make)
        return room.opened

    def order(self, name: str, give: Callable[[L], object]) -> Future[None]:
        """Give an order to an open lab, after those before it. The future raises what the order raised."""
        return self._rooms[name].order(give)

    @property
    def running(self) -> dict[str, L]:
        """The labs that are open, in the order of the names."""
        rooms = [(name, self._rooms[name]) for name in self.names if name in self._rooms]
        return {name: lab for name, room in rooms if (lab := room.lab) is not None}

    def close(self) -> None:
        """Close all of them at once, in less than two seconds. Raises what closing one raised."""
        done, _ = wait([room.close() for room in self._rooms.values()], CLOSE)
        self._rooms.clear()
        for closed in done:
            closed.result()

    def __enter__(self) -> LabManager[L]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _answer(answer: Future[None], act: Callable[[], object]) -> None:
    try:
        act()
    except Exception as error:  # of whoever waits for the answer
        answer.set_exception(error)
    else:
        answer.set_result(None)
