"""Pools of workers as they are typed: ``bulk [N] [--slots N] [--name POOL] [--transport inproc|tcp]``. Pure."""

from __future__ import annotations

from typing import NamedTuple

from console.text import clean
from engine.parts.limits import MAX_SLOTS

BULK = 10  # workers in all, where no number is typed
LIMIT = 20_000  # workers that a process takes
TRANSPORTS = ("inproc", "tcp")

OPTIONS = ("--slots", "--name", "--transport")


class Wanted(NamedTuple):
    """What was typed; its fields are the arguments of ``bulk``."""

    workers: int = BULK
    pool: str = ""
    slots: int | None = None
    transport: str = ""


def read(text: str) -> Wanted:
    """Read what follows the word ``bulk``. Raises ValueError, with words for who typed it."""
    given: dict[str, str] = {}
    plain: list[str] = []
    words = iter(text.split())
    for word in words:
        option, equals, value = word.partition("=")
        if not option.startswith("--"):
            plain.append(word)
        elif option not in OPTIONS:
            raise ValueError(f"bulk has no {clean(option)!r}; it takes {', '.join(OPTIONS)}")
        else:
            given[option] = value if equals else next(words, "")
    if len(plain) > 1:
        raise ValueError(f"bulk takes one number of workers, got {clean(' '.join(plain))!r}")
    transport = given.get("--transport", "")
    if "--transport" in given and transport not in TRANSPORTS:
        raise ValueError(f"--transport is {' or '.join(TRANSPORTS)}, got {clean(transport)!r}")
    return Wanted(
        _whole("bulk needs a number", plain[0], LIMIT) if plain else BULK,
        given.get("--name", ""),
        _whole("--slots needs a number", given["--slots"], MAX_SLOTS) if "--slots" in given else None,
        transport,
    )


def _whole(what: str, text: str, most: int) -> int:
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and 1 <= int(digits[:12]) <= most):
        raise ValueError(f"{what} from 1 to {most:,}, got {clean(text)!r}")
    return int(digits)
