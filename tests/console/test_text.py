from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content

from console.text import LIMIT, MARK, clean, fit, fit_tail, label, true_bytes, width

HOSTILE = {
    "escape": "\x1b[31mred",
    "osc": "\x1b]52;c;aGk=\x07",
    "c1": "\x9b31m",
    "bell": "a\x07b",
    "newline": "a\nb\r\tc",
    "bidi override": "abc\u202edef",
    "bidi isolate": "\u2066abc\u2069",
    "right-to-left mark": "a\u200fb",
    "zero width": "a\u200b\u200c\u200d\ufeffb",
    "soft hyphen": "a\u00adb",
    "combining": "Z\u0351\u0343\u0357",
    "variation": "\u2764\ufe0f",
    "tag": "a\U000e0041b",
    "surrogate": "a\ud800b",
    "line separator": "a\u2028b\u2029c",
    "filler": "a\u3164b\u2800c",
    "private": "a\ue0b0b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_that_steers_or_hides_is_left(text: str) -> None:
    shown = clean(text)
    assert MARK in shown
    assert shown.isprintable()
    shown.encode()
    assert all(cell_len(character) >= 1 for character in shown)


def test_plain_text_of_the_world_is_left_as_it_is() -> None:
    for text in ("tern-01", "größe", "名前", "имя", "naïve 🙂", "[/red] [@click=app.quit]x[/]"):
        assert clean(text) == text


def test_what_is_composed_is_composed_first() -> None:
    assert clean("e\u0301") == "é"


def test_no_blank_is_wider_than_it_looks() -> None:
    assert clean("a\u00a0b\u3000c") == "a b c"


def test_length_has_a_bound() -> None:
    assert len(clean("x" * 10_000)) == LIMIT
    assert clean("x" * 10_000).endswith("…")


@given(st.text(max_size=50))
def test_clean_text_is_always_printable_and_never_hides(text: str) -> None:
    shown = clean(text)
    assert clean(shown) == shown
    assert all(unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Mn") for character in shown)
    assert len(shown) >= 1 or not text


@given(st.text(max_size=30), st.integers(0, 20), st.booleans())
def test_fit_is_exact(text: str, cells: int, right: bool) -> None:
    assert width(fit(clean(text), cells, right)) == cells
    assert width(fit_tail(clean(text), cells)) == cells


def test_fit_cuts_wide_characters_whole() -> None:
    assert fit("名前名前", 5) == "名前…"
    assert fit("名前名前", 4) == "名 …"
    assert fit("ab", 4, right=True) == "  ab"


def test_what_is_cut_of_an_id_is_its_front() -> None:
    assert fit_tail("tcp://127.0.0.1:6714:503206", 8) == "…:503206"


def test_names_of_bytes() -> None:
    assert label(b"worker-1") == "worker-1"
    assert label(b"\x00\x80AB") == "00804142"
    assert label(b"\x1b[2J") == "1b5b324a"
    assert label(b"") == ""
    assert label("a\x1bb") == f"a{MARK}b"


def test_true_bytes_are_all_there() -> None:
    assert true_bytes(b"\x00abcd\xff") == "00616263 64ff"
    assert true_bytes(b"") == "(empty)"


def test_content_takes_it_literally() -> None:
    assert Content(clean("[/red][@click=app.quit]x")).plain == "[/red][@click=app.quit]x"
