"""The one sanitiser for anything that came from outside.

The rules of this file:

- What leaves ``clean`` is one line of printable characters, each one or two cells wide. Nothing in it can steer a
  terminal (ESC, OSC, C1), reorder what is read (bidi), hide (zero width, fillers) or stack (combining marks).
- A character that may not be shown becomes ``MARK``, never nothing: two different names must not look the same.
- Markup is not escaped but never parsed: whoever draws uses segments, ``Content`` or ``markup=False``.
"""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, set_cell_size

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


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    return MARK if category in _HIDDEN or character in _BLANK else character


def label(name: bytes | str) -> str:
    """A name, a routing id or an id for people: text where it is text, else its bytes in hex."""
    if isinstance(name, str):
        return clean(name)
    try:
        text = name.decode()
    except UnicodeDecodeError:
        return name[:LIMIT].hex()
    return clean(text) if text and text.isprintable() else name[:LIMIT].hex()


def true_bytes(name: bytes) -> str:
    """Every byte as it is, in hex, in groups of four from the left."""
    return name.hex(" ", -4) or "(empty)"


def width(text: str) -> int:
    """Terminal cells that clean text takes."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int, right: bool = False) -> str:
    """Clean text cut with an ellipsis or padded to exactly ``cells``; ``right``: padded in front."""
    taken = width(text)
    if taken > cells:
        text, taken = (set_cell_size(text, cells - 1) + "…", cells) if cells > 0 else ("", 0)
    padding = " " * (cells - taken)
    return padding + text if right else text + padding


def fit_tail(text: str, cells: int) -> str:
    """As ``fit``, but what is cut is the front: routing ids differ at their ends."""
    if width(text) <= cells:
        return fit(text, cells)
    while width(text) > max(0, cells - 1):
        text = text[1:]
    return fit("…" + text, cells) if cells > 0 else ""
