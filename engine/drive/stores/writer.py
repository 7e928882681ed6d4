"""The thread of a store: it takes whatever commands have come meanwhile, and commits them together.

The rules of this file:

- One thread uses the store. Whoever asks never waits: answers come as events, in the order of the commands.
- It waits for nothing more to come: under load batches fill by themselves, without load a task is written at once.
- What is asked for before ``close`` is done before it returns, as far as the store can.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from engine.core import FromStore, Store, Unstored
from engine.parts.store import Keeps, Unavailable

MOST = 1_000  # tasks of one transaction, or few more

Answer = Callable[[list[FromStore]], None]


class Writer:
    """``start`` it, ``submit`` commands, ``close`` it: that closes the store as well."""

    def __init__(self, store: Keeps) -> None:
        self.store = store
        self._todo: deque[Store] = deque()
        self._there = threading.Event()
        self._ends = False
        self._answer: Answer = lambda answers: None
        self._thread = threading.Thread(target=self._main, name="roundhouse-store", daemon=True)

    def start(self, answer: Answer) -> None:
        """``answer`` is called on the store's threads."""
        self._answer = answer
        self.store.listen(lambda told: answer([told]))
        self._thread.start()

    def submit(self, command: Store) -> None:
        """One thread: do this after what was submitted before."""
        self._todo.append(command)
        self._there.set()

    def close(self, timeout: float = 1.0) -> bool:
        """Close the store when all is done; False if that takes longer than ``timeout`` seconds."""
        self._ends = True
        self._there.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
            return not self._thread.is_alive()
        if not self._thread.ident:
            self.store.close()
        return True

    def _main(self) -> None:
        try:
            while True:
                self._there.wait()
                self._there.clear()
                while self._todo:
                    self._answer(self._perform(self._batch()))
                if self._ends:
                    return
        finally:
            self.store.close()

    def _batch(self) -> list[Store]:
        batch: list[Store] = []
        size = 0
        while self._todo and size < MOST:
            batch.append(self._todo.popleft())
            size += len(batch[-1].tasks) + len(batch[-1].ended)
        return batch

    def _perform(self, batch: list[Store]) -> list[FromStore]:
        try:
            return [*self.store.perform(batch)]
        except Unavailable as error:
            why = str(error)
        except Exception as error:  # a mistake of ours: it is told as any other trouble
            why = f"the store failed: {type(error).__name__}: {error}"
        return [Unstored(command.number, why) for command in batch]
