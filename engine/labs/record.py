"""A journal that is begun for somebody who asked for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.errors import Refused
from engine.journal.write import Journal, Say
from engine.system import QueueSystem, System


def begin(path: Path, system: System | QueueSystem, options: Any, say: Say) -> Journal:
    """A journal in a new file; raises Refused, in words for the operator, where there can be none."""
    try:
        return Journal(path, system, options, say)
    except FileExistsError:
        raise Refused(f"no journal can be written to {path}: it exists; name a new file") from None
    except OSError as error:
        raise Refused(f"no journal can be written to {path}: {error.strerror or error}") from None
