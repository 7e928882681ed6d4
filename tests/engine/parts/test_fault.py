"""Lines that are read as faults."""

from __future__ import annotations

import pytest

from engine.errors import Refused
from engine.parts.fault import Amount, Fault, Made, line_of, read_line

NAP = Fault("nap", "sleep", ("cat", "dog"), (Amount("seconds", 5.0, 1.0, 9.0),), lambda aim: Made("", [], int))
RAIN = Fault("rain", "get wet", (), (), lambda aim: Made("", [], int))
HOME = Fault("home", "go", ("broker",), (), lambda aim: Made("", [], int))


def test_a_line_is_read_and_written_out() -> None:
    assert read_line([NAP, RAIN], "nap tom") == (NAP, "tom", (5.0,))
    assert read_line([NAP, RAIN], " nap  tom 2.5 ") == (NAP, "tom", (2.5,))
    assert read_line([NAP, RAIN], "rain") == (RAIN, "", ())
    assert read_line([HOME], "home") == (HOME, "broker", ())  # there is only one
    assert line_of(*read_line([NAP], "nap tom")) == "nap tom 5" and line_of(RAIN, "", ()) == "rain"
    assert (NAP.usage, RAIN.usage) == ("nap CAT|DOG [SECONDS]", "rain")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "no fault ''; there are nap, rain"),
        ("nab tom", "no fault 'nab'; did you mean nap?; there are nap, rain"),
        ("nap", "nap needs a target: nap CAT|DOG [SECONDS]"),
        ("nap tom 3 4", "nap takes no '4': nap CAT|DOG [SECONDS]"),
        ("rain tom", "rain takes no 'tom': rain"),
        ("nap tom 10", "nap: seconds is a number from 1 to 9, got '10'; nap CAT|DOG [SECONDS]"),
        ("nap tom x", "nap: seconds is a number from 1 to 9, got 'x'; nap CAT|DOG [SECONDS]"),
    ],
)
def test_what_is_wrong_is_named(line: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        read_line([NAP, RAIN], line)
    assert str(refused.value) == words
