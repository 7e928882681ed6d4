"""Names: both ways, from the right, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.names import Item, parse

IDS = st.text(min_size=1, max_size=60).filter(lambda id: not names.why_not(id))
NUMBERS = st.from_regex(r"\A[0-9]{1,9}\Z")


@given(IDS, NUMBERS)
def test_every_name_comes_back_as_what_it_was_made_of(id: str, number: str) -> None:
    assert parse(names.ready(id)) == Item(id, "ready")
    assert parse(names.working(id, number)) == Item(id, "working", number)
    assert parse(names.writing(id, number)) == Item(id, "writing", number)
    assert parse(names.failed(id)) == Item(id, "failed")
    assert parse(names.failed_twice(id)) == Item(id, "failed_twice")
    assert parse(names.kept(id)) == Item(id, "kept")
    assert names.published_by(names.publishing(id, number), number) == id
    assert names.record_of(names.attempts(id)) == id
    assert names.locked_by(names.working_lock(number)) == number


@given(IDS, NUMBERS)
def test_what_we_add_is_no_item_to_anybody(id: str, number: str) -> None:
    ours = (names.attempts(id), names.publishing(id, number), names.working_lock(number), names.writing_lock(number))
    for name in ours:
        assert parse(name) is None
        assert not name.endswith((".ready", ".working", ".writing.xml", ".failed", ".failed_twice"))
    assert not names.kept(id).endswith((".ready", ".working", ".writing.xml", ".failed", ".failed_twice"))


@given(st.text(max_size=300))
def test_parsing_is_total(name: str) -> None:
    found = parse(name)
    assert found is None or isinstance(found, str | Item)


@given(st.binary(max_size=60))
def test_any_bytes_that_a_disk_may_hold_are_parsed(name: bytes) -> None:
    parse(name.decode("utf-8", "surrogateescape") + ".ready")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.ready", Item("a", "ready")),
        ("a.b.ready.ready", Item("a.b.ready", "ready")),
        ("x.3.4.working", Item("x.3", "working", "4")),
        ("x.03.working", Item("x", "working", "03")),
        ("x.failed_twice", Item("x", "failed_twice")),
        ("done", None),
        ("x", None),
        ("x.tmp", None),
        ("x.xml", None),
        (".ready", "no id"),
        (".x.ready", "id starts with a dot"),
        ("x.working", "no driver number"),
        ("x.y.working", "no driver number"),
        ("x.\u0663.working", "no driver number"),
        ("3.working", "no id"),
        ("x.1234567890.working", "no driver number"),
        ("a\nb.ready", "control character or slash in id"),
        ("a/b.ready", "control character or slash in id"),
        ("x" * 201 + ".ready", "id longer than 200 bytes"),
        ("\u00e9" * 101 + ".ready", "id longer than 200 bytes"),
    ],
)
def test_parse(name: str, expected: Item | str | None) -> None:
    assert parse(name) == expected


def test_the_longest_names_fit_any_file_system() -> None:
    id, number = "x" * names.MAX_ID, "9" * names.MAX_NUMBER
    for name in (names.writing(id, number), names.kept(id), names.publishing(id, number), names.attempts(id)):
        assert len(name) <= 255


def test_live_is_what_keeps_a_queue_from_being_done() -> None:
    assert [state for state in ("ready", "working", "writing", "failed") if Item("x", state).live] == [
        "ready",
        "working",
        "writing",
        "failed",
    ]
    assert not Item("x", "failed_twice").live
    assert not Item("x", "kept").live


def test_a_free_document_is_named_by_its_state() -> None:
    for state in ("ready", "failed", "failed_twice", "kept"):
        assert names.parse(names.of(state, "d")) == Item("d", state)
