"""How an item changes its name: taken, published, failed, given back, recovered.

The rules of this file:

- A document goes through the rows of ``machine.ITEM``: its next name is that of the state that its row leads to, and
  the row is counted (``walk``) once it has that name.
- At every moment a document has exactly one name that somebody will act on. The order of the steps sees to it, so a
  driver may die after any of them.
- A document counts as published from the moment its ``publishing`` file exists: the output is complete and on the
  disk by then, and whoever comes after a crash completes the renaming instead of repeating the work.
- Failures are written down before the name changes (ruling 1): a record line says which attempt began, and which
  failed. A document that never failed has no record.
- Whoever recovers a driver's items holds that driver's locks (ruling 5).
- An answer that is an error never passes for success. What others did to a document is its outcome: ``gone`` where
  they took it away, ``stuck`` where its next name is in the way; then it keeps the name that it has.
- Where documents go is what whoever asks was told, never what stands in a file of the queue.
- A promise, a record or an output of another user is none of ours: nothing is believed, published or deleted for it.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

from engine.parts.machine import Row, Walk
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.machine import ITEM, If, Item, On
from engine.protocols.diskqueue.operations import (
    Append,
    Entry,
    Error,
    Exists,
    List,
    Read,
    Remove,
    Rename,
    Steps,
    Sync,
    Take,
    Touch,
)

ATTEMPTS = 2  # the seed: tried again once, then given up
_TRIES = 10  # to give a document a name that others keep creating
_REASON = 500  # characters of an error text that a record keeps

Settled = Literal["published", "failed", "failed_twice", "returned", "gone", "stuck"]
"""What became of a document; gone: somebody else took it away · stuck: it keeps its name, the next is in the way."""

_SETTLED: dict[str, Settled] = {
    Item.FAILED: "failed",
    Item.FAILED_TWICE: "failed_twice",
    Item.KEPT: "failed_twice",
    Item.GONE: "gone",
}


_ROWS = {row.key: row for row in ITEM.rows}
_LATE = {"gone": On.LOST, "exists": On.CLASH, "foreign": On.BARRED}  # why a document could not be taken


class Held(NamedTuple):
    """One document in a driver's hands."""

    src: str  # folder
    dst: str  # folder
    id: str
    number: str  # of the driver
    attempt: int  # 1 or 2


# ---- records ------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One line of a record of attempts."""

    what: str  # begin, fail, back
    attempt: int
    number: str  # of the driver
    at: float  # wall clock, seconds since the epoch
    reason: str


def line(what: str, held: Held, at: float, reason: str = "") -> str:
    """A record line, tab-separated: what, attempt, driver, time, reason."""
    return f"{what}\t{held.attempt}\t{held.number}\t{at:.3f}\t{' '.join(reason.split())[:_REASON]}"


def read_record(text: str) -> list[Line]:
    """The lines of a record; what is torn or foreign is passed over."""
    found: list[Line] = []
    for raw in text.splitlines():
        fields = raw.split("\t")
        if len(fields) != 5 or fields[0] not in ("begin", "fail", "back") or not names.number(fields[2]):
            continue
        if fields[1] not in ("1", "2"):
            continue
        try:
            at = float(fields[3])
        except ValueError:
            continue
        found.append(Line(fields[0], int(fields[1]), fields[2], at, fields[4]))
    return found


def in_hand(record: list[Line], number: str) -> tuple[int, bool]:
    """Which attempt a dead driver was at, and whether its failure is already on record."""
    own = [entry for entry in record if entry.number == number]
    if own and own[-1].what == "begin":
        return own[-1].attempt, False
    if own and own[-1].what == "fail":
        return own[-1].attempt, True
    # It took a document that had failed before, and died before it began; or it was about to give it back.
    return 1, any(entry.what in ("fail", "back") for entry in record)


# ---- one document -------------------------------------------------------------------------------------------------


