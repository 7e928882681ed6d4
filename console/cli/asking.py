"""Asks a running process for its status, over its control socket."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from console.text import clean
from engine.drive.control.caller import Line, check
from engine.drive.control.dial import Far, Place
from engine.drive.control.found import Found, answering, beyond, running
from engine.drive.control.place import place
from engine.drive.control.wire import Message
from engine.errors import Refused
from engine.labs.status import SCHEMA

STEP = 0.1  # seconds between two looks
PATIENCE = 5.0  # seconds that those who run here may take to say who they are
NAME = re.compile(r"[\w.-]+")


def chosen(
    folder: Path,
    text: str | None,
    far: Callable[[str], Far] | None = None,
    fleet: Mapping[str, Callable[[], Place]] = MappingProxyType({}),
) -> Place:
    """The control socket of a process, by its endpoint or its name; without one of the only process that runs.

    ``far``: makes of an endpoint a control socket over tcp, where we have a key. ``fleet``: by name, what tells those
    of the configuration. Raises Refused where there is none, or several.
    """
    path: Place
    if text is not None and text in fleet:
        return fleet[text]()
    if text is not None and text.startswith("tcp://") and far is not None and not place(folder, text).is_socket():
        return far(text)
    if text is not None and "://" in text:
        path = Path(text.removeprefix("ipc://"))
        path = path if text.startswith("ipc://") and path.is_socket() and path.parent == folder else place(folder, text)
    elif text is not None:
        if not NAME.fullmatch(text):
            raise Refused(f"{clean(text)}: expected an endpoint, or a name as roundhouse attach lists them")
        path = folder / text
    else:
        path = only(running(folder, PATIENCE)).path
    check(path, text or path.name)
    return path


def met(
    folder: Path,
    text: str,
    far: Callable[[str], Far] | None = None,
    fleet: Mapping[str, Callable[[], Place]] = MappingProxyType({}),
) -> Found:
    """The process there. Raises Refused where none is there, or it does not answer."""
    path = chosen(folder, text, far, fleet)
    if not isinstance(path, Path):
        return beyond(path)
    found = answering([path], PATIENCE)
    if not found:
        raise Refused(f"{path.name} does not answer")
    return found[0]


def only(found: list[Found]) -> Found:
    """The one that runs. Raises Refused where that is not exactly one."""
    if not found:
        raise Refused("nothing of roundhouse runs here as this user; name an endpoint, or start a broker")
    if len(found) > 1:
        names = ", ".join(clean(one.name) for one in found)
        raise Refused(f"{len(found)} processes run here, name one: {names}")
    return found[0]


def ask(path: Place, word: str, **fields: Any) -> Message:
    """The answer to a word. Raises Refused where none comes, or where it is a refusal."""
    with Line(path) as line:
        number = line.ask(word, **fields)
        while line.linked and not line.trouble:
            for said in line.hear(STEP):
                if isinstance(said, str):
                    raise Refused(f"{path.name}: {said}")
                if said.id == number:
                    if said.word == "refused":
                        raise Refused(f"{path.name}: {clean(str(said.fields.get('Why')))}")
                    return said
    raise Refused(line.trouble or f"{path.name} does not answer")


def status_at(path: Place) -> dict[str, Any]:
    """The status of a process. Raises Refused where it gives none that can be read."""
    said = ask(path, "status")
    try:
        status: Any = json.loads(said.fields["Status"])
    except (KeyError, TypeError, ValueError, RecursionError):
        status = None
    if not isinstance(status, dict) or status.get("schema") != SCHEMA:
        raise Refused(f"{path.name} answers what can not be read: use one version of roundhouse on both sides")
    return status
