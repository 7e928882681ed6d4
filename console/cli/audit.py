"""A line for each order that was given from the command line: who, when, from where, to whom, what, what came of it."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

from console.cli.streams import now, tell

SCHEMA = "roundhouse.order/1"


def audit(path: Path, where: str, what: str, came: str) -> None:
    """Append it, as JSON, for this user alone; that it can not be kept is told, and undoes nothing."""
    line = {"schema": SCHEMA, "at": now(), "who": who(), "from": origin(), "where": where, "what": what, "result": came}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        into = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(into, "w") as file:
            file.write(json.dumps(line) + "\n")
    except OSError as error:
        tell(f"the order could not be kept in {path}: {error.strerror or error}")


def who() -> str:
    """The user, by the uid and not by a variable that anybody may set."""
    uid = os.getuid()
    try:
        return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return str(uid)


def origin() -> str:
    """Host, process, and where from if it came over ssh."""
    came = os.environ.get("SSH_CONNECTION", "").split(" ")[0]
    return f"{os.uname().nodename}, process {os.getpid()}" + (f", ssh from {came}" if came else "")
