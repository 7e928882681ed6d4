"""Orders that are asked about first, from whichever screen they come."""

from __future__ import annotations

from contextlib import suppress

from console.host import Host
from console.pictures.bridge import Picture
from console.pictures.rows import Shown
from console.screens.confirm import Confirm, drain_question, stop_question
from console.sessions.session import RUNNING
from console.steering import limit_of
from console.text import clean
from engine.core import Drain, Undrain
from engine.errors import Refused
from engine.labs.steered import refuse
from engine.parts.explain import show
from engine.protocols.diskqueue.pipeline import DriverRow

UNDONE = "undo takes it back."
GETS_NOTHING = {"drain": "is drained already", "lost": "is lost: it gets nothing"}
CLIENT = "client "  # how the terms of a broker name whose tasks wait


def ask_to_stop(app: Host, row: Shown) -> None:
    """Ask, then stop the worker of this row, even if the cursor has moved."""
    picture, state = app.session.picture, row.worker.state
    ours = picture is not None and picture.own(row.worker.key) is not None
    if state == "drain":
        app.say(f"worker {row.label} is leaving already", "warn")
    elif state == "lost" and not ours:
        app.say(f"worker {row.label} is lost: there is nobody to ask", "warn")
    else:
        said = f"worker {row.label} is asked to stop{', though its broker has lost it' if state == 'lost' else ''}"
        app.ask_first(stop_question(row), lambda lab: lab.stop_worker(row.worker.key), said)


def ask_to_drain(app: Host, row: Shown) -> None:
    """Ask, then have the broker give the worker of this row nothing more."""
    state = row.worker.state
    if state in ("drain", "lost"):
        app.say(f"worker {row.label} {GETS_NOTHING[state]}", "warn")
    else:
        question = drain_question(row, Undrain in app.lab.system.takes)
        _ask_to_steer(app, Drain(row.worker.key), question, f"worker {row.label} is drained")


def ask_to_slow(app: Host, text: str) -> None:
    """Ask, then let all workers of this process answer so late. In a sandbox, and for 0, nobody is asked."""
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


def ask_to_undo(app: Host) -> None:
    """Ask, then take the newest order to the broker back."""
    question = Confirm("Take back the newest order to the broker?", ["Whoever gave it."], "Take back")
    app.ask_first(question, lambda lab: lab.undo(), "the newest order to the broker is taken back")


def _ask_to_steer(app: Host, order: object, question: Confirm, said: str) -> None:
    try:
        refuse(app.lab.system, order)
    except Refused as refusal:
        app.say(clean(str(refusal), 300), "bad")
    else:
        app.ask_first(question, lambda lab: lab.steer(order), said)


def waiting_clients(picture: Picture | None) -> list[str]:
    """The clients of which something waits, by the names that the protocol's own screen shows."""
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
