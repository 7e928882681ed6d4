"""Orders that are asked about first, from whichever screen they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from console.commands import Command
from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.rows import Shown
from console.screens.confirm import Confirm, drain_question, several_question, stop_question, workers_named
from console.sessions.session import RUNNING, Give
from console.steering import limit_of, task_of
from console.text import clean
from engine.errors import Refused
from engine.labs.steered import refuse
from engine.parts.explain import show
from engine.parts.orders import Drain, Expire, Requeue, Undrain
from engine.protocols.diskqueue.pipeline import DriverRow

UNDONE = "undo takes it back."
GETS_NOTHING = {"drain": "is drained already", "lost": "is lost: it gets nothing"}
CLIENT = "client "  # how the terms of a broker begin that name clients with waiting tasks


def ask_to_stop(app: Host, *rows: Shown) -> None:
    """Ask once, then stop the workers of these rows, even if the cursor has moved."""
    able, others = _able(app, rows, partial(_no_stop, app))
    if not able:
        return
    said = f"{workers_named(able)} {_are(able)} asked to stop"
    if len(rows) == 1:
        question = stop_question(able[0])
        said += ", though its broker has lost it" if able[0].worker.state == "lost" else ""
    else:
        question = several_question("Stop", able, "Each finishes what it holds, then leaves.", others)
    app.ask_first(question, _each(able, lambda lab, key: lab.stop_worker(key)), said)


def ask_to_drain(app: Host, *rows: Shown) -> None:
    """Ask once, then have the broker give the workers of these rows nothing more."""
    able, others = _able(app, rows, _no_drain)
    if not able:
        return
    undone = Undrain in app.lab.system.takes
    if len(rows) == 1:
        question = drain_question(able[0], undone)
    else:
        after = "undrain gives one tasks again." if undone else "Nothing takes that back."
        question = several_question("Drain", able, f"They get nothing more. {after}", others)
    give = _each(able, lambda lab, key: lab.steer(Drain(key)))
    _ask_to_steer(app, Drain(able[0].worker.key), question, f"{workers_named(able)} {_are(able)} drained", give)


def _no_stop(app: Host, row: Shown) -> str:
    """Why the worker of this row can not be stopped; "" where it can."""
    picture, state = app.session.picture, row.worker.state
    ours = picture is not None and picture.own(row.worker.key) is not None
    if state == "drain":
        return "is leaving already"
    return "is lost: there is nobody to ask" if state == "lost" and not ours else ""


def _no_drain(row: Shown) -> str:
    return GETS_NOTHING.get(row.worker.state, "")


def _able(app: Host, rows: Sequence[Shown], why_not: Callable[[Shown], str]) -> tuple[list[Shown], list[str]]:
    """The rows that an order can be given to, and why not to the others. Where there are none, that is said."""
    told = [(row, why_not(row)) for row in rows]
    able = [row for row, why in told if not why]
    others = [f"worker {row.label} {why}" for row, why in told if why]
    if not able:
        app.say(others[0] + (f"; {len(others) - 1} more can not be asked" if others[1:] else ""), "warn")
    return able, others


def _are(rows: Sequence[Shown]) -> str:
    return "are" if len(rows) > 1 else "is"


def _each(rows: Sequence[Shown], give: Callable[[Any, bytes], None]) -> Callable[[Any], None]:
    """An order to each of these workers. One refusal does not keep it from the others."""

    def give_all(lab: Any) -> None:
        refused = []
        for row in rows:
            try:
                give(lab, row.worker.key)
            except Refused as refusal:
                refused.append(str(refusal))
        if refused:
            many = f"{len(refused)} of {len(rows)} are refused: " if len(rows) > 1 else ""
            raise Refused(f"{many}{refused[0]}")

    return give_all


def ask_to_slow(app: Host, text: str) -> None:
    """Ask, then slow all workers of this process by so many seconds. In a sandbox, and for 0, without a question."""
    try:
        seconds = float(text)
    except ValueError:
        app.say(f"slow needs a number of seconds, got {clean(text)!r}", "bad")
        return
    said = f"our workers answer {seconds:g} s late" if seconds else "our workers answer at once"
    if app.session.mode not in RUNNING or not seconds:
        app.order(lambda lab: lab.slow(seconds), said, destroys=True)
        return
    fate = ["Tasks wait in the backlog meanwhile. slow 0 undoes it."]
    question = Confirm(f"Let all workers here answer {seconds:g} s late?", fate, "Slow down")
    app.ask_first(question, lambda lab: lab.slow(seconds), said)


def ask_to_hurt(app: Host, line: str) -> None:
    """Ask, then do a fault to what runs in this process."""
    try:
        does = app.lab.hurts(line)
    except Refused as refusal:
        app.say(clean(str(refusal), 300), "bad")
        return
    verb, _, aim = clean(line, 60).partition(" ")
    fate = [f"{does[0].upper()}{does[1:]}."]
    app.ask_first(Confirm(f"{verb.capitalize()} {aim}?", fate, verb.capitalize()), lambda lab: lab.hurt(line), does)


def ask_to_withdraw(app: Host, name: str) -> None:
    """Ask, then drop what waits of the client of this name, as the protocol's own screen shows it."""
    shown = waiting_clients(app.session.picture)
    if name not in shown:
        known = ", ".join(shown[:6]) or "none"
        app.say(f"no client {clean(name)!r} of which something waits; there are {clean(known)}", "bad")
        return
    client = routing_id(name)
    fate = ["Tasks that workers hold go on."]
    question = Confirm(f"Withdraw what waits of client {clean(name, 40)}?", fate, "Withdraw")
    app.ask_first(question, lambda lab: lab.withdraw(client), f"what waits of {clean(name)} is withdrawn")


