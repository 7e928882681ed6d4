"""A line for each order: who gave it, when, from where, to whom, what it was and what came of it.

The process that carries an order out keeps the line, whoever gave it: its own console or prompt, or another process
over the socket. ``engine.labs.lab.Lab`` has every order that a lab takes pass ``audited``; those of a protocol's
clients, which reach a broker past its lab, are kept by ``engine.labs.controlsession``. ``roundhouse order`` keeps a
line as well, with the effect that it saw.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

from engine.core import Note
from engine.drive.security.users import name_of
from engine.errors import Refused
from engine.parts.bulk import BulkSpec
from engine.parts.plain import clean

SCHEMA = "roundhouse.order/1"
FILE = "orders.log"
TAIL = 1_000_000  # bytes of the end of the file that are read
HERE = "the process itself"

Giver = tuple[str, str]
"""Who gives an order, and from where."""


class _Local(threading.local):
    giver: Giver | None = None  # whose orders this thread gives; None: this process's own
    inside = False  # it carries one out, whose line is kept


_local = _Local()


class Audit:
    """Lines of JSON in a file for this user alone. ``where``: the name of the control socket of who is ordered."""

    def __init__(self, path: Path, where: str) -> None:
        self._path, self._where = path, where

    def keep(self, who: str, origin: str, what: str, came: str) -> str:
        """Append a line; why it could not be kept, in words, which undoes nothing."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"schema": SCHEMA, "at": at, "who": who, "from": origin, "where": self._where}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(self._path, flags, 0o600), "w") as file:
                file.write(json.dumps({**line, "what": what, "result": came}) + "\n")
        except OSError as error:
            return f"the order could not be kept in {self._path}: {error.strerror or error}"
        return ""

    def lines(self, most: int) -> list[dict[str, Any]]:
        """The newest lines about this socket, oldest first. Raises OSError where the file can not be read."""
        found = []
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(max(0, self._path.stat().st_size - TAIL))
            for text in file.read().splitlines():
                with suppress(ValueError):
                    line = json.loads(text)
                    if isinstance(line, dict) and line.get("where") == self._where:
                        found.append(line)
        return found[-most:]


def who() -> str:
    """The user of this process, by the uid and not by a variable that anybody may set."""
    return name_of(os.getuid())


def origin() -> str:
    """Host, process, and where from if it came over ssh."""
    came = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    return f"{os.uname().nodename}, process {os.getpid()}" + (f", ssh from {came}" if came else "")


def own() -> Giver:
    """Who gives an order by the screen or at the prompt of this process."""
    return who(), f"{origin()}, {HERE}"


def words_of(lab: Any, name: str, args: tuple[Any, ...]) -> str:
    """An order to a lab for people; a worker by its name, where it is known."""
    feed = getattr(lab, "feed", None)
    view = feed.peek("broker") if feed is not None else None
    names = {row.key: row.name for row in view.workers} if view is not None and hasattr(view, "workers") else {}

    def plain(value: object) -> str:
        if isinstance(value, bytes):
            return names.get(value) or value.decode("utf-8", "backslashreplace")
        if isinstance(value, BulkSpec):
            return f"{value.n} {value.kind}"
        if isinstance(value, tuple):
            kind = [type(value).__name__.lower()] if hasattr(value, "_fields") else []
            return " ".join(filter(None, (*kind, *map(plain, value))))
        return str(value)

    if name == "order_client":
        args = args[:1]
    word = "" if name in ("steer", "order_client") else name.replace("_", " ")
    return clean(" ".join(filter(None, (word, *map(plain, args)))))


def looks(name: str, args: tuple[Any, ...]) -> bool:
    """Whether an order to a lab changes nothing, so that no line of it is kept."""
    match name:
        case "inspect":
            return True
        case "order_client":
            return not args[1:] or not args[1]
        case "operate":
            return args[:1] == ("pair",)
    return False


@contextmanager
def given_by(giver: Giver) -> Iterator[None]:
    """What this thread orders meanwhile is somebody's."""
    before, _local.giver = _local.giver, giver
    try:
        yield
    finally:
        _local.giver = before


def audited(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a lab that carries out the order of this name, with a line of it where the lab keeps any.

    What an order gives in turn, to carry itself out, is no order of its own.
    """

    @wraps(method)
    def order(self: Any, *args: Any, **fields: Any) -> Any:
        given = (*args, *fields.values())
        if self.audit is None or _local.inside or looks(name, given):
            return method(self, *args, **fields)
        giver = _local.giver or own()
        _local.inside = True
        try:
            return noted(self, self.audit, giver, words_of(self, name, given), lambda: method(self, *args, **fields))
        finally:
            _local.inside = False

    return order


def noted(lab: Any, audit: Audit | None, giver: Giver, what: str, act: Callable[[], Any]) -> Any:
    """Carry an order out, and keep its line."""
    came = "done"
    try:
        words = act()
        came = f"done: {words}" if isinstance(words, str) and words else came
        return words
    except Refused as refusal:
        came = f"refused: {refusal}"
        raise
    except Exception as error:
        came = f"failed: {type(error).__name__}: {error}"
        raise
    finally:
        keep(lab, audit, giver, what, came)


def keep(lab: Any, audit: Audit | None, giver: Giver, what: str, came: str) -> None:
    """Keep the line of an order; that it can not be kept is an event."""
    if audit is not None and (trouble := audit.keep(*giver, what, came)):
        lab.feed.fact(Note("bad", trouble), "control", time.time())
