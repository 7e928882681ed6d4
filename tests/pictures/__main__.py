"""``python -m tests.pictures [FOLDER]``: the screens of the documentation as SVG, and a recording.

In FOLDER also those that are only for eyes, main, details, clients, backlog, run, events at three sizes among them; and
all of them as PNG where rsvg-convert or Chromium is there.

Every picture is the console itself on real cores in virtual time, so it is what a user sees.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine.catalogue import SYSTEMS
from engine.faults.faults import plan
from engine.faults.watch import Watch
from engine.parts.bulk import BulkSpec
from tests.helpers.fake_lab import FakeLab
from tests.helpers.protocols import LikeLive, User, on
from tests.helpers.runs import a_long_run
from tests.pictures.recording import animated, film

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = (120, 36)
SIZES = ((80, 24), SIZE, (200, 60))
RECORDING = "recording"  # half a minute as an animated SVG
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


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
        user.lab.advance(0.25)  # until the broker has told what was asked of it
        await user.pass_time(0.25)

    return scene


async def kept_run(user: User) -> None:
    """The run in full, from the list of kept runs."""
    await user.press("r", "enter")
    await user.pass_time(0.25)


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
    "run": (10, kept_run),
    "charts": (10, leads_to("H", *["left"] * 12)),
    "events": (10, leads_to("E")),
    "table": (10, leads_to("v")),
}
"""The same, drawn only where a folder is named."""

AT_ALL_SIZES = ("main", "details", "clients", "backlog", "run", "events")
"""Those of the snapshots: drawn at every size where a folder is named."""


def draw(name: str, folder: Path, size: tuple[int, int] = SIZE, suffix: str = "") -> Path:
    """One picture; where it is."""
    workers, scene = (PICTURES | FOR_EYES)[name]
    path = folder / f"{name}{suffix}.svg"
    lab: Any = FakeLab(workers)
    lab.kept.append(a_long_run())
    if scene is not kept_run:
        lab = LikeLive(SYSTEMS["roundrobin"], workers=workers, slots=8).open()
        lab.speed = 1.0
        lab.advance(3.0)

    async def scenario(user: User) -> None:
        await scene(user)
        path.write_text(user.app.export_screenshot(title="roundhouse"), encoding="utf-8")

    with tempfile.TemporaryDirectory() as home:
        on(lab, scenario, Path(home), size)
    return path


def record(folder: Path) -> Path:
    """The recording; where it is."""
    path = folder / f"{RECORDING}.svg"
    lab = LikeLive(SYSTEMS["roundrobin"], workers=10, slots=8).open()
    lab.speed = 1.0
    lab.advance(3.0)

    async def scenario(user: User) -> None:
        path.write_text(animated(await film(user), SIZE[0]), encoding="utf-8")

    slow = patch("console.shell.HERTZ", 1e-6)  # the screen is drawn when virtual time passes, and never between
    with tempfile.TemporaryDirectory() as home, slow:
        on(lab, scenario, Path(home), SIZE)
    return path


def paint(path: Path) -> bool:
    """An SVG as PNG beside it; False where nothing that can do so is installed."""
    png = path.with_suffix(".png")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if tool := shutil.which("rsvg-convert"):
        subprocess.run([tool, "-o", png, path], check=True)
    elif browser:
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", f"--screenshot={png}", "--window-size=1500,1000")
        subprocess.run([browser, *options, path.resolve().as_uri()], check=True, capture_output=True)
    return bool(tool or browser)


def main() -> int:
    """Draw all of them."""
    folder = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(name, SIZE, "") for name in (PICTURES | FOR_EYES if sys.argv[1:] else PICTURES)]
    if sys.argv[1:]:
        sizes = [(f"-{width}x{height}", (width, height)) for width, height in SIZES]
        wanted += [(name, size, suffix) for name in AT_ALL_SIZES for suffix, size in sizes]
    os.environ["TZ"] = "UTC"  # the same on every machine
    time.tzset()
    sys.stdout.write(f"{record(folder)}\n")
    painted = True
    for name, size, suffix in wanted:
        path = draw(name, folder, size, suffix)
        sys.stdout.write(f"{path}\n")
        painted = painted and (not sys.argv[1:] or paint(path))
    if not painted:
        sys.stdout.write("no PNG: neither rsvg-convert nor Chromium is installed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
