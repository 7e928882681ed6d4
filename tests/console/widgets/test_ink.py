from __future__ import annotations

from pathlib import Path

from textual.geometry import Region
from textual.strip import Strip

from console.widgets.events import Events
from console.widgets.ink import Inked, cells, cut, first_that_fits, folded, joined, spread, values, wrapped
from console.widgets.ledger import Ledger
from tests.helpers.pilot import Driver, drive


def test_a_line_with_two_ends() -> None:
    assert spread([("ab", "text")], [("c", "text")], 6) == [("ab", "text"), ("   ", "text"), ("c", "text")]
    assert cells(spread([("ab", "text")], [("cd", "text")], 3)) == 5


def test_the_first_that_fits_else_the_last() -> None:
    long, short = [("abcdef", "text")], [("abc", "text")]
    assert first_that_fits([long, short], 6) is long
    assert first_that_fits([long, short], 4) is short
    assert first_that_fits([long, short], 1) is short


def test_what_is_cut_ends_with_an_ellipsis() -> None:
    line = [("ab", "text"), ("日本", "bad")]
    assert cut(line, 6) == line
    assert cut(line, 5) == [("ab", "text"), ("日…", "bad")]
    assert cut(line, 4) == [("ab", "text"), (" …", "bad")]
    assert cut(line, 2) == [("a…", "text")]
    assert cut([], 3) == []


def test_neighbours_of_one_ink_are_one_part() -> None:
    assert joined([("a", "x"), ("b", "x"), ("c", "y")]) == [("ab", "x"), ("c", "y")]


def test_labels_and_values() -> None:
    assert "".join(text for text, _ in values([("ok", "1", "good"), ("fail", "2", "bad")])) == "ok 1  fail 2"


def test_wide_characters_count_twice() -> None:
    assert cells([("名前", "text"), ("a", "text")]) == 5


class Probe(Inked):
    """Counts what is repainted."""

    text = "uno"

    def draw(self, width: int, height: int) -> list[Strip]:
        return [self.line([(self.text, "good bold")], width), self.line([("always", "label")], width)]


