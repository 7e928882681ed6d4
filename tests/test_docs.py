"""README and docs/: every link leads somewhere, and the pictures are those that ``python -m tests.pictures`` draws."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style

from console.cli.common import known
from engine.settings.paths import Paths
from engine.settings.settings import Settings, read_settings
from tests.pictures.__main__ import PICTURES, RECORDING
from tests.pictures.recording import GROUND, Frame, animated, rows_of

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_page_is_reached_from_the_readme() -> None:
    readme = PAGES[0].read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name})" not in readme] == []


def test_the_site_names_every_page_once_and_builds_into_an_ignored_folder() -> None:
    site = (ROOT / ".mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"^ +- [^:]+: (\S+\.md)\b", site.partition("\nnav:\n")[2], re.MULTILINE)
    assert sorted(named) == sorted(["index.md", *(page.name for page in PAGES[1:])])
    assert "\nsite_dir: dist/site\n" in site
    assert "dist/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_no_page_links_to_what_the_site_does_not_hold() -> None:
    docs = ROOT / "docs"
    for page in PAGES[1:]:
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        ends = [(page.parent / link).resolve() for link in links if "://" not in link]
        assert [end for end in ends if not end.is_file() or docs not in end.parents] == [], page.name


def test_the_pictures_are_those_that_are_drawn() -> None:
    assert {path.stem for path in (ROOT / "docs" / "pictures").iterdir()} == {*PICTURES, RECORDING}
    text = (ROOT / "docs" / "pictures" / "main.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    for word in ("roundhouse", "workers", "backlog", "latency", "events", "bulkping"):
        assert word in text, word


def test_the_recording_lasts_half_a_minute_and_is_small() -> None:
    text = (ROOT / "docs" / "pictures" / f"{RECORDING}.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 400_000
    assert " 30s step-end infinite" in text
    plain = " ".join("".join(ElementTree.fromstring(text).itertext()).replace("\u00a0", " ").split())
    for word in ("roundhouse", "bulkping", "bulkdata", "DEGRADED", "lost", "TRACKEXEC PING", "w7 is killed"):
        assert word in plain, word
    assert f"](docs/pictures/{RECORDING}.svg)" in PAGES[0].read_text(encoding="utf-8")


def test_a_recording_shows_its_frames_one_after_the_other_and_draws_equal_rows_once() -> None:
    same = [Segment("a < b ", Style(color="#ff0000", bold=True)), Segment("界", Style(bgcolor="#00ff00"))]
    frames = [
        Frame(1, "first", rows_of([same, [Segment("x")]])),
        Frame(3, "second & last", rows_of([same, [Segment("y", Style(color="#ff0000", reverse=True))]])),
    ]
    text = animated(frames, 10)
    svg = "{http://www.w3.org/2000/svg}"
    root = ElementTree.fromstring(text)
    assert [use.get("href") for use in root.iter(f"{svg}use")] == ["#r0", "#r1", "#r0", "#r2"]
    assert [group.get("id") for group in root.iter(f"{svg}g")] == ["r0", "r1", "r2", None, "f0", "f1"]
    assert [words.text for words in root.iter(f"{svg}text")] == [
        "a\u00a0<\u00a0b", "界", "x", "y", "first", "second & last",
    ]  # fmt: skip
    assert [(box.get("x"), box.get("width"), box.get("fill")) for box in root.iter(f"{svg}rect")] == [
        (None, "100%", GROUND), ("50.4", "16.8", "#00ff00"), ("0.0", "8.4", "#ff0000"),
    ]  # fmt: skip
    assert "@keyframes k0{0%{visibility:visible}0.00%{visibility:visible}25.00%{visibility:hidden}}" in text
    assert "@keyframes k1{0%{visibility:hidden}25.00%{visibility:visible}}" in text
    assert "#f0{visibility:visible;animation:k0 4s step-end infinite}" in text
    assert "#f1{visibility:hidden;animation:k1 4s step-end infinite}" in text


def read(text: str, folder: Path) -> Settings:
    """What a configuration file with this text sets."""
    paths = replace(Paths.of_user(), config=folder / "roundhouse.toml")
    paths.config.write_text(text, encoding="utf-8")
    return read_settings(paths, known(), {})


def test_the_configuration_that_is_shown_is_the_default_but_for_a_key(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    shown = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 2
    assert [entry.name for entry in read(shown[1], tmp_path).fleet] == ["depot"]
    default = read("", tmp_path)
    assert read(shown[0], tmp_path) == replace(default, keymap={"run.ping": "f5"}, bind=("tcp://127.0.0.1:6714",))
