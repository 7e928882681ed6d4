"""``python -m tests.chaos.keys [--seconds S] [--seed N]``: F23, every key of the console is hammered under load.

The console runs in a terminal of its own (tmux) with a bulk run. Keys of all its screens come in random order, but for
those that end it. Afterwards it has to live, to show no error, and to end in order.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from console import keys
from tests.helpers.processes import until
from tests.helpers.terminal import Terminal

NAMES = {
    "plus": "+", "minus": "-", "space": "Space", "enter": "Enter", "escape": "Escape", "up": "Up", "down": "Down",
    "left": "Left", "right": "Right", "home": "Home", "end": "End", "pageup": "PPage", "pagedown": "NPage",
    "tab": "Tab", "backspace": "BSpace", "delete": "DC", "question_mark": "?", "slash": "/", "equals_sign": "=",
    "full_stop": ".", "comma": ",", "left_square_bracket": "[", "right_square_bracket": "]", "less_than_sign": "<",
    "greater_than_sign": ">",
}  # fmt: skip
ENDS = {"q", "ctrl+q", "ctrl+c", "ctrl+z", "colon", "ctrl+d"}  # and what a command line could be told to end
AT_ONCE = 40  # keys; as fast as the terminal takes them, which is faster than the screen does


def typed() -> list[str]:
    """All keys that the console's screens know, as tmux calls them."""
    found = set()
    for value in vars(keys).values():
        for key in value if isinstance(value, tuple) else ():
            if isinstance(key, keys.Key):
                found |= {*key.keys.split(",")} - ENDS
    names = []
    for name in sorted(found):
        if len(name) == 1 or name in NAMES:
            names.append(NAMES.get(name, name))
        elif name.startswith("ctrl+") and len(name) == 6:
            names.append(f"C-{name[-1]}")
        elif name.startswith("f") and name[1:].isdigit():
            names.append(name.upper())
    return names


def play(seconds: float, seed: int) -> tuple[bool, str]:
    """Whether it lived, and the figures."""
    random, there, pressed = Random(seed), typed(), 0
    with tempfile.TemporaryDirectory() as name:
        terminal = Terminal(Path(name))
        try:
            terminal.open("--system", "roundrobin")
            until(lambda: "roundrobin" in terminal.shown(), "the console")
            terminal.command("bulkping 10000000")
            ends = time.monotonic() + seconds
            while time.monotonic() < ends and "ended with" not in terminal.shown():
                some = random.choices([*there, "Escape"], k=AT_ONCE)
                terminal.keys(*some)
                pressed += len(some)
            lives = "ended with" not in terminal.shown()
            last = terminal.shown()
            if lives:
                min(
                    terminal.processes(), key=lambda process: process.create_time()
                ).terminate()  # the others are drivers
                last = terminal.ended(143)
        finally:
            terminal.close()
    right = lives and "Traceback" not in last
    words = f"{len(there)} keys, {pressed:,} pressed in {seconds:g} s; {'alive' if lives else 'DEAD'}"
    return right, words if right else f"{words}\n{last}"


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.keys", description="Every key, under load.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of hammering (60)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of keys (1)")
    options = parser.parse_args()
    right, figures = play(options.seconds, options.seed)
    print(f"seed {options.seed}: {figures}; {'right' if right else 'WRONG'}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
