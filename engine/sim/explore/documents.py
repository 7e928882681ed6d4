"""Every interleaving of drivers on one disk: documents are taken, worked on and published while anybody may die.

The rules of this file:

- A move is one operation of one driver or recoverer, or half of the work on a document. What an actor asks next depends
  on the answers that it got. Its state is where its procedure stands (``procedure.stands``), so that two lists of
  answers after which it stands alike are one state.
- Times count for nothing: a driver writes them into records, and only people read them there.
- A driver's number is locked while it lives. Whoever settles what a dead one left locks it anew: its recoverer, or any
  driver that finds nothing else to do.
- A fault comes once, at any moment: a driver is killed (``kill``), or the power is cut (``power``), which ends
  everybody and takes the content that was not put on the disk. Whoever died is recovered; where nobody is left, a new
  driver comes.
- A driver that waits looks again once the disk is another one: a look at the same disk changes nothing.
- Always: nothing incomplete stands as ``.ready``, no document is lost, none stands twice, and no two drivers work on
  one. In the end each was published, or given up.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from engine.core import NEVER, Exit, Note, Start, Started, Woken
from engine.parts.machine import Walk
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.explain import seat_of, state_maps
from engine.protocols.diskqueue.heirs import inherit
from engine.protocols.diskqueue.machine import ITEM
from engine.protocols.diskqueue.operations import Done, Process, Processed
from engine.sim.disk import SimDisk
from engine.sim.driver import EPOCH, config, result
from engine.sim.explore.coverage import Rows, rows_of
from engine.sim.explore.procedure import stands, stands_in
from engine.sim.explore.walk import TOLD, Progress

SRC, DST = "src", "dst"
RECOVERERS = (2, 3)  # among the actors
TIME = re.compile(r"^((?:begin|fail|back)\t[^\t]*\t[^\t]*\t)[^\t]*", re.MULTILINE)


class Point(NamedTuple):
    """Where an actor stands. ``asks``: its next operation or work; None where it waits or has ended."""

    number: int
    asks: Any
    ended: bool


class Actor:
    """A driver, or the recoverer of one: what it asks after which answers."""

    def __init__(self, number: str, recovers: bool) -> None:
        self.number, self._recovers = number, recovers
        self.holder = f"recoverer of {number}" if recovers else number  # of locks
        self._points: dict[Any, Point] = {}  # by what tells them apart
        self._ways: list[tuple[Any, ...]] = []
        self._after: dict[tuple[int, Any], Point] = {}
        self.driven: set[tuple[str, str]] = set()  # rows of a driver's machine that were walked,
        self.documents: set[tuple[str, str]] = set()  # and of a document's
        self.first = self._point(())

    def after(self, point: Point, answer: Any) -> Point:
        """Where it stands after an answer."""
        key = (point.number, repr(answer))
        found = self._after.get(key)
        if found is None:
            found = self._after[key] = self._point((*self._ways[point.number], answer))
        return found

    def _point(self, way: tuple[Any, ...]) -> Point:
        asks, ended, key = self._recovered(way) if self._recovers else self._driven(way)
        found = self._points.get(key)
        if found is None:
            found = self._points[key] = Point(len(self._ways), asks, ended)
            self._ways.append(way)
        return found

    def _recovered(self, way: tuple[Any, ...]) -> tuple[Any, bool, Any]:
        held = names.working("any", self.number)  # which one, only people are told
        walk = Walk(ITEM)
        steps = inherit(config(SRC, DST, self.holder), self.number, held, EPOCH, walk)
        try:
            asks: Any = next(steps)
            for answer in way:
                asks = steps.send(answer)
        except StopIteration:
            return None, True, "ended"
        finally:
            self.documents.update(row for row, _ in walk.walked())
        return asks, False, stands_in(steps) or repr(way)

    def _driven(self, way: tuple[Any, ...]) -> tuple[Any, bool, Any]:
        core, now = Driver(config(SRC, DST, self.number), EPOCH), 0.0
        todo = deque(core.handle(Started(), now))
        core.check()
        for answer in (None, *way):
            if type(answer) is Woken:
                now = core.wake_at()
                assert now < NEVER, "it waits for nothing"
            elif answer is not None:
                todo.popleft()
            if answer is not None:
                todo += core.handle(answer, now)
                core.check()
            while todo and isinstance(todo[0], Note):
                todo.popleft()
        view = core.snapshot(now)
        self.driven.update(row for row, _ in view.walked)
        self.documents.update(row for row, _ in view.documents)
        if todo and isinstance(todo[0], Exit):
            return None, True, "ended"
        return (todo[0] if todo else None), False, stands(core) or repr(way)


class State(NamedTuple):
    """``points``: of each actor that is there; ``seen``: the disk as it was when each began its look at it, -1
    for one that has not.
    """

    disk: int
    points: tuple[Point | None, ...]
    seen: tuple[int, ...]
    left: int


class Documents:
    """Two drivers, then whoever recovers them, and a third that comes when nobody else is left."""

    def __init__(self, documents: int = 2, fault: str = "") -> None:
        self.fault = fault
        self.texts = {f"d{number}": f"text {number}" for number in range(1, documents + 1)}
        self.actors = [Actor("1", False), Actor("2", False), Actor("1", True), Actor("2", True), Actor("3", False)]
        self.answer: Done | Processed | None = None  # of the move that was done last
        self._disks: list[SimDisk] = []
        self._known: dict[Any, int] = {}
        disk = SimDisk(SRC, DST)
        for id, text in self.texts.items():
            disk.put(SRC, names.ready(id), text)
        disk.put(SRC, names.DONE)
        for actor in self.actors[:2]:
            disk.lock(SRC, DST, actor.number)
        first, second = self.actors[0].first, self.actors[1].first
        self.begin = State(self._number(disk), (first, second, None, None, None), (-1,) * 5, 1 if fault else 0)

    # ---- moves ------------------------------------------------------------------------------------------------------

    def moves(self, state: State) -> list[tuple[str, int]]:
        """What can happen next: who acts, who is killed, or the power is cut."""
        found = [("act", who) for who, point in enumerate(state.points) if point is not None and self._can(state, who)]
        if state.left and self.fault == "kill":
            found += [("kill", who) for who in (0, 1) if (point := state.points[who]) is not None and not point.ended]
        if state.left and self.fault == "power":
            found.append(("power", 0))
        return found

    def _can(self, state: State, who: int) -> bool:
        point = state.points[who]
        assert point is not None
        return not point.ended and (point.asks is not None or state.seen[who] != state.disk)  # or nothing is new

    def apply(self, state: State, move: tuple[str, int]) -> State:
        """The next state."""
        kind, who = move
        disk, points, seen = deepcopy(self._disks[state.disk]), list(state.points), list(state.seen)
        if kind == "act":
            point = points[who]
            assert point is not None
            points[who], self.answer = self._act(disk, who, point)
        else:
            dead = [who] if kind == "kill" else [at for at in (0, 1) if not _has_ended(points[at])]
            if kind == "power":
                disk.cut_power()
            for at in dead:
                points[at], points[at + 2] = None, self.actors[at + 2].first
                disk.abandon(self.actors[at].holder)
        if points[4] is None and all(map(_has_ended, points[:4])) and self._live(disk):
            points[4] = self.actors[4].first
            disk.lock(SRC, DST, self.actors[4].number)
        number = self._number(disk)
        before = state.points[who]
        if kind == "act" and before is not None:  # a pass begins with what follows a wait
            seen[who] = -1 if before.asks is None else state.disk if seen[who] < 0 else seen[who]
        return State(number, tuple(points), tuple(seen), state.left - (kind != "act"))

    def _act(self, disk: SimDisk, who: int, point: Point) -> tuple[Point, Done | Processed | None]:
        """Where an actor stands after what it asked, and the answer; None where it only waited, or works on."""
        actor, asks = self.actors[who], point.asks
        if asks is None:
            return actor.after(point, Woken()), None
        if not isinstance(asks, Start):
            answer: Done | Processed = disk.perform(asks, actor.holder)
            return actor.after(point, answer), answer
        body = asks.body
        assert isinstance(body, Process)
        output, made = names.writing(body.id, actor.number), result(self.texts[body.id])
        if disk.folders[DST].get(output) is None:
            disk.put(DST, output, made[: len(made) // 2], synced=False)
            return point, None
        disk.put(DST, output, made, synced=False)
        answer = Processed("done")
        return actor.after(point, answer), answer

    def _live(self, disk: SimDisk) -> bool:
        items = [item for name in disk.folders[SRC] if isinstance(item := names.parse(name), names.Item)]
        return any(item.live for item in items)

    def coverage(self) -> tuple[Rows, ...]:
        """Which rows of a document's and a driver's machine were walked so far."""
        driven = set[tuple[str, str]]().union(*(actor.driven for actor in self.actors))
        documents = set[tuple[str, str]]().union(*(actor.documents for actor in self.actors))
        item, driver, *_ = state_maps()
        return rows_of(item, documents), rows_of(driver, driven)

    # ---- disks ------------------------------------------------------------------------------------------------------

    @property
    def disks(self) -> frozenset[Any]:
        """Every disk that a walk came to: its files by folder, with their content."""
        return frozenset(self._known)

    def _number(self, disk: SimDisk) -> int:
        for files in disk.folders.values():
            files.update({name: file._replace(content=_timeless(file.content)) for name, file in files.items()})
        times = sorted(file.mtime_ns for files in disk.folders.values() for file in files.values())
        ranks = {time: rank for rank, time in enumerate(times)}
        key: tuple[Any, ...] = tuple(
            (folder, name, file.content, file.synced, ranks[file.mtime_ns])
            for folder, files in disk.folders.items()
            for name, file in sorted(files.items())
        )
        key = *key, *sorted(disk.locks.items()), *sorted(disk.signed)
        if key not in self._known:
            self._known[key] = len(self._disks)
            for files in disk.folders.values():  # the order of times is all that counts
                files.update({name: file._replace(mtime_ns=ranks[file.mtime_ns]) for name, file in files.items()})
            self._disks.append(disk)
        return self._known[key]

    def wrong(self, state: State) -> str:
        """What is wrong with the disk; empty for nothing."""
        disk = self._disks[state.disk]
        over = not self.moves(state)
        for id, text in self.texts.items():
            published = names.ready(id) in disk.folders[DST]
            if published and disk.text(DST, names.ready(id)) != result(text):
                return f"{id} is published, and incomplete"
            if published and not disk.folders[DST][names.ready(id)].synced:
                return f"{id} is published before it is on the disk"
            waiting = [name for name in (names.ready(id), names.failed(id)) if name in disk.folders[SRC]]
            if len(waiting) + published > 1:
                return f"{id} stands twice: {', '.join(waiting)}{' and published' if published else ''}"
            if len(self._work(state, id)) > 1:
                return f"two drivers work on {id}: {', '.join(self._work(state, id))}"
            there = [one for name in disk.folders[SRC] if (one := names.parse(name)) and getattr(one, "id", "") == id]
            if not there and not published:
                return f"{id} is lost"
            if over and not published and names.failed_twice(id) not in {*disk.folders[SRC], *disk.folders[DST]}:
                return f"{id} is neither published nor given up in the end"
        return ""

    def _work(self, state: State, id: str) -> list[str]:
        """The drivers that have begun their work on a document."""
        asked = [(actor.number, point.asks) for actor, point in zip(self.actors, state.points, strict=True) if point]
        bodies = [(number, asks.body) for number, asks in asked if isinstance(asks, Start)]
        return [number for number, body in bodies if isinstance(body, Process) and body.id == id]


def _timeless(content: str) -> str:
    """Without the times in the lines of a record of attempts."""
    return TIME.sub(r"\g<1>0", content)


def _has_ended(point: Point | None) -> bool:
    return point is None or point.ended


class Walked(NamedTuple):
    """``bound``: what ended the walk early; ``course``: the moves to what is ``wrong``. Both are empty for nothing."""

    progress: Progress
    bound: str
    wrong: str
    course: tuple[tuple[str, int], ...]


Tell = Callable[[Progress], str]
"""Told now and then how far a walk is; answers why it is to end, nothing where it goes on."""


def walk(model: Documents, most: int = 5_000_000, tell: Tell = lambda progress: "") -> Walked:
    """Walk all states, breadth first, until the first that is wrong."""
    parents: dict[State, tuple[State, tuple[str, int]] | None] = {model.begin: None}
    layer, transitions, depth, looked = [model.begin], 0, 0, 0
    bound = ""
    while layer and not bound:
        after: list[State] = []
        for number, state in enumerate(layer, 1):
            looked += 1
            progress = Progress(len(parents), transitions, depth, len(layer) - number + len(after))
            if wrong := model.wrong(state):
                return Walked(progress, "", wrong, _way(parents, state))
            bound = f"{most:,} states" if len(parents) >= most else "" if looked % TOLD else tell(progress)
            if bound:
                break
            for move in model.moves(state):
                following = model.apply(state, move)
                transitions += 1
                if following not in parents:
                    parents[following] = (state, move)
                    after.append(following)
        layer, depth = after, depth + bool(after)
    return Walked(Progress(len(parents), transitions, depth, len(layer) if bound else 0), bound, "", ())


def in_words(model: Documents, move: tuple[str, int]) -> str:
    """A move as it is told."""
    kind, who = move
    if kind == "power":
        return "the power is cut"
    actor = model.actors[who]
    name = f"the recoverer of driver {actor.number}" if who in RECOVERERS else f"driver {actor.number}"
    return f"{kind} {name}" if kind == "kill" else f"{name} goes on"


class Happened(NamedTuple):
    """One move: who acted, or whom it befell; what it asked, and the answer. Both are None for what is no operation."""

    kind: str
    who: int
    asks: Any
    answer: Done | Processed | None
    wrong: str  # with the state after it

    @property
    def spoken(self) -> list[tuple[object, list[Any]]]:
        """What the actor asked and was answered, as events with what followed each."""
        asked: list[tuple[object, list[Any]]] = [(Woken(), [self.asks])]
        answered: list[tuple[object, list[Any]]] = [(self.answer, [])]
        starts = self.asks is not None and not isinstance(self.answer, Processed)  # work begins in a move of its own
        return (asked if starts else []) + (answered if self.answer is not None else [])


def seat(model: Documents, who: int, recovery: str) -> str:
    """What an actor is called in a trace. ``recovery``: how a recoverer's name begins."""
    number = model.actors[who].number
    return f"{recovery} {number}" if who in RECOVERERS else seat_of(DST, number)


def happened(model: Documents, words: Sequence[str]) -> Iterator[Happened]:
    """Do the moves of a text. Raises LookupError for one that can not happen."""
    state = model.begin
    for line in words:
        known = {in_words(model, move): move for move in model.moves(state)}
        if line not in known:
            raise LookupError(f"{line!r} can not happen; {', '.join(known)} can")
        kind, who = known[line]
        point, model.answer = state.points[who], None
        state = model.apply(state, (kind, who))
        asks = point.asks if kind == "act" and point is not None else None
        yield Happened(kind, who, asks, model.answer, model.wrong(state))


def _way(parents: dict[State, tuple[State, tuple[str, int]] | None], state: State) -> tuple[tuple[str, int], ...]:
    moves = []
    while (before := parents[state]) is not None:
        state, move = before
        moves.append(move)
    return tuple(reversed(moves))