def take(held: Held, state: str, leftovers: frozenset[str], at: float, walk: Walk) -> Steps[Error]:
    """Lock a document for this driver; ``gone`` for the loser of the race, ``foreign`` where we can not. 003 row 1.

    ``state``: the one that it waits in. ``leftovers`` are the names beside it that belong to an earlier document of the
    same id, which this one replaces.
    """
    answer = yield Take(held.src, names.of(state, held.id), names.working(held.id, held.number))
    walk.step(state, _LATE.get(answer.error, On.TAKEN))
    if answer.error:
        return answer.error
    for leftover in sorted(leftovers):
        yield Remove(held.src, leftover)  # gone is as good; a folder, or what a sticky folder keeps, stays
    for given_up in (Item.KEPT, Item.FAILED_TWICE):
        if names.of(given_up, held.id) in leftovers:
            walk.step(given_up, On.FED)
            break
    if held.attempt > 1:
        yield Append(held.src, names.attempts(held.id), line("begin", held, at))
    return ""


def publish(held: Held, walk: Walk) -> Steps[str]:
    """Publish the written output; the reason why not, or the empty string. 003 row 2."""
    written = names.writing(held.id, held.number)
    answer = yield Sync(held.dst, written)
    if answer.error:
        return "wrote no output" if answer.error == "gone" else f"{written} is no regular file"
    if answer.foreign:
        return f"{written} belongs to another user"
    yield Append(held.src, names.publishing(held.id, held.number), held.dst)
    promised = walk.step(Item.WORKING, On.PROCESSED)
    answer = yield Exists(held.dst, written)
    reason = _missing(written) if answer.error or answer.foreign else (yield from _rename_output(held))
    if reason:
        yield Remove(held.src, names.publishing(held.id, held.number))
        walk.step(promised, On.REFUSED)
        return reason
    yield from _let_go(held)
    walk.step(promised, On.RENAMED)
    return ""


def _rename_output(held: Held) -> Steps[str]:
    """Give the complete output its final name; the reason why not, or the empty string."""
    written, final = names.writing(held.id, held.number), names.ready(held.id)
    for _ in range(_TRIES):
        # The seed deletes what has this name; renaming over it would do so as well, and hide a second driver.
        yield Remove(held.dst, held.id)
        yield Remove(held.dst, final)  # what can not be removed is found by the renaming
        answer = yield Rename(held.dst, written, final)
        if not answer.error:
            yield Sync(held.dst)
            return ""
        if answer.error != "exists":
            return _missing(written)
    return f"{final} is in the way"


def _missing(written: str) -> str:
    return f"{written} is no more what it was: somebody else has touched it"


def _let_go(held: Held) -> Steps[None]:
    """The document is published: nothing of it is kept here. What is gone by now needs no removing."""
    yield Remove(held.src, names.working(held.id, held.number))
    if held.attempt > 1:
        yield Remove(held.src, names.attempts(held.id))
    yield Remove(held.src, names.publishing(held.id, held.number))


def fail(held: Held, reason: str, keep: bool, at: float, walk: Walk, event: str = On.FAILS) -> Steps[Settled]:
    """This attempt failed, or its driver died (``event``). 003 rows 3 and 4."""
    yield Remove(held.dst, names.writing(held.id, held.number))  # there may be none
    yield Append(held.src, names.attempts(held.id), line("fail", held, at, reason))
    return (yield from settle(held, keep, walk, event))


def settle(held: Held, keep: bool, walk: Walk, event: str = On.FAILS) -> Steps[Settled]:
    """Rename an input whose failure is on record: to be tried again, or given up."""
    row = yield from _settle(held, keep, event)
    walk.step(*row.key)
    return "stuck" if row.guard == If.STUCK else _SETTLED[row.next]


