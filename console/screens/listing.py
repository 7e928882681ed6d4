"""Lines for pages: the help, and the seed's worker list."""

from __future__ import annotations

from collections.abc import Sequence

from textual.keys import format_key

from console import keys, units
from console.commands import WORDS, Word
from console.pictures.bridge import Picture
from console.text import fit, label
from console.widgets.ink import Parts
from console.widgets.workers import STATES

COLUMN = 20  # cells for a key or a command; the longest one fits
Groups = Sequence[tuple[str, tuple[keys.Key, ...]]]

GROUPS: Groups = (
    ("anywhere", (*keys.APP, *keys.SYSTEM)),
    ("main screen", keys.MAIN),
    ("clients, backlog, charts", (*keys.WAITS, *keys.TENDS, *keys.SPAN, *keys.CHART)),
    ("all events", keys.EVENTS),
    ("alerts", keys.ALERTS),
    ("kept runs", keys.KEPT),
    ("table", keys.TABLE),
    ("the protocol made visible", keys.SEE),
    ("trace and ladder", keys.MESSAGES),
    ("sandbox", (*keys.STEP, *keys.EXPLORE)),
    ("recording", keys.REPLAY),
    ("protocol screen of jobs", keys.JOBS),
    ("tasks of a job", keys.TASKS),
    ("protocol screen of a pair of brokers", keys.PAIR),
)


def signs(keys: str) -> str:
    """Keys as the key bar writes them: ctrl+k is ^k."""
    return " ".join(format_key(one).replace("ctrl+", "^") for one in keys.split(","))


def key_lines(shown: dict[str, str], groups: Groups) -> list[Parts]:
    """Every key of these groups, and that of the palette, which every console has."""
    lines: list[Parts] = []
    for title, group in groups:
        lines += [[], [(title, "accent bold")]]
        for key in group:
            name = shown.get(key.id) or signs(key.keys)
            lines.append([("  " + fit(name, COLUMN), "text bold"), (key.help, "label")])
    return [
        *lines,
        [("  " + fit(signs("ctrl+p"), COLUMN), "text bold"), ("the palette: search for what to do", "label")],
    ]


def help_lines(shown: dict[str, str], groups: Groups = GROUPS, words: Sequence[Word] = WORDS) -> list[Parts]:
    """The help: all keys and commands. ``shown``: key id → its keys as they are now, remapped or not."""
    lines = key_lines(shown, groups)
    lines += [[], [("words, after :", "accent bold")]]
    for word in words:
        typed = f"{word.name} {word.usage}"
        lines.append([("  " + fit(typed, max(COLUMN, len(typed) + 1)), "text bold"), (word.help, "label")])
    lines += [[], [("states", "accent bold")]]
    meanings = {
        "ready": "has free slots",
        "busy": "no free slot",
        "late": "a heartbeat is overdue",
        "silent": "quiet, but known to work",
        "lost": "expired; what it held was given to others",
        "drain": "leaving: gets nothing new",
    }
    for state, (glyph, ink) in STATES.items():
        lines.append([(f"  {glyph} {fit(state, COLUMN - 2)}", ink), (meanings[state], "label")])
    return lines[1:]


def worker_list(picture: Picture) -> list[Parts]:
    """The seed's ``workers``: every registered worker, its address and its free slots, in the broker's order.

    Least recently used first; the next one and the last one of the broker's order are marked.
    """
    lines: list[Parts] = [[(f"{units.several(len(picture.rows), 'worker')} in the table", "text bold")], []]
    lines.append(
        [
            (fit("free slots", 13), "label"),
            (fit("state", 10), "label"),
            (fit("order", 7), "label"),
            ("address", "label"),
        ]
    )
    for row in sorted(picture.rows, key=lambda row: row.place or len(picture.rows) + 1):
        worker = row.worker
        glyph, ink = STATES[worker.state]
        free = f"{worker.free:>4} of {worker.slots:<4}"
        turn = (fit("next" if row.place == 1 else str(row.place or ""), 7), "good" if row.place == 1 else "label")
        cells = [(fit(free, 13), "text"), (fit(f"{glyph} {worker.state}", 10), ink), turn]
        lines.append([*cells, (label(worker.key), "text")])
    return lines
