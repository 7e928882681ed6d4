"""Faults for a sandbox of disk queues, each with the protocol's promises.

The rules of this file:

- A target is a driver by its number or its seat (``3``, ``parse.3``), a stage or a queue by its name.
- A fault that must wait for its moment (a driver that publishes, one that takes) is armed, and strikes at the next.
- A fault makes its description, promises and action from one ``Aim``; times are virtual seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from engine.errors import Refused
from engine.faults.watch import Plan
from engine.labs.queuesandbox import QueueSandbox
from engine.parts.fault import SECONDS, Amount, Fault, Made, line_of, read_line
from engine.parts.promise import Promise
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue import promises as p
from engine.protocols.diskqueue.explain import number_of
from engine.protocols.diskqueue.operations import Remove, Rename, Take
from engine.protocols.diskqueue.pipeline import queue_folder
from engine.sim.driver import Fate, result
from engine.sim.queues import Queues, Seat
from engine.system import QueueSystem

STRANGER, ITS_NUMBER = "stranger", "900000"  # another program that renames as the original does
HELD = 1.0  # seconds that a stranger works on a document
MOMENT = 15.0  # seconds within which a driver is at its next document


class Aim(NamedTuple):
    """What a fault is aimed at: a driver (with its stage), a stage or a queue, none of them for all."""

    sandbox: QueueSandbox
    target: str
    number: str  # of a driver
    of: str  # the stage of a driver, or the stage aimed at
    source: str  # the queue that it takes from
    amounts: tuple[float, ...]

    @property
    def world(self) -> Queues:
        """What it is done to."""
        world: Queues = self.sandbox.world
        return world

    @property
    def document(self) -> str:
        """The document that the driver holds, "" for none."""
        seat = self.world.seats[self.number]
        return seat.driver.core.snapshot(self.sandbox.now + seat.offset).document

    def replaced(self) -> float:
        """Seconds until another driver has replaced it."""
        seat = self.world.seats[self.number]
        docs = seat.driver.core.snapshot(self.sandbox.now + seat.offset).times.docs
        restarts = next(row.restarts for row in self.sandbox.view().stages if row.name == self.of)
        return p.restart_pause(self.sandbox.options, docs, restarts)


# ---- drivers ------------------------------------------------------------------------------------------------------


def _kill(aim: Aim) -> Made:
    settled = aim.sandbox.options.poll + p.SLACK
    end = MOMENT
    promised = [p.replaced(aim.number, aim.of, aim.replaced())]
    if id := aim.document:
        seat = aim.world.seats[aim.number]
        promised.append(p.unlocked(id, aim.number, aim.source, settled))
        published = names.publishing(id, aim.number) in aim.world.listing(aim.source)
        if not published and seat.driver.core.snapshot(aim.sandbox.now).attempt == 1:
            promised.append(p.counts_as_failed(id, aim.source, settled))
        promised.append(p.passes(id, aim.source, end))
    promised += [p.numbers_are_new(end), p.at_most(2, end), p.books(end)]
    held = f", {id} in its hands" if id else ""
    return Made(f"driver {aim.number} is dead{held}", promised, partial(aim.world.kill, aim.number))


def _freeze(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    end = seconds + MOMENT
    promised = [p.stays(aim.number, seconds)]
    if id := aim.document:
        promised += [p.locked(id, aim.number, aim.source, seconds), p.passes(id, aim.source, end)]
    promised += [p.nothing_fails(end), p.at_most(1, end), p.books(end)]
    does = f"driver {aim.number} is stopped for {seconds:g} s, and then goes on where it was"
    return Made(does, promised, partial(aim.world.freeze, aim.number, seconds))


def _crash(aim: Aim) -> Made:
    """The publisher dies between writing and renaming."""
    world, end = aim.world, 2 * MOMENT

    def strikes(seat: Seat, command: Any) -> bool:
        if seat.driver.config.number != aim.number or not isinstance(command, Rename):
            return False
        item = names.parse(command.name)
        if not isinstance(item, names.Item) or item.state != "writing":
            return False
        world.before.remove(strikes)
        world.kill(aim.number)
        return True

    promised = [p.dies(aim.number, MOMENT), p.complete(end), p.nothing_fails(end), p.at_most(1, end), p.books(end)]
    does = f"driver {aim.number} dies when its next output is written, before it is renamed"
    return Made(does, promised, partial(world.before.append, strikes))


def _steal(aim: Aim) -> Made:
    """Another program takes a document that a driver has listed."""
    world, end = aim.world, MOMENT
    source, target = queue_folder("", aim.source), queue_folder("", aim.of)

    def published(id: str) -> None:
        mine, written = names.working(id, ITS_NUMBER), names.writing(id, ITS_NUMBER)
        world.disk.put(target, written, result(world.disk.text(source, mine)))
        world.outsider(STRANGER, Rename(target, written, names.ready(id)))
        world.outsider(STRANGER, Remove(source, mine))

    def strikes(seat: Seat, command: Any) -> bool:
        if seat.driver.config.number == aim.number and isinstance(command, Take):
            item = names.parse(command.name)
            assert isinstance(item, names.Item)
            if not world.outsider(STRANGER, Take(source, command.name, names.working(item.id, ITS_NUMBER))).error:
                world.before.remove(strikes)
                world.after(HELD, published, item.id)
        return False

    promised = [p.loses_a_race(aim.number, end), p.goes_on(aim.number, end), p.nothing_fails(end), p.at_most(1, end)]
    promised.append(p.books(end))
    does = f"another program takes the next document that driver {aim.number} has listed, just before it does"
    return Made(does, promised, partial(world.before.append, strikes))


def _twin(aim: Aim) -> Made:
    promised = [p.lone(aim.number, 1.0), p.stays(aim.number, 5.0), p.nothing_fails(5.0), p.at_most(1, 5.0)]
    promised.append(p.books(5.0))
    does = f"a second driver is started under number {aim.number}"
    return Made(does, promised, partial(aim.world.twin, aim.number))


def _clock(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    promised = [p.stays(aim.number, MOMENT), p.goes_on(aim.number, MOMENT), p.nothing_fails(MOMENT)]
    promised += [p.at_most(1, MOMENT), p.books(MOMENT)]
    does = f"the clock of driver {aim.number} jumps {seconds:g} s ahead"
    return Made(does, promised, partial(aim.world.skew, aim.number, seconds))


# ---- work -------------------------------------------------------------------------------------------------------


def _fail(aim: Aim) -> Made:
    """The work command fails at one document, once or twice."""
    times, sandbox = int(aim.amounts[0]), aim.sandbox
    waiting = [item for item in map(names.parse, aim.world.listing(aim.source)) if isinstance(item, names.Item)]
    id = min((item.id for item in waiting if item.state == "ready"), key=lambda id: (len(id), id), default="")
    id = id or sandbox.next_id()
    before = aim.world.fate

    def fate(of: str, document: str, attempt: int) -> Fate:
        return "failed" if (of, document) == (aim.of, id) and attempt <= times else before(of, document, attempt)

    def deed() -> None:
        aim.world.fate = fate

    promised: list[Promise] = [p.counts_as_failed(id, aim.source, MOMENT)]
    promised.append(p.passes(id, aim.source, 2 * MOMENT) if times == 1 else p.given_up(id, aim.source, 2 * MOMENT))
    promised += [p.nothing_fails(2 * MOMENT, id), p.at_most(2, 2 * MOMENT), p.books(2 * MOMENT)]
    return Made(f"the command of {aim.of} fails at {id}{', and again' if times > 1 else ''}", promised, deed)


def _slow(aim: Aim) -> Made:
    """A slow stage: its queue fills, and the stages before it wait."""
    (seconds,) = aim.amounts
    world, most = aim.world, aim.sandbox.options.max_files
    place = world.queues.index(aim.source)
    if place == 0 or not most:
        raise Refused(f"slow: nobody before {aim.of} has to wait for room")
    before = aim.source  # the stage that publishes into that queue has its name
    crew = next(row.wanted for row in aim.sandbox.view().stages if row.name == before)

    def deed() -> None:
        world.pace[aim.of] = 1000.0
        world.after(seconds, world.pace.pop, aim.of)

    promised = [p.waits_for_room(before, seconds), p.bounded(aim.source, most + crew, seconds + MOMENT)]
    promised += [p.nothing_fails(seconds + MOMENT), p.books(seconds + MOMENT)]
    return Made(f"documents that {aim.of} begins in the next {seconds:g} s take very long", promised, deed)


# ---- the disk -----------------------------------------------------------------------------------------------------


def _trouble(aim: Aim, does: str, begin: Callable[[], object], end: Callable[[], object]) -> Made:
    """Ruling 8: it counts as no failure of a document."""
    (seconds,) = aim.amounts

    def deed() -> None:
        begin()
        aim.world.after(seconds, end)

    over = seconds + MOMENT
    promised = [p.suffers(seconds), p.recovered_from_trouble(seconds), p.flows(over, seconds)]
    promised += [p.nothing_fails(over), p.at_most(1, over), p.complete(over), p.books(over)]
    return Made(f"{does} for {seconds:g} s", promised, deed)


def _full(aim: Aim) -> Made:
    disk = aim.world.disk
    return _trouble(
        aim, "the disk is full", partial(setattr, disk, "full", True), partial(setattr, disk, "full", False)
    )


def _deny(aim: Aim) -> Made:
    denied, folder = aim.world.disk.denied, queue_folder("", aim.target)
    return _trouble(
        aim, f"nobody may write into {aim.target}", partial(denied.add, folder), partial(denied.discard, folder)
    )


def _power(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    world = aim.world

    def deed() -> None:
        world.cut_power()
        world.after(seconds, world.watch)

    back, end = seconds + aim.sandbox.options.poll + p.SLACK, seconds + MOMENT
    promised = [p.everybody_there(seconds, back), p.flows(end, seconds), p.complete(end), p.numbers_are_new(end)]
    return Made(f"the power is gone for {seconds:g} s", [*promised, p.books(end)], deed)


# ---- the watchdog -------------------------------------------------------------------------------------------------


def _watchdog(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    world = aim.world
    if world.watchdog is None:
        raise Refused("watchdog: none runs")

    def deed() -> None:
        world.kill_watchdog()
        world.after(seconds, world.watch)

    back = seconds + aim.sandbox.options.poll + p.SLACK
    promised = [p.adopted(back), p.flows(max(seconds, p.PASS)), p.everybody_there(seconds, back)]
    promised += [p.numbers_are_new(back), p.nothing_fails(back), p.books(back)]
    return Made(f"the watchdog is dead; another one is started after {seconds:g} s", promised, deed)


# ---- the catalogue ------------------------------------------------------------------------------------------------

FAULTS: tuple[Fault, ...] = (
    Fault("kill", "end a driver without a word", ("driver",), (), _kill),
    Fault("freeze", "stop a driver for a while", ("driver",), (SECONDS,), _freeze),
    Fault("crash", "end a driver between writing and renaming", ("driver",), (), _crash),
    Fault("steal", "let another program be quicker", ("driver",), (), _steal),
    Fault("twin", "start a second driver of one number", ("driver",), (), _twin),
    Fault("clock", "let a driver's clock jump", ("driver",), (Amount("seconds", 20.0, 0.1, 3600.0),), _clock),
    Fault("fail", "let a stage's command fail", ("stage",), (Amount("times", 1.0, 1.0, 2.0),), _fail),
    Fault("slow", "let a stage take very long", ("stage",), (Amount("seconds", 20.0, 5.0, 600.0),), _slow),
    Fault("full", "fill the disk", (), (SECONDS,), _full),
    Fault("deny", "take away the permission to write", ("queue",), (SECONDS,), _deny),
    Fault("power", "cut the power", (), (Amount("seconds", 2.0, 0.1, 600.0),), _power),
    Fault("watchdog", "end the watchdog, and start another", (), (SECONDS,), _watchdog),
)


def faults_for(system: QueueSystem) -> tuple[Fault, ...]:
    """The faults that can be done to a system of disk queues."""
    return FAULTS


def read(line: str) -> tuple[Fault, str, tuple[float, ...]]:
    """The fault, its target and all its amounts. Raises Refused for what can not be done to any pipeline."""
    return read_line(FAULTS, line)


def plan(sandbox: QueueSandbox, line: str) -> Plan:
    """Read a line such as ``kill 3``: what it would do to this sandbox, and the promises. Raises Refused."""
    fault, target, amounts = read(line)
    made = fault.make(_aim(sandbox, fault, target, amounts))
    return Plan(line_of(fault, target, amounts), made.does, tuple(made.promises), made.deed)


def targets(sandbox: QueueSandbox, fault: Fault) -> tuple[str, ...]:
    """The targets that a fault can have now, by the names to type."""
    queues: tuple[str, ...] = sandbox.world.queues
    if "driver" in fault.targets:
        return tuple(seat.name for seat in sandbox.world.seats.values())
    if "stage" in fault.targets:
        return queues[2 if fault.make is _slow else 1 :]
    return queues if fault.targets else ()


def _aim(sandbox: QueueSandbox, fault: Fault, target: str, amounts: tuple[float, ...]) -> Aim:
    """Raises Refused where the target is not there."""
    queues, of, number = sandbox.world.queues, "", ""
    if "driver" in fault.targets:
        number = number_of(target) or target
        if number not in sandbox.world.seats:
            known = ", ".join(seat.name for seat in sandbox.world.seats.values()) or "nobody"
            raise Refused(f"{fault.name}: no driver {target!r}; there are {known}")
        of = sandbox.world.seats[number].stage
    elif "stage" in fault.targets:
        of = sandbox.known(target)
    elif fault.targets and target not in queues:
        raise Refused(f"{fault.name}: no queue {target!r}; there are {', '.join(queues)}")
    source = queues[queues.index(of) - 1] if of else ""
    return Aim(sandbox, target, number, of, source, amounts)
