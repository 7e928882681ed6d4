"""What stands on the screens, cell by cell: texts and colours, at three sizes.

``pytest tests/console/test_snapshots.py --rewrite`` writes the files anew; their difference says what has changed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.style import Style
from textual.app import App

from console.app import Console
from console.kinds import session_of
from engine.parts.served import Took
from engine.parts.view import ClientRow, Underway
from tests.helpers.fake_lab import FakeLab, FakeLabs, FakeSettings
from tests.helpers.pilot import Driver
from tests.helpers.runs import a_long_run
from tests.helpers.settle import QuietPilot

FOLDER = Path(__file__).parent / "snapshots"
SIZES = ((80, 24), (120, 36), (200, 60))
SCREENS: dict[str, tuple[str, ...]] = {
    "main": (),
    "details": ("enter",),
    "clients": ("U",),
    "backlog": ("B",),
    "run": ("r", "enter"),
    "events": ("E",),
}
"""Name: the keys that lead there from the main screen."""


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everybody's local time is that of the files."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def crowded() -> FakeLab:
    """Workers in all states, a client that floods, tasks that wait."""
    lab = FakeLab()
    at = lab.at
    names = [worker.key for worker in lab.workers]
    for place in range(len(names)):
        lab.replace(place, took=Took(0.0004 * (1 + place % 3), 0.002 * (1 + place)))
    lab.clients = (
        ClientRow(b"flood", 90_000, at, 700, 40, at - 3.5),
        ClientRow(b"calm", 4_000, at, 0, 2, at - 0.2),
        ClientRow(b"gone", 12, at - 80, 0, 0, float("inf")),
    )
    lab.oldest = tuple(
        Underway(
            b"flood",
            i.to_bytes(8, "little"),
            "ping",
            at - 3.5 + i / 20,
            int(i % 5 == 0),
            b"" if i % 5 else names[i % 16],
        )
        for i in range(60)
    )
    lab.kept.append(dict(a_long_run()))
    lab.publish()
    return lab


def drawn(app: App[None]) -> str:
    """Every line as text, and below which style each of its cells has; the styles by letters, in their order."""
    letters: dict[str, str] = {}
    texts, inks = [], []
    for strip in app.screen._compositor.render_strips(app.size):
        texts.append("|" + "".join(segment.text for segment in strip) + "|")
        runs: list[list[object]] = []
        for segment in strip:
            letter = letters.setdefault(
                _named(segment.style), f"{chr(97 + len(letters) % 26)}{len(letters) // 26 or ''}"
            )
            if runs and runs[-1][0] == letter:
                runs[-1][1] += segment.cell_length  # type: ignore[operator]
            elif segment.cell_length:
                runs.append([letter, segment.cell_length])
        inks.append(" ".join(f"{letter}:{number}" for letter, number in runs))
    legend = [f"{letter} = {name}" for name, letter in letters.items()]
    return "\n".join((*texts, "", *inks, "", *legend, ""))


def _named(style: Style | None) -> str:
    if style is None:
        return "none"
    words = [word for word in ("bold", "dim", "reverse", "underline") if getattr(style, word)]
    colours = [
        str(colour.get_truecolor().hex) if colour is not None else "-" for colour in (style.color, style.bgcolor)
    ]
    return " ".join((*words, *colours))


def taken(folder: Path) -> dict[str, str]:
    """All screens at all sizes, of one console whose time stands still."""
    lab = crowded()
    labs = FakeLabs(lab)
    settings = FakeSettings(folder)
    app = Console(labs, session_of("roundrobin", lab), settings, clock=lambda: lab.at)
    app._governor.due = lambda: False  # type: ignore[method-assign]
    found: dict[str, str] = {}

    async def run() -> None:
        async with app.run_test(size=SIZES[0]):
            driver = Driver(labs, app, QuietPilot(app))
            for _ in range(8):
                flood, calm, gone = lab.clients
                lab.clients = flood._replace(sent=flood.sent + 900), calm._replace(sent=calm.sent + 40), gone
                await driver.tick()
            for name, keys in SCREENS.items():
                await driver.press("j", "g", *keys)
                for width, height in SIZES:
                    await driver.pilot.resize_terminal(width, height)
                    app.tick()
                    await driver.pilot.pause()
                    found[f"{name}-{width}x{height}"] = drawn(app)
                await driver.press(*("escape" for _ in keys))
            assert app.export_screenshot().count("<text") > 100, "what tests.pictures draws"

    asyncio.run(run())
    return found


def test_screens_are_as_they_were(tmp_path: Path, utc: None, rewrite: bool) -> None:
    found = taken(tmp_path)
    assert len(found) == len(SCREENS) * len(SIZES)
    if rewrite:
        for name, text in found.items():
            (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    changed: list[str] = []
    for name, text in found.items():
        kept = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
        if text != kept:
            pairs = zip(text.splitlines(), kept.splitlines(), strict=False)
            changed += [f"{name}: {now!r}\nbefore: {was!r}" for now, was in pairs if now != was][:4]
    assert not changed, "\n".join(changed[:24])


def test_the_files_are_those_of_the_screens() -> None:
    wanted = {f"{name}-{width}x{height}.txt" for name in SCREENS for width, height in SIZES}
    assert {path.name for path in FOLDER.iterdir()} == wanted


def test_another_colour_of_one_cell_is_seen(tmp_path: Path, utc: None) -> None:
    make: Callable[[str], Style] = Style.parse
    assert _named(make("bold #ff0000 on #000000")) != _named(make("bold #ff0001 on #000000"))