def _settle(held: Held, keep: bool, event: str) -> Steps[Row]:
    """The row that it goes through."""
    locked, gone = names.working(held.id, held.number), _ROWS[Item.WORKING, On.TAKEN_AWAY, ""]
    row = _ROWS[Item.WORKING, event, ""]
    if held.attempt < ATTEMPTS:
        answer = yield Rename(held.src, locked, names.of(row.next, held.id))
        if answer.error != "exists":
            return gone if answer.error else row
        # Another document of this id waits there already, and two cannot wait under one name.
    row = _ROWS[Item.WORKING, event, If.KEPT if keep else If.SECOND]
    yield Touch(held.src, names.failed_twice(held.id))
    if not keep:
        answer = yield Remove(held.src, locked)
        return gone if answer.error else row
    name = names.of(row.next, held.id)
    for _ in range(_TRIES):
        answer = yield Rename(held.src, locked, name)
        if answer.error != "exists":
            return gone if answer.error else row
        if (yield Exists(held.src, locked)).error:
            return gone  # what stands there by now is no document: it takes nobody's place
        yield Remove(held.src, name)  # of another document of this id; what stays is in the way
    return _ROWS[Item.WORKING, event, If.STUCK]


def give_back(held: Held, keep: bool, at: float, walk: Walk) -> Steps[Settled]:
    """Return an input that nothing was wrong with under the name it had (ruling 7); no attempt is used up."""
    yield Remove(held.dst, names.writing(held.id, held.number))
    if held.attempt > 1:
        yield Append(held.src, names.attempts(held.id), line("back", held, at))
    row = _ROWS[Item.WORKING, On.BACK, If.SECOND if held.attempt > 1 else ""]
    answer = yield Rename(held.src, names.working(held.id, held.number), names.of(row.next, held.id))
    if answer.error == "exists":
        return (yield from settle(held._replace(attempt=1), keep, walk))
    row = _ROWS[Item.WORKING, On.TAKEN_AWAY, ""] if answer.error else row
    walk.step(*row.key)
    return "gone" if answer.error else "returned"


# ---- what a dead driver left --------------------------------------------------------------------------------------


def recover(
    src: str, dst: str, number: str, keep: bool, at: float, walk: Walk | None = None
) -> Steps[list[tuple[str, Settled]]]:
    """Settle everything that driver ``number`` left between two queues; the caller holds both of its locks.

    A crash counts as a failure (ruling 1). Safe to repeat: a recoverer may die as well. All that it knows is in its
    variables, for whoever compares where two of them stand.
    """
    walk = walk or Walk(ITEM)
    settled: list[tuple[str, Settled]] = []
    found = {entry.name for entry in (yield List(src)).entries}
    todo = deque(sorted(found))
    while todo:
        name = todo.popleft()
        id = names.published_by(name, number)
        if id is None or names.why_not(id):
            continue
        promise = yield Read(src, name)
        if promise.error or promise.foreign:
            continue  # whoever may write here can write such a file: only our own is believed
        held = Held(src, dst, id, number, ATTEMPTS)  # attempt 2 stands for "there may be a record"
        if names.working(id, number) in found:
            kept = yield from _keep_promise(held, promise.text)
            walk.step(Item.PUBLISHING, On.DIES, "" if kept else If.UNTRUE)
            if kept:
                settled.append((id, "published"))
                found.discard(names.working(id, number))
        elif not found & {names.ready(id), names.failed(id)}:
            yield Remove(src, names.attempts(id))
        yield Remove(src, names.publishing(id, number))
    todo = deque(sorted(found))
    while todo:
        name = todo.popleft()
        item = names.parse(name)
        if not isinstance(item, names.Item) or item.state != "working" or item.number != number:
            continue
        answer = yield Read(src, names.attempts(item.id))  # none where there is none to read
        record = read_record("" if answer.foreign else answer.text)
        attempt, known = in_hand(record, number)
        held = Held(src, dst, item.id, number, attempt)
        if known:
            outcome = yield from settle(held, keep, walk, On.DIES)
        else:
            outcome = yield from fail(held, f"driver {number} died", keep, at, walk, On.DIES)
        settled.append((item.id, outcome))
    todo = deque(sorted(entry.name for entry in (yield List(dst)).entries))
    while todo:
        name = todo.popleft()
        item = names.parse(name)
        if isinstance(item, names.Item) and item.state == "writing" and item.number == number:
            yield Remove(dst, name)
    return settled


