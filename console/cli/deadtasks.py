"""The command ``tasks``: what a broker's store has of tasks that died, and trying them again.

They are read from the file, whether a broker has it or not. To try them again a broker that has it is asked over its
control socket; where none has it, the file is written, and the next broker does them. Those of a backlog that brokers
share are read and tried again in NATS itself, whether its brokers are on this machine or not.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from console.cli.asking import ask
from console.cli.common import settings_of, stored_of
from console.cli.results import PATIENCE
from console.cli.signals import Signals
from console.cli.streams import deliver, result, tell
from console.text import clean
from engine.core import Store
from engine.drive.control.found import running
from engine.drive.stores import NATS, SQLITE, opened, path_of
from engine.drive.stores.dead import Dead, listed
from engine.drive.stores.jetstream import JetStream
from engine.errors import Refused
from engine.labs.controlsession import packed
from engine.labs.shared import codec_of
from engine.labs.stored import FOLDER
from engine.parts.explain import show, task_name
from engine.parts.plain import several
from engine.parts.store import Unavailable
from engine.settings.settings import Flag, Settings
from engine.system import System

NEWEST = 100  # that are listed
AT_ONCE = 1000  # of one order
STEP = 0.1  # seconds between two looks
LOOKS = 100  # of them until they are seen to wait again


def tasks(options: Namespace, flags: list[Flag]) -> int:
    """List, show or revive them. 0 where all that were named were there. Raises Refused, Wrong."""
    settings = settings_of(flags)
    system, name = stored_of(settings)
    path = path_of(name, settings.paths.kept / FOLDER, system.name)
    try:
        if name.startswith(NATS):
            with closing(JetStream(name, patience=PATIENCE)) as store:
                return _ordered(system, options, store.name, store.dead(), partial(_revive_shared, store))
        return _ordered(system, options, str(path), listed(path), partial(revive, settings, system, path))
    except Unavailable as why:
        raise Refused(f"{why}; --backlog and --system say which broker's is meant") from None


def _ordered(
    system: System, options: Namespace, where: str, found: list[Dead], revived: Callable[[list[int]], bool]
) -> int:
    """What is asked of those that are ``found``."""
    if options.order == "dead":
        return _list(system, found, options)
    wanted = [one.number for one in found] if options.all else options.numbers
    known = [one for one in found if one.number in wanted]
    if strange := sorted({*wanted} - {one.number for one in known}):
        tell(f"{where} has no dead task {', '.join(map(str, strange))}")
    if options.order == "show":
        result("".join(whole(system, one) for one in known))
        return 0 if known and not strange else 1
    done = not known or revived([one.number for one in known])
    return 0 if done and not strange else 1


def _list(system: System, found: Sequence[Dead], options: Namespace) -> int:
    if options.json is not None:
        return 0 if deliver(json.dumps([fields_of(one) for one in found]) + "\n", options.json) else 1
    result("".join(f"{words_of(system, one)}\n" for one in found[:NEWEST]))
    tell(several(len(found), "dead task") + (f", the newest {NEWEST} are listed" if len(found) > NEWEST else ""))
    return 0


# ---- trying them again -----------------------------------------------------------------------------------------------


def revive(settings: Settings, system: System, path: Path, numbers: Sequence[int]) -> bool:
    """Have these tried again; whether they are dead no longer. Raises Refused where nobody could be asked."""
    try:
        with closing(opened(f"{SQLITE}{path}", path.parent, system.name)) as store:
            revived = store.perform([Store(1, [], [], [], 0, tuple(numbers))])[0].revived
            result(f"{several(revived, 'task')} wait for the next broker with {path}\n")
            return revived == len(numbers)
    except Unavailable as why:
        where = _order(settings, system, path, numbers, str(why))
    with Signals() as signals:
        for _ in range(LOOKS):
            if not {one.number for one in listed(path)} & {*numbers}:
                result(f"{several(len(numbers), 'task')} wait again at {clean(where)}\n")
                return True
            if signals.wait(STEP):
                break
    tell(f"{clean(where)} was asked, and they are dead still: its events say why")
    return False


def _revive_shared(store: JetStream, numbers: Sequence[int]) -> bool:
    """Whether all wait again at the brokers that share it. Raises Unavailable."""
    revived = store.perform([Store(1, [], [], [], 0, tuple(numbers))])[0].revived
    result(f"{several(revived, 'task')} wait again in {clean(store.name)}\n")
    return revived == len(numbers)


def _order(settings: Settings, system: System, path: Path, numbers: Sequence[int], why: str) -> str:
    """Ask whoever runs here and has the file; its name."""
    refusals = []
    for found in running(settings.paths.control):
        if found.system != system.name or found.role not in ("broker", "console"):
            continue
        try:
            for at in range(0, len(numbers), AT_ONCE):
                some = tuple(numbers[at : at + AT_ONCE])
                args = packed(codec_of(system), (f"{SQLITE}{path}", some))
                ask(found.path, "order", Name="revive", Args=args)
        except Refused as refusal:
            refusals.append(str(refusal))
            continue
        return found.name
    raise Refused("; ".join([f"{why}, and no process of this user that runs here has it", *refusals]))


# ---- words -----------------------------------------------------------------------------------------------------------


def fields_of(one: Dead) -> dict[str, Any]:
    """In plain values; bytes in hexadecimal digits."""
    return {
        "number": one.number,
        "died_at": one.at,
        "why": one.why,
        "client": one.client.hex(),
        "id": one.message[1].hex() if one.message else None,
        "message": [frame.hex() for frame in one.message],
        "brokers_lost": one.leases,
        "workers_lost": one.lost,
    }


def words_of(system: System, one: Dead) -> str:
    """One line."""
    what = system.named(one.message)
    if not what:
        ident = task_name(one.message[1]) if one.message else "not what was written"
        what = f"{ident} of {show(one.client)}"
    return f"{one.number:>6}  {moment(one.at)}  {clean(one.why):<14}  {clean(what, 400)}"


def whole(system: System, one: Dead) -> str:
    """All of it, in lines."""
    frames = "".join(f"  frame {number}: {clean(show(frame, 200))}\n" for number, frame in enumerate(one.message, 1))
    lost = f"  before its last try {one.lost} workers and {one.leases} brokers were lost while they had it\n"
    return f"{words_of(system, one)}\n{lost}{frames}"


def moment(at: float) -> str:
    """A time for people."""
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S}"
