"""TOML → ``textual.theme.Theme``.

The rules of this file:

- ``[theme]`` holds the fields of Textual's Theme, ``[variables]`` its CSS variables. The name is the file's.
- Colours of our own that a theme leaves out are mixed from those it has, so ``primary`` alone makes a theme.
- Whatever is wrong is named with file and key, and a theme is taken whole or not at all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from textual.color import Color, ColorParseError
from textual.theme import Theme

from console.text import clean

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
    document = _read(path)
    for table in document:
        if table not in ("theme", "variables"):
            raise _wrong(path, table, "is unknown: the tables are [theme] and [variables]")
    given = document.get("theme", {})
    if not isinstance(given, dict) or "primary" not in given:
        raise _wrong(path, "theme.primary", "is missing")
    known = {field.name for field in fields(Theme)} & {*_COLOURS, *_PLAIN}
    for key, value in given.items():
        if key not in known:
            raise _wrong(path, f"theme.{key}", "is unknown")
        if key in _PLAIN:
            _check_plain(path, key, value)
        else:
            _check_colour(path, f"theme.{key}", value)
    variables = document.get("variables", {})
    if not isinstance(variables, dict):
        raise _wrong(path, "variables", "is not a table")
    for key, value in variables.items():
        if not isinstance(value, str) or not value.isprintable():
            raise _wrong(path, f"variables.{key}", f"is not text: {value!r}")
        if key in _OURS or key.endswith(("background", "foreground")):
            _check_colour(path, f"variables.{key}", value)
    theme = Theme(name=clean(path.stem), **given)
    theme.variables = variables
    theme.variables = own_colours(theme)
    return theme


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_FILE:
            raise ThemeError(f"{clean(path.name)}: larger than {MAX_FILE // 1024} KiB")
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ThemeError(f"{clean(path.name)}: {clean(str(error))}") from None


def _check_plain(path: Path, key: str, value: object) -> None:
    wanted = _PLAIN[key]
    if not isinstance(value, wanted) and not (wanted is float and type(value) is int):
        raise _wrong(path, f"theme.{key}", f"is not a {'number' if wanted is float else 'truth value'}: {value!r}")


def _check_colour(path: Path, key: str, value: object) -> None:
    try:
        Color.parse(value if isinstance(value, str) else repr(value))
    except ColorParseError:
        raise _wrong(path, key, f"is not a colour: {value!r}") from None


def _wrong(path: Path, key: str, what: str) -> ThemeError:
    return ThemeError(clean(f"{path.name}: {key} {what}"))


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
