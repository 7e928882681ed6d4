"""Makes outside text safe to show: names, ids and bytes, cut and padded to cells.

All of it goes through the one sanitiser, ``engine.parts.plain``.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from engine.parts.plain import LIMIT as LIMIT
from engine.parts.plain import MARK as MARK
from engine.parts.plain import clean as clean
from engine.parts.plain import clean_lines as clean_lines


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
