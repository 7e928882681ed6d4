"""TOML → ``textual.theme.Theme``.

The rules of this file:

- ``[theme]`` holds the fields of Textual's Theme, ``[variables]`` its CSS variables. The name is the file's.
- Colours of our own that a theme leaves out are mixed from those it has, so ``primary`` alone makes a theme.
- Whatever is wrong is named with file, line and key, and a theme is taken whole or not at all: a value that Textual
  could not draw with is found here, not when the screen is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from textual.color import Color, ColorParseError
from textual.css.constants import VALID_STYLE_FLAGS
from textual.theme import Theme

from console.text import clean
from engine.files import personal
from engine.schema import shown
from engine.settings.tomlfile import Place, Wrong, parse_toml

DEFAULT = "midnight"
MAX_FILE = 64 * 1024  # bytes

_COLOURS: tuple[str, ...] = (
    "primary",
    "secondary",
    "warning",
    "error",
    "success",
    "accent",
    "foreground",
    "background",
    "surface",
)
_COLOURS += ("panel", "boost")
_PLAIN = {"dark": bool, "luminosity_spread": float, "text_alpha": float}
_STYLES = {*VALID_STYLE_FLAGS, "not"}
_AUTO = re.compile(r"(auto|initial)( \d{1,3}%)?")
_FADED = re.compile(r" \d{1,3}%$")  # behind a colour
_OURS: tuple[str, ...] = (
    "label",
    "faint",
    "frame",
    "frame-title",
    "flow",
    "flow-back",
    "chart-low",
    "chart-high",
    "chart-ok",
)
_OURS += ("chart-warn", "chart-bad", "chart-grid", "row-cursor", "row-cursor-blurred")


class ThemeError(ValueError):
    """A theme file can not be used; the text names file and key."""


class Shelf(NamedTuple):
    """The themes that were found, in the order in which they are offered, and what was wrong with others."""

    themes: tuple[Theme, ...]
    problems: tuple[str, ...]


def shipped_folder() -> Path:
    """Where our own themes are: beside the package in a wheel, beside its folder in a checkout."""
    here = Path(__file__).parent
    inside = here / "themes"
    return inside if inside.is_dir() else here.parent / "themes"


def find_themes(folders: Iterable[Path]) -> Shelf:
    """Every theme of these folders; a later folder's theme replaces one of the same name."""
    themes: dict[str, Theme] = {}
    problems: list[str] = []
    for folder in folders:
        for path in sorted(folder.glob("*.toml")):
            try:
                theme = load_theme(path)
            except ThemeError as error:
                problems.append(str(error))
            else:
                themes[theme.name] = theme
    return Shelf(tuple(themes.values()), tuple(problems))


def load_theme(path: Path) -> Theme:
    """Read one file. Raises ``ThemeError``."""
    return _Reading(path).theme()


class _Reading:
    """One file, and the line of each of its values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: Mapping[Place, int] = {}

    def theme(self) -> Theme:
        document = self._read()
        for table in document:
            if table not in ("theme", "variables"):
                raise self._wrong((table,), "is unknown: the tables are [theme] and [variables]")
        given = document.get("theme", {})
        if not isinstance(given, dict) or "primary" not in given:
            raise self._wrong(("theme", "primary"), "is missing")
        known = {field.name for field in fields(Theme)} & {*_COLOURS, *_PLAIN}
        for key, value in given.items():
            if key not in known:
                raise self._wrong(("theme", key), "is unknown")
            if key in _PLAIN:
                self._check_plain(key, value)
            else:
                self._check_colour(("theme", key), value)
        theme = Theme(name=clean(self.path.stem), **given)
        theme.variables = self._variables(document.get("variables", {}), theme.to_color_system().generate())
        theme.variables = own_colours(theme)
        return theme

    def _read(self) -> dict[str, Any]:
        try:
            raw = personal.read(self.path, MAX_FILE)
            if len(raw) > MAX_FILE:
                raise ThemeError(f"{clean(self.path.name)}: larger than {MAX_FILE // 1024} KiB")
            content, self.lines = parse_toml(raw.decode(), Path(self.path.name))
        except Wrong as wrong:
            raise ThemeError(str(wrong.problems[0])) from None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise ThemeError(f"{clean(self.path.name)}: {clean(reason or str(error))}") from None
        return content

    def _variables(self, given: object, usual: Mapping[str, str]) -> dict[str, str]:
        """The table ``[variables]``; ``usual``: what Textual would take for those that it knows."""
        if not isinstance(given, dict):
            raise self._wrong(("variables",), "is not a table")
        for key, value in given.items():
            place = ("variables", key)
            if not isinstance(value, str) or not value.isprintable():
                raise self._wrong(place, f"is not text: {shown(value)}")
            if {*usual.get(key, "?").split()} <= _STYLES:
                if not {*value.split()} <= _STYLES:
                    raise self._wrong(place, f"is not a style of text: {shown(value)}")
            elif key in _OURS:
                self._check_colour(place, value)
            elif (key in usual or key.endswith(("background", "foreground"))) and not _AUTO.fullmatch(value):
                self._check_colour(place, _FADED.sub("", value))
        return given

    def _check_plain(self, key: str, value: object) -> None:
        if _PLAIN[key] is bool:
            if not isinstance(value, bool):
                raise self._wrong(("theme", key), f"is not a truth value: {shown(value)}")
        elif type(value) not in (int, float):
            raise self._wrong(("theme", key), f"is not a number: {shown(value)}")
        elif not 0 <= value <= 1:  # type: ignore[operator]
            raise self._wrong(("theme", key), "is not a number from 0 to 1")

    def _check_colour(self, place: Place, value: object) -> None:
        try:
            Color.parse(value if isinstance(value, str) else shown(value))
        except ColorParseError:
            raise self._wrong(place, f"is not a colour: {shown(value)}") from None

    def _wrong(self, place: Place, what: str) -> ThemeError:
        line = self.lines.get(place)
        where = f"{self.path.name}:{line}" if line else self.path.name
        return ThemeError(clean(f"{where}: {'.'.join(place)} {what}"))


def own_colours(theme: Theme) -> dict[str, str]:
    """The variables of a theme, with ours mixed from its colours where it does not say."""
    colours = theme.to_color_system().generate()

    def colour(name: str) -> Color:
        return Color.parse(colours[name])

    surface, foreground, primary = colour("surface"), colour("foreground"), colour("primary")
    mixed = {
        "label": surface.blend(foreground, 0.55),
        "faint": surface.blend(foreground, 0.25),
        "frame": surface.blend(foreground, 0.18),
        "frame-title": surface.blend(foreground, 0.6),
        "flow": primary,
        "flow-back": colour("success"),
        "chart-low": surface.blend(primary, 0.45),
        "chart-high": primary,
        "chart-ok": surface.blend(colour("success"), 0.8),
        "chart-warn": colour("warning"),
        "chart-bad": colour("error"),
        "chart-grid": surface.blend(foreground, 0.15),
        "row-cursor": surface.blend(primary, 0.25),
        "row-cursor-blurred": surface.blend(primary, 0.1),
    }
    variables = {name: value.hex for name, value in mixed.items()} | theme.variables
    low, high = Color.parse(variables["chart-low"]), Color.parse(variables["chart-high"])
    between = {"chart-mid": low.blend(high, 1 / 3).hex, "chart-upper": low.blend(high, 2 / 3).hex}
    return between | variables