def ask_to_limit(app: Host, word: str, text: str) -> None:
    """Ask, then pause, resume or throttle the dispatch."""
    picture = app.session.picture
    try:
        order, asks, said = limit_of(word, text, picture.broker if picture is not None else None)
    except Refused as refusal:
        app.say(clean(str(refusal), 300), "bad")
        return
    fate = [f"Tasks wait in the backlog meanwhile. {UNDONE}"] if asks else [UNDONE]
    _ask_to_steer(app, order, Confirm(asks or "Give out tasks without that limit?", fate, word.capitalize()), said)


def ask_to_undrain(app: Host, row: Shown) -> None:
    """Ask, then give a drained worker tasks again."""
    question = Confirm(f"Give worker {row.label} tasks again?", [UNDONE], "Undrain")
    _ask_to_steer(app, Undrain(row.worker.key), question, f"worker {row.label} is given tasks again")


def ask_to_expire(app: Host, row: Shown) -> None:
    """Ask, then have the broker count a worker as lost."""
    fate = ["Others get what it holds at once.", "Once it is heard again, it is back."]
    question = Confirm(f"Count worker {row.label} as lost?", fate, "Expire")
    _ask_to_steer(app, Expire(row.worker.key), question, f"worker {row.label} counts as lost")


def ask_to_requeue(app: Host, row: Shown) -> None:
    """Ask, then have the broker take back what a worker holds."""
    _ask_to_requeue(app, Requeue(row.worker.key), f"what worker {row.label} holds")


def ask_to_requeue_task(app: Host, text: str) -> None:
    """Ask, then have the broker take back one task, by its client and its digits."""
    picture, (name, _, digits) = app.session.picture, text.partition(" ")
    try:
        client, task = task_of("requeue", name, digits.strip(), picture.broker if picture is not None else None)
    except Refused as refusal:
        app.say(clean(str(refusal), 300), "bad")
    else:
        _ask_to_requeue(app, Requeue(b"", client, task), f"task {task.hex()} of client {clean(name, 40)}")