def _keep_promise(held: Held, promise: str) -> Steps[bool]:
    """Publish what a dead driver had promised to; whether it stands in its destination now, and the input is gone."""
    answer = yield Exists(held.dst, names.writing(held.id, held.number))
    if answer.error == "gone":
        # It is published already, if this is where the driver was to put it; a power cut leaves less of the line.
        whither, whole, _ = promise.partition("\n")
        if whole and "\0" not in whither and whither != held.dst:
            return False
    elif answer.error or answer.foreign:
        # Somebody else has put that there, in place of the output or after it: only what is published is believed.
        answer = yield Exists(held.dst, names.ready(held.id))
        if answer.error or answer.foreign:
            return False
    elif (yield from _rename_output(held)):
        return False
    yield from _let_go(held)
    return True


def retry(folder: str, id: str, walk: Walk | None = None) -> Steps[str]:
    """An operator gives a document that was given up two fresh attempts; the reason why not, or the empty string."""
    if reason := names.why_not(id):
        return reason
    answer = yield Exists(folder, names.kept(id))
    if answer.error == "odd":
        return f"{names.kept(id)} is no regular file"
    row = _ROWS[Item.KEPT, On.RETRIED, ""]
    answer = yield Rename(folder, names.of(row.state, id), names.of(row.next, id))
    if answer.error == "foreign":
        return f"{names.kept(id)} belongs to another user, who alone may rename it"
    if answer.error:
        return f"{names.ready(id)} waits already" if answer.error == "exists" else "its input was not kept"
    if walk is not None:
        walk.step(*row.key)
    yield Remove(folder, names.attempts(id))  # there may be none
    yield Remove(folder, names.failed_twice(id))
    return ""


# ---- what a folder shows ------------------------------------------------------------------------------------------


class Agenda(NamedTuple):
    """What one listing of a queue means to a driver that takes from it."""

    takeable: tuple[names.Item, ...]  # ready before failed, oldest first by time then name (ruling 2)
    given_up: dict[str, frozenset[str]]  # id → names of a document that was given up
    recorded: frozenset[str]  # ids that have a record of attempts
    strange: tuple[tuple[str, str], ...]  # what claims to be an item by its name, and why it is none
    held: tuple[names.Item, ...]  # working and writing, of all drivers
    live: int  # ready, working, writing and failed items of all drivers
    done: bool  # nothing more will come

    def leftovers(self, item: names.Item) -> frozenset[str]:
        """What lies there of an earlier document of the same id, which a document that is fed anew replaces."""
        if item.state != "ready":
            return frozenset()
        record = {names.attempts(item.id)} if item.id in self.recorded else set()
        return self.given_up.get(item.id, frozenset()) | record


def agenda(entries: tuple[Entry, ...], odd: tuple[tuple[str, str], ...] = ()) -> Agenda:
    """Read one listing, in which ``odd`` are no regular files."""
    order: list[tuple[bool, int, str, names.Item]] = []
    given_up: dict[str, set[str]] = {}
    recorded: set[str] = set()
    strange = [(name, f"it is {kind}") for name, kind in odd if names.parse(name) is not None or name == names.DONE]
    held: list[names.Item] = []
    live, done = 0, False
    for entry in entries:
        item = names.parse(entry.name)
        if item is None:
            done = done or entry.name == names.DONE
            if (id := names.record_of(entry.name)) is not None:
                recorded.add(id)
        elif isinstance(item, str):
            strange.append((entry.name, item))
        else:
            live += item.live
            if item.state in ("ready", "failed"):
                order.append((item.state == "failed", entry.mtime_ns, entry.name, item))
            elif item.number:
                held.append(item)
            else:
                given_up.setdefault(item.id, set()).add(entry.name)
    return Agenda(
        tuple(item for *_, item in sorted(order)),
        {id: frozenset(found) for id, found in given_up.items()},
        frozenset(recorded),
        tuple(sorted(strange)),
        tuple(sorted(held)),
        live,
        done,
    )
