"""What a worker offers, and what runs each service: chosen by whoever starts the worker, never by a message."""

from __future__ import annotations

import re
import shlex

from engine.protocols.negotiated import messages as wire

BUILT_IN = ("ping", "data")
"""Those that a worker answers itself, unless a command is named for them."""

_COMMA = re.compile(r"(?<!\\),")


def offered(text: str) -> dict[str, tuple[str, ...]]:
    """Names of services in order, each with the words of the command that runs it; no words where nothing does.

    ``NAME`` or ``NAME=COMMAND``, separated by commas; a comma of a command is written ``\\,``. The command is words,
    for no shell; one word ``module:function`` or ``/whole/path/file.py:function`` is a Python function from bytes to
    bytes. Raises ValueError where that can not be read.
    """
    found: dict[str, tuple[str, ...]] = {}
    for part in filter(None, map(str.strip, _COMMA.split(text))):
        name, equals, command = part.partition("=")
        words = tuple(shlex.split(command.replace("\\,", ",")))
        if equals and not words:
            raise ValueError(f"{name.strip()}: no command behind =")
        found[name.strip()] = words
    if not found or wire.services(list(found)) is None:
        raise ValueError("names of services, separated by commas, each with =COMMAND where one runs it")
    return found


def idle(services: dict[str, tuple[str, ...]]) -> list[str]:
    """Those that nothing runs."""
    return [name for name, words in services.items() if not words and name not in BUILT_IN]
