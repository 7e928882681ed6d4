"""The course of a chaos run: load, one fault, its end, and how long it takes until everything is well; then the next.

Everything is well when all workers have joined with all their slots free, nothing waits or is out at the broker, a
client without a fault was answered, and so was the client that carries the load. Then its run has to end, and its next
task to be answered.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from engine.parts.bulk import BulkSpec
from engine.parts.view import LedgerView
from tests.chaos.faults import PEERS, faults_of
from tests.chaos.house import DURABLE, PATIENCE, RATE, WINDOW, DurableManager, LabManager, Pinger, running
from tests.chaos.pair import NAME as PAIR
from tests.chaos.pair import PairManager
from tests.helpers.processes import until

LEAST = 30.0  # seconds in which everything has to be well; the aim is judged apart
LOOK = 0.02  # seconds between two looks
LOAD = 0.4  # seconds of load before a fault
SLACK = 1.0  # seconds that healing may take beyond three heartbeats
LASTS = (0.5, 5.0)  # heartbeats that a fault lasts
LONGER = (0.5, 15.0)  # the same of a pair's brokers and their lines: long enough that the fallback may take over
OWED = 3  # heartbeats more for a busy worker of ping-pong, whose job's deadline passes twice (its rulings 1 and 9)
TAKEOVER = 11  # heartbeats more where a fallback takes over and its peers come to it, as its promise says


@dataclass
class Healing:
    """Seconds from a fault's end to the first moment that something was right; None: it never was."""

    workers: float | None = None
    slots: float | None = None
    probe: float | None = None
    client: float | None = None
    well: float | None = None
    said: str = ""


@dataclass
class Outcome:
    """What one fault came to."""

    system: str
    fault: str
    lasted: float
    aim: float  # seconds in which it should be well
    healing: Healing
    sent: int = 0
    succeeded: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    late: int = 0
    twice: int = 0
    balanced: bool = True
    troubles: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether everything has come right, however long it took."""
        return self.healing.well is not None and self.balanced and not self.twice and not self.troubles

    @property
    def quick(self) -> bool:
        """Whether it was well in the time that is aimed at."""
        return self.healing.well is not None and self.healing.well <= self.aim


class Load:
    """A long run of the client; single tasks take its place once it has ended."""

    def __init__(self, house: LabManager) -> None:
        self._client = house.client
        spec = BulkSpec("ping", int(RATE * 3600), rate=RATE, in_flight=WINDOW, timeout=PATIENCE)
        self._client.run(spec)
        until(
            lambda: (
                (view := running(self._client)).spec == spec._replace(tag=view.spec.tag)
                and view.ledger.succeeded > RATE * LOAD
            ),
            "the load",
        )
        self._ended: LedgerView | None = None
        self._after: Pinger | None = None

    def mark(self) -> None:
        """From now on a task that is answered may be a fresh one."""
        self._began = time.monotonic()
        ledger = running(self._client).ledger
        self._enough = ledger.succeeded + ledger.in_flight

    def fresh(self) -> bool:
        """Whether a task that was sent since then has been answered: more succeeded than were out."""
        return running(self._client).ledger.succeeded > self._enough

    def stop(self) -> None:
        """Send nothing more."""
        self._client.stop_run()

    def ended(self) -> LedgerView | None:
        """The books, once every task has ended."""
        if self._ended is None and (view := running(self._client)).state == "ended":
            self._ended = view.ledger
        return self._ended

    def answered(self) -> bool:
        """Whether a task that was sent after the load has been answered."""
        if self.ended() is None:
            return False
        self._after = self._after or Pinger(self._client, self._began)
        return self._after.answered()


def endure(house: LabManager, fault: str, lasts: float) -> Outcome:
    """One fault under load."""
    if not within(LEAST, house.ready):
        never = Healing(said=house.well().said)
        trouble = f"no fault was begun: the service was not handed back in {LEAST:.0f} s"
        return Outcome(house.name, fault, 0.0, aim(house, fault), never, troubles=[trouble, *house.troubles()])
    late, twice = house.client.client_view().late, house.outcomes.twice
    load = Load(house)
    with faults_of(house.name)[fault](house):
        time.sleep(lasts)
    healing = heal(house, load)
    deaf = not within(LEAST, lambda: load.answered() or house.troubles())
    books, shown = load.ended(), house.shown()
    outcome = Outcome(house.name, fault, lasts, aim(house, fault), healing)
    if books is not None:
        outcome.sent, outcome.succeeded = books.sent, books.succeeded
        outcome.failed.update(dict(books.failed))
    outcome.balanced = books is not None and books.balanced and shown is not None and shown["ledger"]["balanced"]
    outcome.late = house.client.client_view().late - late
    outcome.twice = house.outcomes.twice - twice
    outcome.troubles = house.troubles()
    if deaf:
        outcome.troubles.append(f"the client was not answered anew for {LEAST:.0f} s after all was well")
    return outcome


def heal(house: LabManager, load: Load) -> Healing:
    """The load goes on until its client has been answered anew, then it ends; look until everything is well."""
    load.mark()
    began = time.monotonic()
    found = Healing()
    probe = Pinger(house.probe, began)
    while (gone := time.monotonic() - began) < LEAST and not house.troubles():
        well = house.well()
        found.said = well.said
        found.workers = first(found.workers, well.workers, gone)
        found.probe = first(found.probe, found.probe is not None or probe.answered(), gone)
        if found.client is None:
            if load.fresh():
                found.client = gone
                load.stop()
        else:
            found.slots = first(found.slots, well.slots, gone)
        if well.slots and found.probe is not None and found.slots is not None:
            found.well = gone
            break
        time.sleep(LOOK)
    if found.client is None:
        load.stop()
    return found


def within(seconds: float, condition: Callable[[], object]) -> bool:
    """Look until it holds; False where it does not in so many seconds."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(LOOK)
    return True


