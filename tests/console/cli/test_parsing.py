"""How single arguments are read, and in which words they are refused."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated

import pytest

from console.cli.parsing import Parser, given, keeper, option, source, target, value
from engine.schema import Range
from engine.settings import Flag

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


def test_where_something_is_written_and_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    assert (given(" a "), target("-"), target(str(file))) == (" a ", Path("-"), file)
    reading = source("a recording")
    for read, text, reason in (
        (given, " ", "expected a value, got ' '"),
        (target, "", "expected a value, got ''"),
        (target, str(tmp_path), f"{str(tmp_path)!r} is a folder; name a file in it"),
        (target, f"{tmp_path}/b/c", f"there is no folder '{tmp_path}/b'; make it first"),
        (reading, "", "expected a value, got ''"),
        (reading, str(tmp_path), f"{str(tmp_path)!r} is a folder; name a recording"),
        (reading, str(file), f"there is no file {str(file)!r}; name a recording"),
        (reading, "x" * 300, f"{'x' * 300!r}: File name too long"),
    ):
        with pytest.raises(argparse.ArgumentTypeError) as caught:
            read(text)
        assert str(caught.value) == reason
    file.touch()
    assert reading(str(file)) == file
