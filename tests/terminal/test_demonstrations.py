"""The guided demonstrations of docs/, done by hand: every key they name is pressed, and all they promise is seen.

A page's steps stand in blocks fenced as ``keys``, one a line: ``press KEY``, ``type LINE`` (enter is pressed behind
it), ``see TEXT``, ``gone TEXT``. How many blanks stand in a row does not matter. The last step is ``press q``.
"""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.catalogue import CATALOGUE
from tests.helpers.terminal import ROOT, Terminal, terminal_in

tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="a real terminal needs tmux, which is not here")

BLOCK = re.compile(r"^```keys\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEYS = {"enter": "Enter", "esc": "Escape", "tab": "Tab", "space": "Space", "end": "End", "home": "Home"}
KEYS |= {"ctrl+f": "C-f", "ctrl+k": "C-k", "←": "Left", "→": "Right", "↑": "Up", "↓": "Down"}


class Step(NamedTuple):
    """One line of a page."""

    verb: str
    what: str


def steps(page: str) -> list[Step]:
    """What a page asks for, in its order. Raises ValueError with a line that says nothing."""
    found = []
    for block in BLOCK.findall(page):
        for line in block.splitlines():
            verb, _, what = line.partition(" ")
            known = verb in ("type", "see", "gone") or (verb == "press" and (len(what) == 1 or what in KEYS))
            if not known or not what:
                raise ValueError(line)
            found.append(Step(verb, what))
    return found


def squeezed(text: str) -> str:
    return re.sub(" +", " ", text)


def do(terminal: Terminal, step: Step) -> None:
    """One step; what has to be seen is waited for."""
    match step.verb:
        case "press":
            terminal.keys(KEYS.get(step.what, step.what))
        case "type":
            terminal.tmux("send-keys", "-t", "it", "-l", step.what)
            terminal.keys("Enter")
        case "see":
            terminal.until(lambda shown: squeezed(step.what) in squeezed(shown), step.what)
        case _:
            terminal.until(lambda shown: squeezed(step.what) not in squeezed(shown), f"a screen without {step.what}")


@pytest.mark.parametrize("system", CATALOGUE)
def test_every_page_can_be_followed(system: str) -> None:
    page = (ROOT / "docs" / f"{system}.md").read_text(encoding="utf-8")
    found = steps(page)
    assert f"\n    roundhouse --system {system}\n" in page
    assert sum(step.verb == "see" for step in found) >= 20
    assert found[-1] == Step("press", "q")
    for step, after in pairwise(found):
        # A terminal takes escape and a key that follows at once for one key.
        assert step != Step("press", "esc") or after.verb in ("see", "gone"), f"nothing to see behind {step}"


@tmux
@pytest.mark.parametrize("system", CATALOGUE)
def test_the_console_shows_what_the_page_says(system: str, tmp_path: Path) -> None:
    found = steps((ROOT / "docs" / f"{system}.md").read_text(encoding="utf-8"))
    with terminal_in(tmp_path) as terminal:
        terminal.open("--system", system)
        for step in found:
            do(terminal, step)
        terminal.ended(0)


@pytest.mark.parametrize("line", ["press escape", "press", "look around", "see "])
def test_a_line_that_says_nothing_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=line.strip()):
        steps(f"# Page\n\n```keys\nsee READY\n{line}\n```\n")
