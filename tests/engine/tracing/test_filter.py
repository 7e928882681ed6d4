"""The filter language, term by term."""

from __future__ import annotations

import pytest

from engine.parts.explain import Decoded
from engine.tracing.filter import KNOWN, MAX_TERMS, BadFilter, parse
from engine.tracing.links import Entry

DECODED = Decoded("REGISTER", (("slots", "10"),), b"w7")
ENTRY = Entry(
    number=1,
    part=0,
    at=1.0,
    node="broker",
    seat="broker",
    role="broker",
    direction="in",
    source="w7",
    target="broker",
    command="REGISTER",
    fields=(("slots", "10"),),
    size=42,
    rule="000 REGISTER",
    violation="bad slots",
    task=(b"client-1", (7).to_bytes(8, "little")),
    decoded=DECODED,
    frames=[b"w7"],
    socket="main",
    link=b"w7",
    record=None,
)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("worker=w7", True),
        ("worker=worker-7", True),
        ("from=W7", True),
        ("at=w*", True),
        ("worker=w1", False),
        ("worker=w77", False),
        ("to=w7", False),
    ],
)
def test_a_worker_by_its_seat_or_in_short(text: str, fits: bool) -> None:
    assert parse(text)(ENTRY._replace(source="worker-7", seat="worker-7")) == fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        ("worker=w7", True),
        ("worker=W7", True),
        ("worker=w8", False),
        ("from=w7", True),
        ("from=broker", False),
        ("to=broker", True),
        ("at=broker", True),
        ("at=w7", False),
        ("cmd=register", True),
        ("cmd=REG*", True),
        ("cmd=REG", False),
        ("dir=in", True),
        ("dir=out", False),
        ("rule=000", True),
        ("rule=001", False),
        ("task=7", True),
        ("task=0700000000000000", True),
        ("task=8", False),
        ("client=client-1", True),
        ("client=client-2", False),
        ("violation", True),
        ("violation=slots", True),
        ("violation=version", False),
        ("size>41", True),
        ("size > 42", False),
        ("size>=42", True),
        ("size<43", True),
        ("size<=41", False),
        ("size=42", True),
        ('"SLOTS=10"', True),
        ('"free text"', False),
        ('cmd="REGISTER"', True),
        ("!worker=w8", True),
        ("!violation", False),
        ('!"slots"', False),
        ("worker=w7 cmd=REGISTER", True),
        ("worker=w7 and cmd=PING", False),
        ("worker=w7 and !cmd=PING and size>1", True),
    ],
)
def test_a_filter_fits_or_not(text: str, fits: bool) -> None:
    assert parse(text)(ENTRY) is fits


def test_terms_about_what_is_not_there() -> None:
    bare = ENTRY._replace(task=None, violation="")
    assert [parse(text)(bare) for text in ("task=*", "client=*", "violation", "violation=*")] == [False] * 4


def test_only_filters_about_tasks_need_the_other_end() -> None:
    assert parse("task=7").needs_task and parse("!client=c").needs_task
    assert not parse("cmd=task worker=w7").needs_task


@pytest.mark.parametrize(
    ("text", "term", "why"),
    [
        ("foo=1", "foo=1", "no term 'foo'"),
        ("worker=w7 REGISTER", "REGISTER", "no such term"),
        ("size>much", "size>much", "no number of bytes"),
        ("cmd>3", "cmd>3", "cmd has no order"),
        ('"open', '"open', "a quote is not closed"),
        ("!and", "and", "no such term"),
        ("worker=", "worker=", "no such term"),
        ("size=9999999999999", "size=9999999999999", "no number of bytes"),
    ],
)
def test_an_error_names_the_term_and_lists_what_there_is(text: str, term: str, why: str) -> None:
    with pytest.raises(BadFilter) as caught:
        parse(text)
    said = str(caught.value)
    assert said.startswith(f"{term}: {why}")
    assert all(known in said for known in KNOWN)


def test_a_filter_has_an_end() -> None:
    assert parse("violation " * MAX_TERMS)(ENTRY)
    with pytest.raises(BadFilter, match=f"more than {MAX_TERMS} terms"):
        parse("violation " * (MAX_TERMS + 1))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("driver=parse.7", True),
        ("driver=7", True),
        ("worker=7 to=start", True),
        ("driver=1", False),
        ("document=a.01", True),
        ("task=a.*", True),
        ("document=b", False),
    ],
)
def test_a_driver_by_its_seat_or_number_and_a_document_by_its_id(text: str, fits: bool) -> None:
    entry = ENTRY._replace(source="parse.7", target="start", seat="parse.7", task=(b"", b"a.01"))
    assert parse(text)(entry) == fits and parse("document=a").needs_task
