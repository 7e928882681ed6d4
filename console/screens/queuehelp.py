"""The help of the console of disk queues."""

from __future__ import annotations

import re

from console import keys
from console.commands import QUEUE_WORDS
from console.screens.listing import key_lines, signs
from console.text import fit
from console.widgets import documents, queuestrip
from console.widgets.ink import Parts

DOCUMENTS = {
    "failed twice": "given up; its input is kept, {document.retry} tries it again",
    "failed": "failed once, waits for its second attempt",
    "working": "a driver has it",
    "published": "this stage is done with it",
    "returned": "given back before it was done",
    "ready": "waits for a driver",
}
QUIT = "leave; the drivers finish their documents, as far as that takes no second"
MESSAGES = {
    "message": "the chosen operation: its names, its times, the rule",
    "follow": "the life of the chosen operation's document, with the time of each leg",
    "filter": 'operations that fit: driver=parse.1 cmd=TAKE document=doc-12* violation "text" !term',
    "pause": "hold the list; the pipeline goes on",
    "why": "in a recording: why the driver took this document",
}
STAGES = {
    "running": "kept at its number of drivers",
    "paused": "has no drivers until {stage.pause}",
    "stopped": "its drivers can not start; {stage.pause} tries again",
    "done": "nothing is left, and nothing will come",
}

Groups = tuple[tuple[str, tuple[keys.Key, ...]], ...]
_KEYS = {key.id: key.keys for key in keys.QUEUES}

_ANYWHERE = tuple(key._replace(help=QUIT) if key.id == "quit" else key for key in (*keys.APP, *keys.SYSTEM))
PIPELINE: Groups = (("anywhere", _ANYWHERE), ("pipeline", keys.QUEUES))


def _named(text: str, shown: dict[str, str]) -> str:
    """A text with the keys in place of their ids in braces, as they are now."""

    def sign(found: re.Match[str]) -> str:
        return shown.get(found[1]) or signs(_KEYS[found[1]])

    return re.sub(r"\{([a-z.]+)\}", sign, text)


def help_lines(shown: dict[str, str], own: Groups = PIPELINE) -> list[Parts]:
    """Every key and every state. ``shown``: key id → its keys as they are now, remapped or not.

    ``own``: the keys that are valid everywhere, and those of the first screen.
    """
    messages = tuple(key._replace(help=MESSAGES.get(key.id, key.help)) for key in keys.MESSAGES)
    groups = (
        *own,
        ("tables", keys.TABLE),
        ("all events", keys.EVENTS),
        ("the protocol made visible", keys.SEE_QUEUES),
        ("trace and ladder", messages),
        ("sandbox", keys.STEP_QUEUES),
    )
    lines = key_lines(shown, groups)
    lines += [[], [("words, after :", "accent bold")]]
    lines += [
        [("  " + fit(f"{word.name} {word.usage}", 18), "text bold"), (word.help, "label")] for word in QUEUE_WORDS
    ]
    lines += [[], [("documents", "accent bold")]]
    for state, (glyph, ink) in documents.STATES.items():
        lines.append([(f"  {glyph} {fit(state, 16)}", ink), (_named(DOCUMENTS[state], shown), "label")])
    lines += [[], [("stages", "accent bold")]]
    for word, (glyph, ink) in queuestrip.STATES.items():
        lines.append([(f"  {glyph} {fit(word, 16)}", ink), (_named(STAGES[word], shown), "label")])
    return lines[1:]
