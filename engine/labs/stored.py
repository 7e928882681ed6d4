"""The store of a lab's broker, where its settings name one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from secrets import token_bytes
from typing import Any

from engine.core import Note
from engine.drive.stores import NATS, SQLITE, opened, path_of
from engine.drive.stores.writer import Writer
from engine.errors import Refused
from engine.parts.bulk import BulkSpec
from engine.parts.store import GLOBAL, Unavailable
from engine.system import System, store_of

FOLDER = "backlog"  # in the folder of what is kept
NUMBER = 4  # bytes of a task's number within its run


def keeper_of(system: System, options: Any, state: Path | None, say: Callable[[Note], None]) -> Writer | None:
    """What does the ``Store`` commands of a broker with these settings, not started; None where it gives none.

    ``state``: the folder of what is kept. Raises Refused where the store can not be used.
    """
    name = store_of(system, options)
    if not name:
        return None
    try:
        store = opened(name, (state or Path()) / FOLDER, system.name)
    except Unavailable as why:
        raise Refused(f"the backlog can not be kept: {why}") from None
    if store.trouble:
        say(Note("bad", store.trouble))
    return Writer(store)


def place_of(system: System, options: Any, state: Path | None) -> str:
    """Where that is, written in full and without a password: ``sqlite:PATH``; empty where nothing is kept."""
    name = store_of(system, options)
    if name.startswith(NATS):
        from engine.drive.stores import natsstreams  # with asyncio: only who has one waits for it

        return natsstreams.place_of(name).shown
    if not name.startswith(SQLITE):
        return name
    return f"{SQLITE}{path_of(name, (state or Path()) / FOLDER, system.name)}"


def tagged(system: System, options: Any, spec: BulkSpec) -> BulkSpec:
    """A run whose tasks have ids that are nobody else's, where a broker with these settings would know them again."""
    return spec._replace(tag=token_bytes(GLOBAL - NUMBER)) if store_of(system, options) else spec