def test_only_lines_that_changed_are_repainted(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        probe = Probe()
        await driver.main.mount(probe, before="#panels")
        probe.styles.height = 3
        await driver.pilot.pause()
        probe.redraw()
        await driver.pilot.pause()
        assert driver.shows("uno")
        painted: list[object] = []
        refresh = probe.refresh

        def spy(*regions: object, **how: object) -> object:
            painted.append(regions)
            return refresh(*regions, **how)  # type: ignore[arg-type]

        probe.refresh = spy  # type: ignore[method-assign, assignment]
        probe.redraw()
        assert painted == []
        probe.text = "due"
        probe.redraw()
        await driver.pilot.pause()
        assert [[region.y for region in regions] for regions in painted] == [[0]]  # type: ignore[attr-defined]
        assert driver.shows("due") and not driver.shows("uno")

    drive(scenario, tmp_path)


def test_a_line_that_is_painted_does_not_say_where_its_parts_are(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        table = driver.main.table
        under_the_mouse = [part.style.meta for part in table.render_line(1) if part.style and part.style.meta]
        assert under_the_mouse and all("offset" in meta for meta in under_the_mouse)
        (painted,) = table.render_lines(Region(0, 2, table.size.width, 1))
        assert painted.text.strip() and not any(part.style and part.style.meta for part in painted)

    drive(scenario, tmp_path)


def test_a_line_measures_its_parts_itself(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        bar = driver.main.query_one("#ledger", Ledger)
        for parts in ([("ab", "text"), ("日本", "bad")], [("a" * 20, "text")], [("日本" * 9, "text")], []):
            line = bar.line(parts, 9)
            assert line.cell_length == cells([(line.text, "")]) == 9

    drive(scenario, tmp_path)


def test_a_picture_that_comes_between_a_resize_and_its_news_is_drawn(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        probe = Probe()
        await driver.main.mount(probe, before="#panels")
        probe.styles.height = 2
        await driver.pilot.pause()
        probe._strips = probe._drawn()
        assert probe._strips is not None and len(probe._strips) == 2
        del probe._strips[1:]
        probe.text = "due"
        probe.redraw()
        await driver.pilot.pause()
        assert driver.shows("due")

    drive(scenario, tmp_path)


def test_a_theme_changes_every_ink(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        bar = driver.main.query_one("#ledger", Ledger)
        before = bar.ink("good")
        driver.app.theme = "paper"
        await driver.pilot.pause()
        assert bar.ink("good") != before
        assert bar.ink("good", "") == bar.ink("good")

    drive(scenario, tmp_path)


def test_the_mouse_selects_text(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.pilot.mouse_down("#events", offset=(2, 1))
        await driver.pilot.hover("#events", offset=(30, 1))
        await driver.pilot.mouse_up("#events", offset=(30, 1))
        await driver.pilot.pause()
        text = driver.main.get_selected_text()
        assert text is not None and "worker otter-01" in text
        assert driver.app.clipboard == text and driver.notice == f"✓ copied {text.strip()}", "at once"
        marked = driver.app.screen.get_component_rich_style("screen--selection").bgcolor
        line = driver.main.query_one("#events", Events).render_line(0)
        assert "".join(part.text for part in line if part.style and part.style.bgcolor == marked) == text
        driver.app.copy_to_clipboard("")
        await driver.press("ctrl+c")
        assert driver.app.clipboard == text

    drive(scenario, tmp_path)


def test_text_is_wrapped_under_its_beginning() -> None:
    lines = wrapped([(" ✓ ", "good")], "one two three", "text", 12)
    assert lines == [[(" ✓ ", "good"), ("one two", "text")], [("   ", "text"), ("three", "text")]]
    assert wrapped([(" ✓ ", "good")], "", "text", 12) == [[(" ✓ ", "good"), ("", "text")]]


def _texts(parts: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in parts]


def test_a_line_that_does_not_fit_goes_on_below() -> None:
    line = [("  q                 ", "text bold"), ("leave; the drivers finish their documents", "label")]
    assert folded(line, 80) == [line]
    assert _texts(folded(line, 40)) == [
        "  q                 leave; the drivers",
        "                    finish their",
        "                    documents",
    ]
    assert folded(line, 40)[1][0] == (" " * 20, "text") and folded(line, 40)[1][1][1] == "label"


def test_the_part_that_reaches_the_edge_gives_the_indent_also_where_others_follow() -> None:
    line = [(" 4s", "label"), (" × ", "bad"), ("not three frames, and more than that", "text"), (" × 3", "bad bold")]
    assert _texts(folded(line, 30)) == [" 4s × not three frames, and", "      more than that × 3"]
    assert folded(line, 30)[1][-1] == (" × 3", "bad bold")


def test_where_the_last_column_has_no_room_it_stands_below_with_a_small_indent() -> None:
    assert _texts(folded([("p99 142.61 ms  max 2.69 s, tasks", "text")], 24)) == ["p99 142.61 ms", "max 2.69 s, tasks"]
    assert _texts(folded([("TAKE   " * 3, "text"), ("003 row 1: taken", "label")], 24)) == [
        "TAKE   TAKE   TAKE   003",
        "      row 1: taken",
    ]


def test_what_is_longer_than_a_line_is_broken_within_and_blanks_at_its_end_are_none() -> None:
    assert _texts(folded([("abcdefghij", "text"), ("漢字漢字", "text"), ("   ", "text")], 4)) == [
        "abcd",
        "  ef",
        "  gh",
        "  ij",
        "  漢",
        "  字",
        "  漢",
        "  字",
    ]
    assert _texts(folded([("abcd", "text"), ("  ", "text")], 4)) == ["abcd"]
    assert _texts(folded([("漢字", "text")], 1)) == ["漢", "字"]
