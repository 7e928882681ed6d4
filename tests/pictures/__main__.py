"""``python -m tests.pictures [FOLDER]``: the screens of the documentation as SVG; in FOLDER as PNG too (rsvg-convert).

Every picture is the console itself on real cores in virtual time, so it is what a user sees.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from engine.catalogue import SYSTEMS
from engine.faults.faults import plan
from engine.faults.watch import Watch
from engine.parts.bulk import BulkSpec
from tests.helpers.protocols import LikeLive, User, on

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = (120, 36)


async def at_work(user: User) -> None:
    """A minute of load in which one worker is slow and one is killed."""
    user.lab.run(BulkSpec("ping", 100_000, rate=400.0, in_flight=80, timeout=30.0))
    for quarter in range(160):
        if quarter == 60:
            Watch(user.lab, plan(user.lab, "slow w4 0.4")).begin()
        if quarter == 110:
            Watch(user.lab, plan(user.lab, "kill w7")).begin()
        user.lab.advance(0.25)
        await user.pass_time(0.25)


async def main_screen(user: User) -> None:
    """Workers, backlog, latency, events."""
    await at_work(user)
    await user.press("down", "down")


async def ladder(user: User) -> None:
    """Messages as arrows."""
    await user.press("T")
    user.lab.run(BulkSpec("ping", 4, in_flight=2))
    user.lab.advance(0.5)
    await user.pass_time(0.25)
    await user.press("L")


async def maps(user: User) -> None:
    """State machines with counts."""
    await at_work(user)
    await user.press("M")


def leads_to(*keys: str) -> Callable[[User], Awaitable[None]]:
    """The same minute of load, then these keys."""

    async def scene(user: User) -> None:
        await at_work(user)
        await user.press(*keys)
        await user.pass_time(0.25)

    return scene


PICTURES: dict[str, tuple[int, Callable[[User], Awaitable[None]]]] = {
    "main": (10, main_screen),
    "ladder": (2, ladder),
    "maps": (10, maps),
}
"""Name: how many workers, and what is done before the picture is taken."""

FOR_EYES: dict[str, tuple[int, Callable[[User], Awaitable[None]]]] = {
    "details": (10, leads_to("W", "enter")),
    "clients": (10, leads_to("U")),
    "backlog": (10, leads_to("B")),
    "charts": (10, leads_to("H", *["left"] * 12)),
    "events": (10, leads_to("E")),
    "table": (10, leads_to("v")),
}
"""The same, drawn only where a folder is named."""


def draw(name: str, folder: Path) -> Path:
    """One picture; where it is."""
    workers, scene = (PICTURES | FOR_EYES)[name]
    path = folder / f"{name}.svg"
    sandbox = LikeLive(SYSTEMS["roundrobin"], workers=workers, slots=8).open()
    sandbox.speed = 1.0
    sandbox.advance(3.0)

    async def scenario(user: User) -> None:
        await scene(user)
        path.write_text(user.app.export_screenshot(title="roundhouse"), encoding="utf-8")

    with tempfile.TemporaryDirectory() as home:
        on(sandbox, scenario, Path(home), SIZE)
    return path


def main() -> int:
    """Draw all of them."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES | FOR_EYES if sys.argv[1:] else PICTURES:
        path = draw(name, folder)
        sys.stdout.write(f"{path}\n")
        if shutil.which("rsvg-convert") and sys.argv[1:]:
            subprocess.run(["rsvg-convert", "-o", path.with_suffix(".png"), path], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