def _ask_to_requeue(app: Host, order: Requeue, what: str) -> None:
    fate = ["Another worker gets it; that counts as a delivery.", "What the first one still answers may count as late."]
    _ask_to_steer(app, order, Confirm(f"Take {what} back?", fate, "Requeue"), f"{what} is taken back")


def set_slots(app: Host, text: str, row: Shown) -> None:
    """Have a worker take so many tasks at a time."""
    digits = text.strip()
    if not digits.isdecimal():
        app.say(f"slots needs a number of slots, got {clean(digits)!r}", "bad")
        return
    key, slots = row.worker.key, int(digits[:9])
    said = f"worker {row.label} has {slots} slots"
    app.order(lambda lab: lab.set_slots(key, slots), said, destroys=True)


def steered(app: Host, named: Callable[[str, Callable[[Host, Shown], None]], None], command: Command) -> bool:
    """Whether a command is an order to the broker, or to a process; then it is given, after a question where it asks.

    ``named`` hands over the worker of a name.
    """
    match command:
        case Command("undrain", str(name)):
            named(name, ask_to_undrain)
        case Command("expire", str(name)):
            named(name, ask_to_expire)
        case Command("requeue", str(text)) if " " in text:
            ask_to_requeue_task(app, text)
        case Command("requeue", str(name)):
            named(name, ask_to_requeue)
        case Command("slots", str(text)):
            name, _, slots = text.partition(" ")
            named(name, lambda app, row: set_slots(app, slots, row))
        case Command("log-level", str(level)):
            app.order(lambda lab: lab.log_level(level), f"events are logged from {level} on", destroys=True)
        case Command("pause" | "resume" | "throttle" as name, str(text)):
            ask_to_limit(app, name, text)
        case Command("undo", _):
            ask_to_undo(app)
        case _:
            return False
    return True


def ask_to_undo(app: Host) -> None:
    """Ask, then take the newest order back."""
    question = Confirm("Take back the newest order?", ["Whoever gave it."], "Take back")
    app.ask_first(question, lambda lab: lab.undo(), "the newest order is taken back")


def _ask_to_steer(app: Host, order: object, question: Confirm, said: str, give: Give | None = None) -> None:
    try:
        refuse(app.lab.system, order)
    except Refused as refusal:
        app.say(clean(str(refusal), 300), "bad")
    else:
        app.ask_first(question, give or (lambda lab: lab.steer(order)), said)


def waiting_clients(picture: Picture | None) -> list[str]:
    """The clients that have tasks waiting, by the names that the protocol's own screen shows."""
    broker = picture.broker if picture is not None else None
    return [row.removeprefix(CLIENT) for row, _ in (broker.terms if broker else ()) if row.startswith(CLIENT)]


def routing_id(name: str) -> bytes:
    """The routing id that is shown under this name: in hexadecimal digits where it is no text."""
    with suppress(ValueError):
        raw = bytes.fromhex(name)
        if show(raw) == name:
            return raw
    return name.encode()


def ask_to_kill(app: Host, driver: DriverRow) -> None:
    """Ask, then kill this driver."""
    said = f"driver {driver.number} is killed"
    app.ask_first(kill_question(driver), lambda lab: lab.kill_driver(driver.number), said)


def retry(app: Host, queue: str, document: str) -> None:
    """Give a document that failed twice two fresh attempts."""
    app.order(lambda lab: lab.retry(queue, document), f"{clean(document)} is tried again")


def kill_question(driver: DriverRow) -> Confirm:
    """The question before a driver is killed; it names it and its document."""
    fate = f"{clean(driver.document, 40)} counts as failed." if driver.document else "It holds no document."
    lines = [fate, f"Process {driver.pid} ends at once; another driver takes its place."]
    return Confirm(f"Kill driver {driver.number} of {clean(driver.stage)}?", lines, "Kill")
