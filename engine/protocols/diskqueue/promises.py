"""What disk queues promise about a fault, by the rules of README.md, judged on what lies in the queues.

The rules of this file:

- A promise looks at names, at drivers' own pictures and at what was said: what an operator can see, nothing else.
- Times are bounds for a pipeline that has room: its watchdog's poll, the pauses of ``driver.py`` and of ruling 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine.parts.promise import Promise
from engine.protocols.diskqueue import books as accounts
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.config import TROUBLE_MOST
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import DriverView

SLACK = 0.5  # seconds for a few operations, and for a watchdog to notice
PASS = 4.0  # seconds in which a document that nobody hinders has passed one stage


class Observation(NamedTuple):
    """Everything that can be seen at one moment."""

    at: float
    queues: tuple[tuple[str, tuple[str, ...]], ...]  # names in each, the first queue first
    drivers: Mapping[str, DriverView]  # by number, the living
    stages: Mapping[str, str]  # number → stage
    wanted: Mapping[str, int]  # stage → drivers
    fed: frozenset[str]  # documents
    attempts: Mapping[tuple[str, str], int]  # (stage, document) → attempts that began and were not given back
    said: tuple[str, ...]  # newest facts
    whole: bool  # every published document is complete

    def names(self, queue: str) -> tuple[str, ...]:
        """What lies in a queue."""
        return dict(self.queues)[queue]

    def published(self) -> int:
        """Documents that have left the last stage."""
        return sum(name.endswith(".ready") for name in self.queues[-1][1])

    def beyond(self, queue: str) -> frozenset[str]:
        """Documents that lie in a queue behind this one."""
        places = [name for name, _ in self.queues]
        return frozenset(
            item.id
            for _, listing in self.queues[places.index(queue) + 1 :]
            for item in map(names.parse, listing)
            if isinstance(item, names.Item) and item.state != "writing"
        )

    def failures(self) -> frozenset[tuple[str, str]]:
        """(queue, document) of everything that has failed and not been published since."""
        found = set()
        for queue, listing in self.queues:
            for name in listing:
                item = names.parse(name)
                if isinstance(item, names.Item) and item.state in ("failed", "failed_twice"):
                    found.add((queue, item.id))
                elif (id := names.record_of(name)) is not None:
                    found.add((queue, id))
        return frozenset(found)

    def running(self, stage: str) -> int:
        """Drivers of a stage."""
        return sum(own == stage for own in self.stages.values())


# ---- what always holds --------------------------------------------------------------------------------------------


def books(within: float) -> Promise:
    """Every document is somewhere."""

    def balanced(_: Observation, now: Observation) -> bool:
        return accounts.account([listing for _, listing in now.queues]).documents == len(now.fed)

    return Promise("the ledger balances: every document that was fed is in a queue", within, balanced, always=True)


def nothing_fails(within: float, but: str = "") -> Promise:
    """``but``: a document whose failure is the fault."""

    def clean(before: Observation, now: Observation) -> bool:
        return all(id == but for _, id in now.failures() - before.failures())

    words = f"nothing but {but} fails" if but else "no document fails for it"
    return Promise(words, within, clean, always=True)


def at_most(times: int, within: float) -> Promise:
    """003 rows 3 and 4: once more, not twice."""

    def bounded(before: Observation, now: Observation) -> bool:
        return all(n <= max(times, before.attempts.get(key, 0)) for key, n in now.attempts.items())

    words = "no document is processed a second time" if times == 1 else "no document is tried a third time"
    return Promise(words, within, bounded, always=True)


def complete(within: float) -> Promise:
    """Ruling 11."""
    words = "nothing is published that is not complete"
    return Promise(words, within, lambda _, now: bool(now.whole), always=True)


def numbers_are_new(within: float) -> Promise:
    """003 row 11."""

    def new(before: Observation, now: Observation) -> bool:
        highest = max(map(int, before.drivers), default=0)
        return all(number in before.drivers or int(number) > highest for number in now.drivers)

    return Promise("no number is used twice", within, new, always=True)


# ---- drivers ------------------------------------------------------------------------------------------------------


def dies(number: str, within: float) -> Promise:
    words = f"driver {number} dies within {within:g} s"
    return Promise(words, within, lambda _, now: number not in now.drivers)


def stays(number: str, within: float) -> Promise:
    words = f"driver {number} is not replaced"
    return Promise(words, within, lambda _, now: number in now.drivers, always=True)


def replaced(number: str, stage: str, within: float) -> Promise:
    """003 row 11, ruling 12."""

    def full(_: Observation, now: Observation) -> bool:
        return number not in now.drivers and now.running(stage) >= now.wanted[stage]

    words = f"another driver works in its place, under a new number, within {within:g} s"
    return Promise(words, within, full)


def everybody_there(since: float, within: float) -> Promise:
    """003 row 11."""

    def full(_: Observation, now: Observation) -> bool:
        return all(now.running(stage) == wanted for stage, wanted in now.wanted.items())

    return Promise(f"every stage has its number of drivers by {within:g} s", within, full, since)


def adopted(within: float) -> Promise:
    def same(before: Observation, now: Observation) -> bool:
        return before.drivers.keys() <= now.drivers.keys()

    return Promise("every driver lives on, and is adopted", within, same, always=True)


def recovered_from_trouble(since: float) -> Promise:
    """Ruling 8."""
    within = since + TROUBLE_MOST + SLACK

    def well(_: Observation, now: Observation) -> bool:
        return all(driver.phase != "troubled" for driver in now.drivers.values())

    return Promise(f"everybody has gone on by {within:g} s, by itself", within, well, since)


def suffers(within: float) -> Promise:
    """Ruling 8."""

    def alarmed(_: Observation, now: Observation) -> bool:
        return any(driver.phase == "troubled" for driver in now.drivers.values())

    return Promise(f"a driver waits and says why, within {within:g} s", within, alarmed)


def loses_a_race(number: str, within: float) -> Promise:
    """003 row 6."""

    def lost(before: Observation, now: Observation) -> bool:
        driver = now.drivers.get(number)
        return driver is not None and driver.lost > before.drivers[number].lost

    return Promise(f"driver {number} hears that it is gone, within {within:g} s", within, lost)


def goes_on(number: str, within: float) -> Promise:
    def more(before: Observation, now: Observation) -> bool:
        driver = now.drivers.get(number)
        return driver is not None and driver.published > before.drivers[number].published

    return Promise(f"driver {number} publishes its next document within {within:g} s", within, more)


# ---- documents ----------------------------------------------------------------------------------------------------


def locked(id: str, number: str, queue: str, within: float) -> Promise:
    """003 row 8."""
    name = names.working(id, number)
    words = f"nobody else takes {id}: it stays {name}"
    return Promise(words, within, lambda _, now: name in now.names(queue), always=True)


def unlocked(id: str, number: str, queue: str, within: float) -> Promise:
    """Ruling 5."""
    name = names.working(id, number)
    return Promise(f"{name} is settled within {within:g} s", within, lambda _, now: name not in now.names(queue))


def counts_as_failed(id: str, queue: str, within: float) -> Promise:
    """Ruling 1."""
    words = f"{id} counts as failed once, within {within:g} s"
    return Promise(words, within, lambda _, now: (queue, id) in now.failures())


def passes(id: str, queue: str, within: float) -> Promise:
    """It gets through the stage that takes from this queue."""
    words = f"{id} is published all the same within {within:g} s"
    return Promise(words, within, lambda _, now: id in now.beyond(queue))


def given_up(id: str, queue: str, within: float) -> Promise:
    """003 row 4, ruling 3."""

    def kept(_: Observation, now: Observation) -> bool:
        listing = now.names(queue)
        return names.failed_twice(id) in listing and names.kept(id) in listing

    return Promise(f"{names.failed_twice(id)} is there within {within:g} s, its input beside it", within, kept)


def flows(within: float, since: float = 0.0) -> Promise:
    """Documents leave the pipeline, if there are any."""

    def more(before: Observation, now: Observation) -> bool:
        left = accounts.whole(accounts.account([listing for _, listing in now.queues]).stages)
        return now.published() > before.published() or not left.waiting + left.working

    return Promise(f"what waits goes on being published by {within:g} s", within, more, since)


def waits_for_room(stage: str, within: float) -> Promise:
    """003 row 9: it publishes into a queue that nobody empties."""

    def blocked(_: Observation, now: Observation) -> bool:
        return any(now.drivers[number].phase == "blocked" for number, own in now.stages.items() if own == stage)

    return Promise(f"the drivers of {stage} wait for room within {within:g} s", within, blocked)


def bounded(queue: str, most: int, within: float) -> Promise:
    """003 row 9."""

    def room(_: Observation, now: Observation) -> bool:
        live = (names.parse(name) for name in now.names(queue))
        waiting = sum(isinstance(item, names.Item) and item.state in ("ready", "writing", "failed") for item in live)
        return waiting <= most

    return Promise(f"no more than {most} documents wait in {queue}", within, room, always=True)


def lone(number: str, within: float) -> Promise:
    """Ruling 5."""

    def told(before: Observation, now: Observation) -> bool:
        said = [text for text in now.said if f"under number {number}" in text]
        return len(said) > sum(f"under number {number}" in text for text in before.said)

    return Promise(f"the second one says that {number} is taken, and does not run", within, told)


def restart_pause(options: Options, docs: int, restarts: int) -> float:
    """Seconds within which a dead driver is replaced: at once, a look apart, if it had done something; ruling 12."""
    pause = 0.0 if docs else min(options.restart_most, options.restart_first * 2**restarts)
    return options.poll + pause + SLACK