def first(known: float | None, holds: bool, now: float) -> float | None:
    """When it held first."""
    return known if known is not None or not holds else now


def aim(house: LabManager, fault: str) -> float:
    """Seconds in which everything should be well after this fault."""
    owed = 0.0
    if house.name == "pingpong" and fault.startswith(("worker", "all")):
        owed = OWED
    elif house.name == PAIR and fault.startswith("primary"):
        owed = TAKEOVER
    return (3 + owed) * house.heartbeat + SLACK


def opened(name: str, folder: Path, seed: int, heartbeat: float) -> LabManager:
    """What faults are done to: one system, a pair, or a broker with a store."""
    if name == DURABLE:
        return DurableManager(folder, seed, heartbeat)
    return PairManager(folder, seed, heartbeat) if name == PAIR else LabManager(name, folder, seed, heartbeat)


def order(name: str, random: Random) -> Iterator[str]:
    """Every fault once in an order that the seed chose, then again in another."""
    while True:
        names = sorted(faults_of(name))
        random.shuffle(names)
        yield from names


def play(
    name: str,
    seed: int,
    seconds: float,
    faults: Sequence[str] = (),
    heartbeat: float = 0.5,
    say: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """These faults, or one after the other for so many seconds. After one that does not come right, all is new."""
    outcomes: list[Outcome] = []
    random = Random(f"{name} {seed}")
    ends = time.monotonic() + seconds
    wanted = iter(faults) if faults else order(name, random)
    fault = next(wanted, None)
    while fault is not None and (faults or time.monotonic() < ends):
        with (
            tempfile.TemporaryDirectory(prefix="roundhouse-chaos-") as folder,
            opened(name, Path(folder), random.getrandbits(32), heartbeat) as house,
        ):
            right = True
            while right and fault is not None and (faults or time.monotonic() < ends):
                lasts = LONGER if name == PAIR and fault not in PEERS else LASTS
                outcomes.append(endure(house, fault, heartbeat * random.uniform(*lasts)))
                say(outcomes[-1])
                right = outcomes[-1].right
                fault = next(wanted, None)
    return outcomes
