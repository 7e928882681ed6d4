"""Workers with free slots, least recently used first, in O(1).

The seeds keep a list and scan it past the saturated workers; here only workers that have a free slot are in the
order at all, so the next one is always the first. The order among them is the seeds' own: whoever was used or gave
a slot back last stands at the end.

An OrderedDict, whose links lead to the first straight away: a dict looks for it behind the places of all who stood
there before, and a hundred thousand workers that are busy by now leave as many.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

W = TypeVar("W", bound=Hashable)


class Ready(Generic[W]):
    """An ordered set of workers: ``put`` at the end, ``first`` and ``last`` look, ``drop`` removes."""

    __slots__ = ("order",)

    def __init__(self) -> None:
        self.order: OrderedDict[W, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self.order)

    def __contains__(self, worker: W) -> bool:
        return worker in self.order

    def __iter__(self) -> Iterator[W]:
        """In the order in which they would be taken."""
        return iter(self.order)

    def put(self, worker: W) -> None:
        """Place a worker at the end, wherever it stood before."""
        if worker in self.order:
            self.order.move_to_end(worker)
        else:
            self.order[worker] = None

    def first(self) -> W | None:
        """The least recently used worker, which stays where it is; None when no worker has a free slot."""
        return next(iter(self.order), None)

    def last(self) -> W | None:
        """The worker that was placed at the end last; None when no worker has a free slot."""
        return next(reversed(self.order), None)

    def drop(self, worker: W) -> None:
        """Take a worker out, if it is in."""
        self.order.pop(worker, None)
