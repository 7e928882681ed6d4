"""``roundhouse order``: one order to a running process, by the words of the console's ``:`` line.

What ends or changes something is asked about on a terminal; ``--yes`` answers that, and without a terminal it has to.
The order is carried out there, its effect is waited for, and a line of it is kept (``engine.labs.audit``).
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from console import units
from console.cli.asking import met
from console.cli.common import around_of, audit_of, far_of, fleet_of, settings_of
from console.cli.prompt import listed as word_lines
from console.cli.queueorder import ACKNOWLEDGE, QUEUE_WORDS, Order, acknowledged, queue_order
from console.cli.signals import Signals
from console.cli.streams import result, tell
from console.commands import BY_NAME, STEER, Command, CommandError, Word, parse
from console.steering import client_of, limit_of, task_of
from console.text import clean
from engine.catalogue import CATALOGUE
from engine.drive.control.found import Found
from engine.drive.control.place import place
from engine.errors import Refused
from engine.labs.audit import Audit, origin, who
from engine.labs.steered import limits
from engine.parts.explain import show
from engine.parts.orders import Drain, Expire, Requeue, Undrain
from engine.parts.view import WorkerRow
from engine.settings.settings import Flag
from engine.settings.tomlfile import Problem, Wrong
from engine.system import System

STEP = 0.1  # seconds between two looks
LOOKS = 100  # of them until an effect must have shown
NAMED = ("register", "deregister", "bulk", "endbulk", "withdraw", "lane", "pair", "config", *STEER)
FAULTS = ("kill", "freeze", "cut", "restart")
WORDS = (
    Word("drain", "WORKER", "let a worker finish its tasks and leave", False),
    Word("stop", "WORKER", "let it finish its tasks, leave and end", False),
    Word("discard", "CLIENT TASK", "end one task that waits", False),
    Word("move", "CLIENT TASK first|last", "let one task wait before all others, or behind them", False),
    Word("endrun", "", "stop its run", False),
    Word("trace", "on|off|FILTER", "trace messages though nobody looks; who attaches sees them", False),
    ACKNOWLEDGE,
    BY_NAME["slow"],
    *(BY_NAME[name] for name in (*NAMED, *FAULTS)),
)
BY_WORD = {word.name: word for word in WORDS}
LOG = Word("log", "", "the newest orders that were given", False)
HELP = Word("help", "", "list these words", False)
GONE = ("drain", "lost")
LISTED = 40  # orders of the log


def order(options: Namespace, flags: list[Flag]) -> int:
    """Give it; 0 where its effect has shown, 1 where it was refused or has not. Raises Refused, Wrong."""
    settings = settings_of(flags)
    typed = " ".join(options.words)
    if typed == LOG.name:
        target = options.target
        return listed(audit_of(settings, place(settings.paths.control, target) if "://" in target else Path(target)))
    found = met(settings.paths.control, options.target, far_of(settings), fleet_of(settings))
    brokers = CATALOGUE[found.system].kind == System.kind
    taken = WORDS if brokers else QUEUE_WORDS
    if typed == HELP.name:
        result(word_lines((*taken, LOG, HELP)))
        return 0
    try:
        command = parse(typed, taken)
    except CommandError as error:
        hint = "; endrun stops the run" if typed == "stop" else ""
        raise Wrong([Problem("order", f"{error}{hint}")]) from None
    audit = audit_of(settings, Path(found.name))
    with Signals() as signals, around_of(settings).lab(found) as lab:
        made = order_of(command, lab) if brokers else queue_order(command, lab)
        if made.asks and not options.yes and not agreed(made.asks):
            return 1
        try:
            came = made.give(lab)
        except Refused as refusal:
            keep(audit, typed, f"refused: {refusal}")
            raise
        for _ in range(LOOKS):
            ended = made.ends and _ended(found)
            if ended or made.shown(lab):
                words = f"{made.said}; that process has ended" if ended else made.words(lab, came)
                keep(audit, typed, f"seen: {words}")
                result(f"{words}\n")
                return 0
            if signals.wait(STEP):
                break
        words = made.words(lab, None)
        keep(audit, typed, f"given; not yet seen: {words}")
        tell(f"asked; not yet seen after {LOOKS * STEP:.0f} s: {words}")
        return signals.status(1)


def _ended(found: Found) -> bool:
    """Whether a process of workers has left with its control socket, as it does when the last of them has left."""
    return found.role == "worker" and isinstance(found.path, Path) and not found.path.is_socket()


def keep(audit: Audit, typed: str, came: str) -> None:
    """Keep a line of what was typed here, and its effect; that it can not be kept is told, and undoes nothing."""
    if trouble := audit.keep(who(), f"{origin()}, roundhouse order", typed, came):
        tell(trouble)


def listed(audit: Audit) -> int:
    """The newest orders to one process, as its user's log on this machine has them. Raises Refused."""
    try:
        lines = audit.lines(LISTED)
    except OSError as error:
        raise Refused(f"the log of orders can not be read: {error.strerror or error}") from None
    for line in lines:
        said = (line.get(key, "") for key in ("at", "who", "from", "what", "result"))
        result(clean("  ".join(map(str, said)), 1000) + "\n")
    if not lines:
        tell("no order is in the log of this machine")
    return 0


