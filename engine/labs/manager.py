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
from typing import Any

from engine.errors import Refused
from engine.labs.lab import Lab

CLOSE = 1.9  # seconds that closing may take
WAITING = 100  # orders that may wait for one lab


class LabThread:
    """One lab and its thread."""

    def __init__(self, name: str, make: Callable[[str], Lab]) -> None:
        self.opened: Future[Any] = Future()
        self._name, self._make = name, make
        self._orders: Queue[tuple[Callable[[Any], object], Future[object]] | None] = Queue(WAITING)
        threading.Thread(target=self._live, name=f"roundhouse-{name}", daemon=True).start()

    @property
    def lab(self) -> Lab | None:
        """The lab, once it is open."""
        here = self.opened.done() and self.opened.exception() is None
        return self.opened.result() if here else None

    @property
    def failed(self) -> bool:
        """Whether it could not be opened."""
        return self.opened.done() and self.opened.exception() is not None

    def order(self, give: Callable[[Any], object]) -> Future[object]:
        """See ``LabManager.order``."""
        answer: Future[object] = Future()
        try:
            self._orders.put_nowait((give, answer))
        except Full:
            answer.set_exception(Refused(f"{self._name} does not follow: {WAITING} orders wait already"))
        return answer

    def close(self) -> Future[object]:
        """Close the lab, also one that is just being opened."""
        closed: Future[object] = Future()
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
            with lab.turn:
                _answer(answer, lambda give=give: give(lab))  # type: ignore[misc]

    def _close(self, closed: Future[object]) -> None:
        if self.opened.exception() is None:
            _answer(closed, self.opened.result().close)
        else:
            closed.set_result(None)


class LabManager:
    """Labs by the names of their systems. ``make`` builds one, not yet opened; it may raise ``Refused`` as well."""

    def __init__(self, names: Sequence[str], make: Callable[[str], Lab]) -> None:
        self.names = tuple(names)
        self._makes: dict[str, Callable[[str], Lab]] = dict.fromkeys(self.names, make)
        self._threads: dict[str, LabThread] = {}

    def add(self, name: str, make: Callable[[str], Lab]) -> None:
        """One more lab, behind the others; nothing new where there is one of this name."""
        if name not in self._makes:
            self._makes[name] = make
            self.names = (*self.names, name)

    def open(self, name: str) -> Future[Any]:
        """The lab of this system, opened now where it is not yet. The future raises what opening raised."""
        thread = self._threads.get(name)
        if thread is None or thread.failed:
            thread = self._threads[name] = LabThread(name, self._makes[name])
        return thread.opened

    def order(self, name: str, give: Callable[[Any], object]) -> Future[object]:
        """Give an order to an open lab, after those before it. The future raises what the order raised."""
        return self._threads[name].order(give)

    @property
    def running(self) -> dict[str, Any]:
        """The labs that are open, in the order of the names."""
        threads = [(name, self._threads[name]) for name in self.names if name in self._threads]
        return {name: lab for name, thread in threads if (lab := thread.lab) is not None}

    def close(self) -> None:
        """Close all of them at once, in less than two seconds. Raises what closing one raised."""
        done, _ = wait([thread.close() for thread in self._threads.values()], CLOSE)
        self._threads.clear()
        for closed in done:
            closed.result()

    def __enter__(self) -> LabManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _answer(answer: Future[object], act: Callable[[], object]) -> None:
    try:
        came = act()
    except Exception as error:  # of whoever waits for the answer
        answer.set_exception(error)
    else:
        answer.set_result(came)
