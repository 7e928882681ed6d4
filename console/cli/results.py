"""The command ``result``: how a task ended that a broker kept, whether that broker and its client live or not."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import closing
from datetime import datetime
from typing import Any

from console.cli.common import settings_of, stored_of
from console.cli.streams import deliver, result, tell
from console.text import clean
from engine.drive.stores import NATS, path_of
from engine.drive.stores.jetstream import JetStream
from engine.drive.stores.natsstreams import place_of
from engine.drive.stores.results import Result, read
from engine.errors import Refused
from engine.labs.stored import FOLDER
from engine.parts.store import GLOBAL, Unavailable
from engine.settings.settings import Flag

NEWEST = 20  # that are listed
SHORT = 60  # bytes of an answer that is shown
PATIENCE = 3.0  # seconds until a NATS server is not there


def show(options: Namespace, flags: list[Flag]) -> int:
    """Print it. 0 where it has succeeded, 1 where it failed, has not ended or is not known."""
    settings = settings_of(flags)
    system, name = stored_of(settings)
    path = path_of(name, settings.paths.kept / FOLDER, system.name)
    where = place_of(name).shown if name.startswith(NATS) else str(path)
    try:
        found = shared(name, options.id or b"") if name.startswith(NATS) else read(path, options.id or b"", NEWEST)
    except Unavailable as why:
        raise Refused(f"{why}; --backlog and --system say which broker's is meant") from None
    if not found:
        tell(f"{where} knows no such task" if options.id else f"{where} knows no task with an id of {GLOBAL} bytes")
        return 1
    if options.json is not None:
        if not deliver(json.dumps([fields_of(one) for one in found]) + "\n", options.json):
            return 1
    else:
        result("".join(f"{words_of(one)}\n" for one in found))
    if options.id is not None and len(found) > 1:
        tell("more than one task begins so")
        return 1
    return 0 if options.id is None or is_well(found[0]) else 1


def shared(name: str, ident: bytes) -> list[Result]:
    """Of a backlog that brokers share, the one task of this id. Raises Unavailable."""
    if len(ident) != GLOBAL:
        raise Unavailable(f"of a backlog in NATS one task is shown: its id has {2 * GLOBAL} digits")
    with closing(JetStream(name, patience=PATIENCE)) as store:
        outcome = store.result(ident)
    return [] if outcome is None else [Result(ident, None, outcome)]


def is_well(one: Result) -> bool:
    """Whether it has succeeded."""
    return not isinstance(one.outcome, str) and not one.outcome.why


def fields_of(one: Result) -> dict[str, Any]:
    """In plain values; ``data`` in hexadecimal digits."""
    if isinstance(one.outcome, str):
        return {"id": one.ident.hex(), "state": "kept", "ended_at": None, "why": "", "worker": "", "data": None}
    why, data, worker = one.outcome
    return {
        "id": one.ident.hex(),
        "state": "failed" if why else "succeeded",
        "ended_at": one.at,
        "why": why,
        "worker": worker.decode("utf-8", "replace"),
        "data": None if data is None else data.hex(),
    }


def words_of(one: Result) -> str:
    """One line."""
    if isinstance(one.outcome, str) or one.at is None:
        return f"{one.ident.hex()}  has not ended"
    why, data, worker = one.outcome
    ended = f"failed: {clean(why)}" if why else "succeeded"
    answer = f", {said(data)}" if data is not None else ""
    by = f" by {clean(worker.decode('utf-8', 'replace'))}" if worker else ""
    return f"{one.ident.hex()}  {ended}{by} at {datetime.fromtimestamp(one.at):%Y-%m-%d %H:%M:%S}{answer}"


def said(data: bytes) -> str:
    """An answer: its words where it is a short text, or its length."""
    text = data.decode("ascii", "replace")
    return text if 0 < len(text) <= SHORT and text.isprintable() and text.isascii() else f"{len(data):,} bytes"
