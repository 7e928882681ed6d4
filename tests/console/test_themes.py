from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from console.themes import DEFAULT, ThemeError, find_themes, load_theme, own_colours, shipped_folder

SHIPPED = find_themes([shipped_folder()])


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, "utf-8")
    return path


def test_there_are_two_dark_ones_a_light_one_and_a_high_contrast_one() -> None:
    assert SHIPPED.problems == ()
    names = {theme.name: theme.dark for theme in SHIPPED.themes}
    assert names == {"midnight": True, "ember": True, "paper": False, "contrast": True}
    assert DEFAULT in names


@pytest.mark.parametrize("theme", SHIPPED.themes, ids=lambda theme: theme.name)
def test_what_must_be_read_can_be_read(theme: object) -> None:
    """WCAG contrast on the ground: text 7, labels and states 4.5; in the high-contrast theme 7 for all."""
    assert isinstance(theme, Theme)
    ground = Color.parse(theme.surface or "")
    inks = {name: getattr(theme, name) for name in ("foreground", "success", "warning", "error", "primary", "accent")}
    inks["label"] = theme.variables["label"]
    least = 7.0 if theme.name == "contrast" else 4.5
    low = {name: round(contrast(Color.parse(ink), ground), 2) for name, ink in inks.items()}
    assert {name: ratio for name, ratio in low.items() if ratio < least} == {}
    assert low["foreground"] >= 7


def contrast(one: Color, two: Color) -> float:
    def luminance(colour: Color) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_primary_alone_makes_a_theme(tmp_path: Path) -> None:
    theme = load_theme(write(tmp_path, "mine", '[theme]\nprimary = "#ff8800"\n'))
    assert theme.name == "mine"
    for name in ("label", "frame", "flow", "chart-mid", "chart-upper", "row-cursor"):
        Color.parse(theme.variables[name])
    assert own_colours(theme) == theme.variables


def test_variables_are_taken_before_what_is_mixed(tmp_path: Path) -> None:
    theme = load_theme(write(tmp_path, "mine", '[theme]\nprimary = "red"\n[variables]\nlabel = "#123456"\n'))
    assert theme.variables["label"] == "#123456"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "mine.toml: theme.primary is missing"),
        ("theme = 3", "mine.toml: theme.primary is missing"),
        ('[theme]\nprimary = "#zz"', "mine.toml:2: theme.primary is not a colour: '#zz'"),
        ("[theme]\nprimary = 3", "mine.toml:2: theme.primary is not a colour: 3"),
        ('[theme]\nprimary = "red"\ndark = "yes"', "mine.toml:3: theme.dark is not a truth value: 'yes'"),
        ('[theme]\nprimary = "red"\ntext_alpha = "x"', "mine.toml:3: theme.text_alpha is not a number: 'x'"),
        ('[theme]\nprimary = "red"\nprimry = "red"', "mine.toml:3: theme.primry is unknown"),
        ('[theme]\nprimary = "red"\nname = "x"', "mine.toml:3: theme.name is unknown"),
        ('[colours]\nx = 1\n[theme]\nprimary = "red"', "mine.toml:1: colours is unknown"),
        (
            '[theme]\nprimary = "red"\n[variables]\nframe = "blau"',
            "mine.toml:4: variables.frame is not a colour",
        ),
        ('[theme]\nprimary = "red"\n[variables]\nframe = 1', "mine.toml:4: variables.frame is not text: 1"),
        (
            '[theme]\nprimary = "red"\nluminosity_spread = nan',
            "mine.toml:3: theme.luminosity_spread is not a number",
        ),
        ('[theme]\nprimary = "red"\nluminosity_spread = 1e308', "mine.toml:3: theme.luminosity_spread is not a number"),
        (
            f'[theme]\nprimary = "red"\ntext_alpha = {10**400}',
            "mine.toml:3: theme.text_alpha is not a number from 0",
        ),
        ('[theme]\nprimary = "red"\ntext_alpha = true', "mine.toml:3: theme.text_alpha is not a number: True"),
        (f"[theme]\nprimary = 1{'0' * 5000}", "mine.toml:2: a number of thousands of digits"),
        ("[theme]\nprimary = 0x" + "f" * 5000, "mine.toml:2: theme.primary is not a colour: "),
        ("[theme]\nprimary = " + "[" * 9000, "mine.toml:2: nested too deeply"),
        ("[theme]\nx" + ".x" * 9000 + " = 1", "mine.toml:2: a key has more than 64 parts"),
        ('[theme]\nprimary = "red"\n[variables]\nborder = "}{"', "mine.toml:4: variables.border is not a colour: '}{'"),
        (
            '[theme]\nprimary = "red"\n[variables]\nlink-style = "}{"',
            "mine.toml:4: variables.link-style is not a style of text: '}{'",
        ),
        ("[theme\n", "mine.toml:1: Expected"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ThemeError) as caught:
        load_theme(write(tmp_path, "mine", text))
    assert str(caught.value).startswith(said)
    assert str(caught.value).isprintable()


def test_variables_of_textual_may_say_what_textual_says(tmp_path: Path) -> None:
    usual = Theme(name="x", primary="red").to_color_system().generate()
    text = "".join(f'{name} = "{value}"\n' for name, value in usual.items())
    theme = load_theme(write(tmp_path, "mine", f'[theme]\nprimary = "red"\n[variables]\n{text}'))
    assert {name: theme.variables[name] for name in usual if name != "scrollbar"} == {
        name: value for name, value in usual.items() if name != "scrollbar"
    }


@pytest.mark.parametrize("odd", ["fifo", "folder", "zero"])
def test_a_theme_that_is_no_regular_file_is_named_at_once(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "mine.toml"
    if odd == "fifo":
        os.mkfifo(path)
    elif odd == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    (problem,) = find_themes([tmp_path]).problems
    assert problem.startswith("mine.toml: is a ") and problem.endswith("not a regular file")


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ThemeError, match="larger than 64 KiB"):
        load_theme(write(tmp_path, "mine", "#" * 70_000))


def test_a_users_theme_replaces_ours_and_a_bad_one_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path, "paper", '[theme]\nprimary = "#010203"\n')
    write(tmp_path, "bad", "x")
    shelf = find_themes([shipped_folder(), tmp_path, tmp_path / "none"])
    assert {theme.name: theme.primary for theme in shelf.themes}["paper"] == "#010203"
    assert len(shelf.themes) == 4
    assert [problem.split(":")[0] for problem in shelf.problems] == ["bad.toml"]
