from __future__ import annotations

import pytest

from console.bulks import Asked, read, spec
from engine.parts.bulk import BulkSpec
from engine.settings.settings import Run


def test_positions_and_options_say_the_same() -> None:
    assert read("bulkping", "100") == Asked(100)
    assert read("bulkping", "1,000 50") == read("bulkping", "1000 --in-flight 50") == Asked(1000, 50)
    assert read("bulkping", "9 5 2.5") == read("bulkping", "--rate=2.5 9 --in-flight=5") == Asked(9, 5, 2.5)
    assert read("bulkdata", "9 --timeout 0.5 --bytes 64") == Asked(9, None, None, 0.5, 64)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "bulkping needs a number from 1 to 100,000,000, got nothing"),
        ("5 x", "--in-flight needs a number from 1 to 1,000,000, got 'x'"),
        ("5 1 0", "--rate needs a number from 0.001 to 10,000,000, got '0'"),
        ("5 --rate nan", "--rate needs a number"),
        ("5 --timeout", "--timeout needs a number from 0.001 to 3,600, got nothing"),
        ("5 1 2 3", "bulkping takes N"),
        ("5 --bytes 9", "bulkping has no '--bytes'; it takes --in-flight, --rate, --timeout"),
    ],
)
def test_what_is_wrong_is_said(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace("(", r"\(")):
        read("bulkping", text)


def test_data_streams_are_asked_for_all_at_once_within_the_backlogs_bound() -> None:
    run = Run()
    assert spec("ping", Asked(100), run, 10_000) == BulkSpec("ping", 100, 0, 10, None, 5.0)
    assert spec("data", Asked(100), run, 10_000) == BulkSpec("data", 100, 1024, 100, None, 5.0)
    assert spec("data", Asked(50_000), run, 10_000).in_flight == 10_000
    assert spec("data", Asked(50_000), Run(data_in_flight=20), 10_000).in_flight == 20
    assert spec("data", Asked(50, 5, 2.0, 1.0, 9), run, 10_000) == BulkSpec("data", 50, 9, 5, 2.0, 1.0)
