"""The one sanitiser for text that came from outside and is shown to a person.

The rules of this file:

- What leaves ``clean`` is one line of printable characters, each one or two cells wide. Nothing in it can steer a
  terminal (ESC, OSC, C1), reorder what is read (bidi), hide (zero width, fillers) or stack (combining marks).
- A character that may not be shown becomes ``MARK``, never nothing: two different names must not look the same.
- Markup is not escaped but never parsed: whoever draws uses segments, ``Content`` or ``markup=False``.
"""

from __future__ import annotations

import unicodedata

MARK = "·"
LIMIT = 1000  # characters looked at: names and reasons come from peers, and are drawn four times a second

_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u00ad\u034f\u180b\u180c\u180d\u180e\u17b4\u17b5")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"})


def clean(text: str, limit: int = LIMIT) -> str:
    """``text`` as it may be shown; cut to ``limit`` characters."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, unicodedata.normalize("NFC", text)))


def several(n: int, one: str, more: str = "") -> str:
    """``1 time``, ``1,284 times``; ``more``: of what does not end in s."""
    return f"{n:,} {one if n == 1 else more or one + 's'}"


def called(seat: str) -> str:
    """A seat as people call it: worker-3 is w3."""
    number = seat.removeprefix("worker-")
    return f"w{number}" if number != seat and number.isdecimal() else seat


def clean_lines(text: str) -> str:
    """Text of several lines as it may be shown, each whole; only ``\\n`` ends one."""
    return "\n".join(clean(line, len(line) + 1) for line in text.split("\n"))


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    return MARK if category in _HIDDEN or character in _BLANK else character
