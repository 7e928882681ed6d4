"""A line for each order: who gave it, when, from where, to whom, what it was and what came of it.

The process that carries an order out keeps the line, whoever gave it: a console, or another process over the socket.
``roundhouse order`` keeps one as well, with the effect that it saw.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.core import Note
from engine.drive.security.users import name_of
from engine.errors import Refused
from engine.labs.carried import ORDERS
from engine.parts.bulk import BulkSpec
from engine.parts.plain import clean

SCHEMA = "roundhouse.order/1"
FILE = "orders.log"
TAIL = 1_000_000  # bytes of the end of the file that are read
SILENT = ("inspect", "order_client")  # orders that are no events: who looks at what, and what clients tell themselves
HERE = "this console"


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
            return " ".join((*kind, *map(plain, value)))
        return str(value)

    return clean(" ".join(filter(None, (name.replace("_", " ") if name != "steer" else "", *map(plain, args)))))


class Noted:
    """A lab of a console that keeps a line of each order that it is given. ``names``: the methods that are orders."""

    def __init__(self, lab: Any, audit: Audit, names: frozenset[str]) -> None:
        self._lab, self._audit, self._names = lab, audit, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._lab, name)
        if name not in self._names or name in SILENT:
            return found

        def order(*args: Any, **fields: Any) -> Any:
            what = words_of(self._lab, name, (*args, *fields.values()))
            return noted(self._lab, self._audit, (who(), f"{origin()}, {HERE}"), what, lambda: found(*args, **fields))

        return order


def to_be_noted(lab: Any) -> Any:
    """The lab, or what keeps a line of each order to it, where lines are kept."""
    return lab if lab.audit is None else Noted(lab, lab.audit, frozenset(ORDERS[lab.system.kind]))


def noted(lab: Any, audit: Audit | None, giver: tuple[str, str], what: str, act: Callable[[], Any]) -> Any:
    """Carry an order out, and keep its line. ``giver``: who, and from where."""
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
        if audit is not None and (trouble := audit.keep(*giver, what, came)):
            lab.feed.fact(Note("bad", trouble), "control", time.time())
