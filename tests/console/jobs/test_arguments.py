"""What describes a job on a command line."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from console.jobs.arguments import PROCESSORS, TASKS, add_job


def test_options_are_read_and_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser(prog="submit")
    add_job(parser)
    options = parser.parse_args(["--tasks", "5", "--processors", "2", "--name", "x"])
    assert (options.tasks, options.processors, options.name, options.file) == (5, 2, "x", None)
    for name, wanted in (("--tasks", TASKS), ("--processors", PROCESSORS)):
        with pytest.raises(SystemExit):
            parser.parse_args([name, "0"])
        assert f"expected a whole number {wanted.__metadata__[0]}" in capsys.readouterr().err  # type: ignore[attr-defined]