def agreed(question: str) -> bool:
    """Ask on the terminal. Raises Refused where there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused(f"{question} There is nobody to ask: add --yes")
    sys.stderr.write(f"{clean(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def order_of(command: Command, lab: Any) -> Order:
    """What a typed order means to a lab. Raises Refused where what it names is not there."""
    text = str(command.argument)
    match command.name:
        case "drain" if Undrain in lab.system.takes and lab.endpoints:
            id = worker(lab, text).key
            asks = f"Give worker {text} nothing more? undrain {text} undoes it, unless it has left."
            give = lambda lab: lab.steer(Drain(id))  # noqa: E731 - one line as the others
            return Order(give, f"{text} drained", asks, partial(_idle, id), partial(held, id))
        case "pause" | "resume" | "throttle":
            return _throttle(lab, command.name, text)
        case "discard" | "move":
            return _single(lab, command.name, text)
        case "expire":
            id = worker(lab, text).key
            asks = f"Count worker {text} as lost? Others get what it holds; once it is heard again it is back."
            return Order(lambda lab: lab.steer(Expire(id)), f"{text} counts as lost", asks)
        case "requeue":
            return _requeue(lab, text)
        case "slots":
            return _slots(lab, text)
        case "trace":
            return Order(lambda lab: lab.keep_trace(text), f"trace {text}")
        case "log-level":
            return Order(lambda lab: lab.log_level(text), f"events are logged from {text} on")
        case "acknowledge":
            return acknowledged(text)
        case "undrain":
            id = worker(lab, text).key
            said = f"worker {text} is given tasks again"
            return Order(lambda lab: lab.steer(Undrain(id)), said, shown=lambda lab: not _left(id, lab))
        case "drain" | "stop":
            return _drain(lab, text)
        case "kill" | "freeze" | "cut" | "restart":
            return _fault(lab, f"{command.name} {text}")
        case "slow" if " " in text:
            return _fault(lab, f"slow {text}")
        case "slow":
            return _slow(text)
        case "withdraw":
            return _withdraw(lab, text)
        case "lane":
            said = f"messages are written on the lane {text} from now on"
            asked = "" if text == "seed" else text
            return Order(lambda lab: lab.choose_lane(text), said, shown=lambda lab: lab.lane == asked)
        case "config":
            key, _, value = text.partition(" ")
            asks = f"Serve another configuration, {key} = {value.strip()}?"
            return Order(
                lambda lab: lab.operate("config", key=key, value=value.strip()), "the configuration is served", asks
            )
        case "pair":
            asks = f"Let the pair {text}?" if text else ""
            return Order(lambda lab: lab.operate(text or "pair"), "asked: its events tell", asks)
        case _:
            return _plain(command.name, lab)


def _plain(word: str, lab: Any) -> Order:
    """A word without an argument."""
    before = alive(lab)

    def fewer(lab: Any) -> bool:
        return alive(lab) < before or not before

    orders: Mapping[str, Order] = {
        "register": Order(lambda lab: lab.register(), "a worker has joined", shown=lambda lab: alive(lab) > before),
        "bulk": Order(lambda lab: lab.bulk(), "workers have joined", shown=lambda lab: alive(lab) > before),
        "deregister": Order(
            lambda lab: lab.deregister(), "its worker leaves", "Let its worker leave?", fewer, ends=True
        ),
        "endbulk": Order(
            lambda lab: lab.endbulk(), "its workers leave", "Let the workers of bulk leave?", fewer, ends=True
        ),
        "undo": Order(lambda lab: lab.undo(), "the newest order is taken back", "Take the newest order back?"),
        "endrun": Order(lambda lab: lab.stop_run(), "its run has ended", "Stop its run?", _at_rest),
    }
    return orders[word]


def _drain(lab: Any, name: str) -> Order:
    key = worker(lab, name).key
    asks = f"Let worker {name} finish its tasks and leave?"
    shown, tells = partial(_idle, key), partial(held, key)
    return Order(lambda lab: lab.stop_worker(key), f"{name} leaves", asks, shown, tells, ends=True)


def _left(key: bytes, lab: Any) -> bool:
    return all(row.key != key or row.state in GONE for row in rows(lab))


def _idle(key: bytes, lab: Any) -> bool:
    """Whether it has left, or is leaving and holds nothing."""
    return _left(key, lab) and not any(row.key == key and row.in_flight for row in rows(lab))


def held(key: bytes, lab: Any) -> str:
    """What a worker still holds, in words."""
    return units.several(sum(row.in_flight for row in rows(lab) if row.key == key), "task") + " held"


def _fault(lab: Any, line: str) -> Order:
    does = lab.hurts(line)
    return Order(lambda lab: lab.hurt(line), f"done: {does}", f"{does[0].upper()}{does[1:]}. Do it?")


def _slow(text: str) -> Order:
    try:
        seconds = float(text)
    except ValueError:
        raise Refused(f"slow needs a number of seconds, got {clean(text)!r}") from None
    asks = f"Let all workers of that process answer {seconds:g} s late?" if seconds else ""
    return Order(lambda lab: lab.slow(seconds), f"its workers answer {seconds:g} s late", asks)


def _throttle(lab: Any, word: str, text: str) -> Order:
    (made, asks, said) = limit_of(word, text, lab.feed.picture("broker"))

    def shown(lab: Any) -> bool:
        return limits(lab.feed.picture("broker")).get(made.client) == made.rate

    return Order(lambda lab: lab.steer(made), said, asks, shown)


def _single(lab: Any, word: str, text: str) -> Order:
    """``discard`` or ``move``: one task that waits, by its client and its id in hexadecimal digits."""
    name, _, rest = text.partition(" ")
    digits, _, place = rest.strip().partition(" ")
    place = place.strip()
    if place not in (("",) if word == "discard" else ("first", "last")):
        raise Refused(f"{word} needs {BY_WORD[word].usage}, TASK in hexadecimal digits; got {clean(text)!r}")
    client, task = task_of(word, name, digits, lab.feed.picture("broker"))
    if word == "discard":
        asks = f"Drop task {digits} of client {name}? It ends as failed."
        return Order(lambda lab: lab.discard(client, task), f"asked: task {digits} is dropped if it waits", asks)
    where = "before" if place == "first" else "behind"
    said = f"asked: task {digits} waits {where} all others if no worker has it"
    asks = f"Let task {digits} of client {name} wait {where} all others?"
    return Order(lambda lab: lab.move(client, task, place == "first"), said, asks)


def _slots(lab: Any, text: str) -> Order:
    name, _, digits = text.partition(" ")
    if not digits.strip().isdecimal():
        raise Refused(f"slots needs {BY_WORD['slots'].usage}, got {clean(text)!r}")
    key, slots = worker(lab, name).key, int(digits)

    def now(lab: Any) -> int:
        return next((row.slots for row in rows(lab) if row.key == key), 0)

    def tells(lab: Any) -> str:
        return units.several(now(lab), "slot")

    give = lambda lab: lab.set_slots(key, slots)  # noqa: E731 - one line as the others
    return Order(give, name, "", lambda lab: now(lab) == slots, tells)


def _requeue(lab: Any, text: str) -> Order:
    """What a worker holds, or one task by its client and its id in hexadecimal digits."""
    name, _, digits = text.partition(" ")
    if digits:
        made = Requeue(b"", *task_of("requeue", name, digits.strip(), lab.feed.picture("broker")))
        what = f"task {digits} of client {name}"
    else:
        made, what = Requeue(worker(lab, name).key), f"what worker {name} holds"
    asks = f"Take {what} back, and give it to others? That counts as a delivery."
    return Order(lambda lab: lab.steer(made), f"{what} is taken back", asks)


def _withdraw(lab: Any, name: str) -> Order:
    key = client_of(name, lab.feed.picture("broker"))

    def nothing_waits(lab: Any) -> bool:
        return all(row.key != key or not row.waiting for row in lab.feed.picture("broker").clients)

    asks = f"Drop what waits of client {name}?"
    return Order(lambda lab: lab.withdraw(key), f"nothing of {name} waits any more", asks, nothing_waits)


def worker(lab: Any, name: str) -> WorkerRow:
    """The worker of this name. Raises Refused where it is not one, and names some."""
    found = [row for row in rows(lab) if name in (row.name, lab.seat_of(row.key), show(row.key))]
    if not found:  # a worker of that process, as its faults call it: worker-3 is w3
        found = [row for row in rows(lab) if name == f"w{str(lab.seat_of(row.key)).removeprefix('worker-')}"]
    if len(found) != 1:
        known = ", ".join(clean(row.name) for row in rows(lab)[:6]) or "none"
        raise Refused(f"{'several workers are' if found else 'no worker is'} called {clean(name)!r}; there are {known}")
    return found[0]


def rows(lab: Any) -> tuple[WorkerRow, ...]:
    """The workers of the broker there, or those of that process."""
    view = lab.feed.picture("broker")
    return view.workers if view is not None else ()


def alive(lab: Any) -> int:
    """How many of them can take tasks."""
    return sum(row.state not in GONE for row in rows(lab))


def _at_rest(lab: Any) -> bool:
    client = lab.feed.picture("client")
    return client is None or client.run is None or client.run.state == "ended"
