"""Where the documents of a pipeline are, counted: by states in a picture, or by names in its queues.

The rules of this file:

- A document is in one place: it waits (ready, or failed once) or is worked on in the queue that a stage takes from, was
  given up there, or stands in the last queue, published.
- What a stage has published is every document that is beyond it, wherever that is by now.
- An output that is being written is no document yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.pipeline import Counts


class Entry(NamedTuple):
    """One stage, or as a sum a whole pipeline."""

    published: int
    failed_twice: int
    waiting: int
    working: int

    @property
    def total(self) -> int:
        """All documents that are accounted for."""
        return sum(self)


def entries(queues: Sequence[Counts]) -> tuple[Entry, ...]:
    """An entry for each stage, out of the counts of all queues, the first of which has no stage before it."""
    found: list[Entry] = []
    beyond = queues[-1].ready + queues[-1].failed + queues[-1].failed_twice + queues[-1].working
    for counts in reversed(queues[:-1]):
        entry = Entry(beyond, counts.failed_twice, counts.ready + counts.failed, counts.working)
        found.append(entry)
        beyond = entry.total
    return tuple(reversed(found))


def whole(stages: Sequence[Entry]) -> Entry:
    """The pipeline: what its last stage has published, and what its stages hold."""
    return Entry(
        stages[-1].published,
        sum(stage.failed_twice for stage in stages),
        sum(stage.waiting for stage in stages),
        sum(stage.working for stage in stages),
    )


class Account(NamedTuple):
    """The documents of a pipeline by their names."""

    stages: tuple[Entry, ...]
    failed_twice: tuple[tuple[str, ...], ...]  # ids by stage
    twice: tuple[str, ...]  # ids that stand in more than one place: fed again, or repeated after a power cut

    @property
    def documents(self) -> int:
        """How many there are of different names."""
        return self.stages[0].total if self.stages else 0


def account(queues: Sequence[Iterable[str]]) -> Account:
    """Account for every name in the listings of all queues, the first first. A document counts where it is last."""
    seen: set[str] = set()
    twice: set[str] = set()
    counted: list[Counts] = []
    given_up: list[tuple[str, ...]] = []
    for listing in reversed(queues):
        tally = {"ready": 0, "working": 0, "failed": 0, "failed_twice": 0}
        lost: list[str] = []
        for item in map(names.parse, listing):
            if not isinstance(item, names.Item) or item.state not in tally:
                continue
            if item.id in seen:
                twice.add(item.id)
                continue
            seen.add(item.id)
            tally[item.state] += 1
            if item.state == "failed_twice":
                lost.append(item.id)
        counted.append(Counts(tally["ready"], tally["working"], 0, tally["failed"], tally["failed_twice"]))
        given_up.append(tuple(sorted(lost)))
    counted.reverse()
    given_up.reverse()
    return Account(entries(counted), tuple(given_up[:-1]), tuple(sorted(twice)))
