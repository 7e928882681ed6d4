"""Faults for a sandbox of a system with a broker, each with the protocol's promises.

The rules of this file:

- ``plan`` reads what an operator typed, states the promises, and does nothing; ``engine.faults.watch.Watch`` does
  it.
- A target is a worker by its seat (``worker-3``, in short ``w3``), as screens and traces call it, or ``broker`` or
  ``client``. What is wrong is named, with what is known.
- A fault makes its description, promises and action from one ``Aim``; times are virtual seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from engine.errors import Refused
from engine.faults.watch import Plan
from engine.labs.sandbox import Sandbox
from engine.parts import promises
from engine.parts.fault import SECONDS, SHARE, Aim, Amount, Fault, Made, line_of, read_line
from engine.parts.orders import Slow
from engine.parts.plain import called
from engine.parts.promise import Promise
from engine.parts.promises import SLACK
from engine.schema import nearest
from engine.sim import rogue
from engine.sim.wire import Link
from engine.system import System

# ---- processes ------------------------------------------------------------------------------------------------------


def _kill(aim: Aim) -> Made:
    lost = aim.times.lost
    promised = [promises.lost(aim, lost), promises.kept_until_its_time(aim, lost)]
    if not aim.alone:
        promised = [promises.one_row(aim, lost)]
    promised += [promises.nothing_fails(lost + 1.0), promises.books(lost + 1.0)]
    return Made(f"{aim.label} is dead, without a word", promised, partial(aim.scene.kill, aim.seat))


def _outage(aim: Aim, seconds: float) -> list[Promise]:
    """A worker is silent for so long, then comes back."""
    kept, lost, back, _ = aim.times
    if not aim.alone:
        judged = [promises.one_row(aim, seconds)]
    elif seconds <= kept:
        judged = [promises.never_lost(aim, seconds)]
    else:
        judged = [promises.kept_until_its_time(aim, min(seconds, lost))]
        judged += [promises.lost(aim, lost)] if seconds > lost + SLACK else []
    end = seconds + back
    return [*judged, promises.back(aim, seconds, back), promises.nothing_fails(end), promises.books(end)]


def _freeze(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    kept, _, back, _ = aim.times
    end = seconds + back
    if aim.kind == "worker":
        promised = _outage(aim, seconds)
    else:
        promised = [promises.others_untouched(aim, seconds + 0.5)] if seconds <= kept else []
        promised.append(promises.everybody_back(aim, seconds, back))
        promised += [promises.nothing_fails(end), promises.books(end)]
    does = f"{aim.label} is stopped for {seconds:g} s, and then goes on where it was"
    return Made(does, promised, partial(aim.scene.world.freeze, aim.seat, seconds))


def _slow(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    within = 3 * seconds + aim.times.lost
    return Made(
        f"{aim.label} answers {seconds:g} s late from now on",
        [
            promises.never_lost(aim, within),
            promises.slots_bounded(aim, within),
            promises.nothing_fails(within),
            promises.books(within),
        ],
        partial(aim.scene.order, aim.seat, Slow(seconds)),
    )


def _restart(aim: Aim) -> Made:
    back = aim.times.back
    promised = [promises.everybody_back(aim, SLACK, back), promises.books(back)]
    broker, knows = aim.scene.sight().broker, "nothing"
    if broker is not None and broker.kept is not None:
        promised, knows = [promises.kept_again(back), *promised], "what its store keeps"
    return Made(f"{aim.label} is started anew and knows {knows}", promised, partial(aim.scene.restart, aim.seat))


def _clock(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    back = aim.times.lost + aim.times.back
    home = promises.back(aim, 1.0, back) if aim.kind == "worker" else promises.everybody_back(aim, 1.0, back)
    deed = partial(aim.scene.world.skew, aim.seat, jump=seconds)
    return Made(f"the clock of {aim.label} jumps {seconds:g} s ahead", [home, promises.books(back)], deed)


# ---- links ----------------------------------------------------------------------------------------------------------


def _cut(aim: Aim) -> Made:
    (seconds,) = aim.amounts
    world, broker, back = aim.scene.world, aim.scene.server(), aim.times.back

    def deed() -> None:
        world.cut(aim.seat, broker)
        world.after(seconds, world.heal, aim.seat, broker)

    if aim.kind == "worker":
        promised = _outage(aim, seconds)
    else:
        promised = [promises.back(aim, seconds, back), promises.books(seconds + back)]
    return Made(f"nothing passes between {aim.label} and the broker for {seconds:g} s", promised, deed)


def _link(aim: Aim, link: Link, seconds: float) -> Callable[[], None]:
    world, broker = aim.scene.world, aim.scene.server()

    def deed() -> None:
        world.link(link, aim.seat, broker)
        world.after(seconds, world.link, Link(), aim.seat, broker)

    return deed


def _delay(aim: Aim) -> Made:
    delay, seconds = aim.amounts
    end = seconds + delay
    promised = [promises.nothing_fails(end), promises.books(end)]
    if aim.kind == "worker" and delay <= aim.times.kept:
        promised.insert(0, promises.never_lost(aim, end))
    does = f"every message between {aim.label} and the broker takes up to {delay:g} s, for {seconds:g} s"
    return Made(does, promised, _link(aim, Link(delay=(delay / 2, delay)), seconds))


def _noise(words: str, bad: Callable[[float], Link], aim: Aim) -> Made:
    """Single messages are lost, doubled or garbled. ZeroMQ does none of this, but protocols must survive it."""
    share, seconds = aim.amounts
    repair = aim.times.repair if aim.kind == "worker" else aim.times.back
    promised = [promises.back(aim, seconds, repair), promises.books(seconds + repair)]
    if bad(share).corrupt:
        promised.insert(0, promises.others_untouched(aim, seconds))
    does = f"of the messages between {aim.label} and the broker {share:.0%} are {words}, for {seconds:g} s"
    return Made(does, promised, _link(aim, bad(share), seconds))


# ---- peers that do not keep to the protocol -------------------------------------------------------------------------


def _twin(aim: Aim) -> Made:
    within = aim.times.lost + aim.times.back
    return Made(
        f"a second worker joins under the name of {aim.label}",
        [promises.one_row(aim, within), promises.back(aim, 1.0, within), promises.books(within)],
        partial(aim.scene.twin, aim.seat),
    )


def _hostile(which: Literal["garbage", "overcredit"], aim: Aim) -> Made:
    sandbox: Sandbox = aim.scene
    number = sum(name.startswith("rogue-") for name in sandbox.world.names) + 1
    name = f"rogue-{number}"
    aim = aim._replace(seat=name, label=name, key=name.encode())
    said = sandbox.system.garbage if which == "garbage" else sandbox.system.overclaims
    spoken = 1.0 + rogue.EVERY * len(said)
    promised = [promises.others_untouched(aim, spoken), promises.nothing_fails(spoken), promises.books(spoken)]
    if which == "garbage":
        promised.insert(0, promises.blamed(aim, len(said), spoken))
        promised.insert(1, promises.no_worker(aim, spoken))
    else:
        silent = spoken + aim.times.lost
        promised.insert(0, promises.blamed(aim, 1, spoken))
        promised += [promises.slots_bounded(aim, silent), promises.gone(aim, spoken, aim.times.lost)]
    seat = rogue.rogue([frames for _, frames in said], sandbox.endpoints[0], aim.key)
    does = f"a stranger, {name}, says: {'; '.join(words for words, _ in said)}"
    return Made(does, promised, partial(sandbox.add, name, seat))


# ---- the catalogue --------------------------------------------------------------------------------------------------

COMMON: tuple[Fault, ...] = (
    Fault("kill", "end a worker without a word", ("worker",), (), _kill),
    Fault("freeze", "stop a process for a while", ("worker", "broker"), (SECONDS,), _freeze),
    Fault("slow", "let a worker answer late", ("worker",), (Amount("seconds", 1.0, 0.0, 3.0),), _slow),
    Fault("cut", "let nothing pass for a while", ("worker", "client"), (SECONDS,), _cut),
    Fault(
        "drop",
        "lose a share of all messages",
        ("worker", "client"),
        (SHARE, SECONDS),
        partial(_noise, "lost", lambda share: Link(loss=share)),
    ),
    Fault("delay", "let messages take long", ("worker", "client"), (Amount("delay", 0.3, 0.01, 1.0), SECONDS), _delay),
    Fault(
        "duplicate",
        "let a share of all messages come twice",
        ("worker", "client"),
        (SHARE, SECONDS),
        partial(_noise, "doubled", lambda share: Link(duplicate=share)),
    ),
    Fault(
        "corrupt",
        "garble a share of all messages",
        ("worker", "client"),
        (SHARE, SECONDS),
        partial(_noise, "garbled", lambda share: Link(corrupt=share)),
    ),
    Fault("restart", "start the broker anew", ("broker",), (), _restart),
    Fault("clock", "let a monotonic clock jump", ("worker", "broker"), (Amount("seconds", 20.0, 0.1, 50.0),), _clock),
    Fault("twin", "start a second worker of the same name", ("worker",), (), _twin),
    Fault("garbage", "send the broker what is no message", (), (), partial(_hostile, "garbage")),
    Fault("overcredit", "claim more than was taken", (), (), partial(_hostile, "overcredit")),
)


def faults_for(system: System) -> tuple[Fault, ...]:
    """The faults that can be done to a system."""
    return COMMON + system.faults


def read(system: System, line: str) -> tuple[Fault, str, tuple[float, ...]]:
    """The fault, its target (empty where it has none) and all its amounts, of a line such as ``cut w3 5``.

    Raises Refused for what no sandbox of the system could do; whether the target exists is not checked.
    """
    return read_line(faults_for(system), line)


def plan(sandbox: Sandbox, line: str) -> Plan:
    """Read a line such as ``kill w3``: what it would do to this sandbox, and the promises. Raises Refused."""
    fault, target, amounts = read(sandbox.system, line)
    seat, key = _target(sandbox, fault, target) if target else ("", b"")
    label = f"the {target}" if target in ("broker", "client") else called(seat)
    made = fault.make(Aim(sandbox, seat, label, key, amounts, sandbox.system.times(sandbox.options)))
    return Plan(line_of(fault, target, amounts), made.does, tuple(made.promises), made.deed)


def targets(sandbox: Sandbox, fault: Fault) -> tuple[str, ...]:
    """The targets that a fault can have now, by the names to type."""
    found: list[str] = []
    if "broker" in fault.targets:
        found.append("broker")
    if "client" in fault.targets and "client" in sandbox.world.names:
        found.append("client")
    if "worker" in fault.targets:
        found += map(called, sandbox.workers())
    return tuple(found)


def _target(sandbox: Sandbox, fault: Fault, name: str) -> tuple[str, bytes]:
    """The seat and routing id of a target. Raises Refused where there is no such one, or not for this fault."""
    if name == "broker" and "broker" in fault.targets:
        return sandbox.server(), b""
    if name == "client" and "client" in fault.targets and "client" in sandbox.world.names:
        return "client", sandbox.key("client")
    workers = sandbox.workers() if "worker" in fault.targets else {}
    for seat, key in workers.items():
        if name in (seat, called(seat)):
            return seat, key
    known = targets(sandbox, fault)
    raise Refused(f"{fault.name}: no {name!r} that it can be done to{nearest(name, known)}; there are {_some(known)}")


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "none"
