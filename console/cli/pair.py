"""The command ``pair``: which of two brokers serves, and an operator's word to one of them."""

from __future__ import annotations

from argparse import Namespace

from console.cli.common import broker_of, settings_of
from console.cli.streams import result, tell
from console.text import clean
from engine.catalogue import PAIRS, SYSTEMS
from engine.labs.operated import Declined, ask_broker, word_of
from engine.settings.settings import Flag
from engine.settings.tomlfile import Problem, Wrong

WORDS = {"show": "pair", "back": "back", "serve": "serve"}
"""What is typed → the word of the control socket."""


def pair(options: Namespace, flags: list[Flag]) -> int:
    """Print the answer; 1 where the broker refuses. Raises ``engine.errors.Refused`` where there is no such broker."""
    asked = {flag.name: flag.text for flag in flags if flag.place == ("system",)}
    for name, text in asked.items():
        if text not in PAIRS:
            raise Wrong([Problem(name, f"pairs are those of {' or '.join(PAIRS)}, not of {clean(text)}")])
    system = next(iter(asked.values()), PAIRS[0])
    settings = settings_of([*flags, Flag(("system",), "--system", system)])
    endpoint = options.connect or broker_of(settings)
    try:
        answer = ask_broker(settings.paths.control, endpoint, *word_of(SYSTEMS[system], WORDS[options.order]))
    except Declined as refusal:
        tell(str(refusal))
        return 1
    result("".join(f"{clean(line)}\n" for line in answer.lines))
    return 0
