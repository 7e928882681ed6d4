"""How single arguments are read, and in which words they are refused."""

from __future__ import annotations

import argparse
from typing import Annotated

import pytest

from console.cli.parsing import Parser, keeper, option
from console.readers import value
from engine.schema import Range
from engine.settings.settings import Flag

Capture = pytest.CaptureFixture[str]


def test_what_is_refused_is_named_with_where_help_is(capsys: Capture) -> None:
    parser = Parser(prog="tool", parents=[option("--size", type=value(Annotated[int, Range(1, 9, "bytes")]))])
    parser.add_argument("order", metavar="ORDER", choices=("start", "stop"))
    assert parser.parse_args(["--size", "9", "stop"]) == argparse.Namespace(size=9, order="stop")
    for line, reason in (
        ("--size 0 stop", "--size: expected a whole number from 1 to 9 bytes, got 0"),
        ("stpo", "ORDER: expected one of start, stop, got 'stpo'; did you mean stop?"),
    ):
        with pytest.raises(SystemExit) as caught:
            parser.parse_args(line.split())
        assert caught.value.code == 2
        assert capsys.readouterr() == ("", f"roundhouse: {reason}\nroundhouse: how it is called: tool --help\n")


def test_examples_stand_before_the_rest_at_the_end_of_a_help() -> None:
    assert (
        Parser(examples=("tool a", "tool b"), epilog="More.")
        .format_help()
        .endswith("for example:\n  tool a\n  tool b\n\nMore.\n")
    )
    assert "example" not in Parser().format_help()


def test_settings_are_kept_as_they_were_typed() -> None:
    flags: list[Flag] = []
    parser = Parser()
    parser.add_argument("--quiet", nargs=0, action=keeper(flags)("quiet"))
    parser.add_argument("n", metavar="N", action=keeper(flags)("run", "count"))
    parser.parse_args(["--quiet", "x"])
    assert flags == [Flag(("quiet",), "--quiet", "true"), Flag(("run", "count"), "N", "x")]
