"""File names and what they say about an item; the only place that knows a suffix.

The rules of this file:

- A name is parsed from the right: an id may hold dots, and may even end in what looks like a suffix.
- Parsing is total: an ``Item``, or the reason why a name that claims to be an item is none, or None for a file that
  is no business of the queue.
- A driver's number stays text: ``x.03.working`` belongs to driver ``03``, which is not driver ``3``.
- What we add beside the seed's names starts with a dot or ends in ``.input``; no other program takes it for an item.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

State = Literal["ready", "working", "writing", "failed", "failed_twice", "kept"]
"""ready, failed: may be taken · working, writing: locked by a driver · failed_twice: given up (an empty marker) ·
kept: the input of a document that was given up."""

MAX_ID = 200  # bytes; with the longest suffix and number a name stays below the 255 that file systems allow
MAX_NUMBER = 9  # digits

DONE = "done"
"""Present in a queue: nothing more will come."""

_SUFFIXES: tuple[tuple[str, State], ...] = (
    (".ready", "ready"),
    (".working", "working"),
    (".writing.xml", "writing"),
    (".failed", "failed"),
    (".failed_twice", "failed_twice"),
    (".failed_twice.input", "kept"),
)
_LIVE = frozenset({"ready", "working", "writing", "failed"})
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_CONTROL = re.compile(r"[\x00-\x1f\x7f/]")


class Item(NamedTuple):
    """What one file name says."""

    id: str
    state: State
    number: str = ""  # of the driver that holds it; only where it is working or writing

    @property
    def live(self) -> bool:
        """Whether a queue that holds this file still has something to do."""
        return self.state in _LIVE


def number(text: str) -> bool:
    """Whether this is a driver's number: 1 to 9 ASCII digits."""
    return _NUMBER.match(text) is not None


def why_not(id: str) -> str:
    """The reason why this cannot be a document's id, or the empty string."""
    if not id:
        return "no id"
    if id.startswith("."):
        return "id starts with a dot"
    if _CONTROL.search(id):
        return "control character or slash in id"
    if len(id.encode("utf-8", "surrogateescape")) > MAX_ID:
        return f"id longer than {MAX_ID} bytes"
    return ""


def parse(name: str) -> Item | str | None:
    """An item, the reason why a name with an item's suffix is none, or None for any other file."""
    if ours(name):
        return None
    for suffix, state in _SUFFIXES:
        if not name.endswith(suffix):
            continue
        id, holder = name[: -len(suffix)], ""
        if state in ("working", "writing"):
            id, _, holder = id.rpartition(".")
            if not number(holder):
                return "no driver number"
        return why_not(id) or Item(id, state, holder)
    return None


# ---- the seed's names ---------------------------------------------------------------------------------------------


def ready(id: str) -> str:
    """Ready to be taken."""
    return f"{id}.ready"


def working(id: str, number: str) -> str:
    """The input that driver ``number`` works on."""
    return f"{id}.{number}.working"


def writing(id: str, number: str) -> str:
    """The output that driver ``number`` writes and has not published yet."""
    return f"{id}.{number}.writing.xml"


def failed(id: str) -> str:
    """Failed once; waits for its second attempt."""
    return f"{id}.failed"


def failed_twice(id: str) -> str:
    """Given up: an empty marker."""
    return f"{id}.failed_twice"


# ---- ours, beside them --------------------------------------------------------------------------------------------


def ours(name: str) -> bool:
    """Whether this is a file of ours that is no item: a lock, a record of attempts, a promise to publish."""
    return name.startswith(".") and name.endswith((".lock", ".attempts", ".publishing"))


def kept(id: str) -> str:
    """The input of a document that was given up, beside its marker (ruling 3)."""
    return f"{id}.failed_twice.input"


def attempts(id: str) -> str:
    """Which attempts began and how they failed (ruling 1); there is none for a document that never failed."""
    return f".{id}.attempts"


def record_of(name: str) -> str | None:
    """The id whose record of attempts has this name."""
    if name.startswith(".") and name.endswith(".attempts"):
        return name[1 : -len(".attempts")]
    return None


def publishing(id: str, number: str) -> str:
    """Driver ``number`` has the complete output on disk: from here on the document counts as published."""
    return f".{id}.{number}.publishing"


def published_by(name: str, number: str) -> str | None:
    """The id of a document whose ``publishing`` file of driver ``number`` has this name."""
    suffix = f".{number}.publishing"
    if name.startswith(".") and name.endswith(suffix) and len(name) > len(suffix) + 1:
        return name[1 : -len(suffix)]
    return None


def working_lock(number: str) -> str:
    """Held by a driver that takes from this queue under ``number`` for as long as it lives (ruling 5)."""
    return f".{number}.working.lock"


def locked_by(name: str) -> str | None:
    """The number in the name of a ``working_lock``."""
    if name.startswith(".") and name.endswith(".working.lock"):
        holder = name[1 : -len(".working.lock")]
        return holder if number(holder) else None
    return None


def writing_lock(number: str) -> str:
    """Held by a driver that publishes into this queue under ``number`` for as long as it lives."""
    return f".{number}.writing.lock"


_FREE = {"ready": ready, "failed": failed, "failed_twice": failed_twice, "kept": kept}


def of(state: str, id: str) -> str:
    """The name of a document that no driver holds, by its state."""
    return _FREE[state](id)
