"""Pipelines in TOML: what stands in one, and everything that is wrong with it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.pipelinefile import read_pipeline
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.settings.tomlfile import MAX_FILE, Wrong


def test_stages_and_options(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(
        """
        [[stage]]
        name = "values"

        [[stage]]
        name = "parse"
        workers = 3
        work = "parse {input} {output}"

        [diskqueue]
        max_files = 20
        """,
        encoding="utf-8",
    )
    stages, options = read_pipeline(file, Options(poll=0.1))
    assert stages == (Stage("values"), Stage("parse", 3, "parse {input} {output}"))
    assert options == Options(max_files=20, poll=0.1)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("", ["FILE: [[stage]]: at least one is needed"]),
        ("stage = 3", ["FILE:1: [[stage]]: at least one is needed"]),
        ("[[stage]]\nworkers = 2", ["FILE: stage 1: name is missing"]),
        (
            "[[stage]]\nname = 3\nworker = 1",
            [
                "FILE: stage 1: name: expected plain text, got 3",
                "FILE: stage 1: worker: no such key; did you mean workers?",
            ],
        ),
        (
            '[[stage]]\nname = "a"\nworkers = 0\n[diskqueue]\npoll = "x"',
            [
                "FILE:5: poll: expected a number from 0.01 to 3,600 seconds, got 'x'",
                "FILE: stage 1: workers: expected a whole number from 1 to 1,000, got 0",
            ],
        ),
        ('[[stage]]\nname = "a"\n[[stage]]\nname = "a"', ["FILE: stage 'a' is there twice"]),
        ('[[stage]]\nname = "start"', ["FILE: stage 'start=1': a name is letters, digits, - and _, and not 'start'"]),
        ('stages = 1\n[[stage]]\nname = "a"', ["FILE:1: stages: no such key; did you mean stage?"]),
        ('diskqueue = 1\n[[stage]]\nname = "a"', ["FILE:1: [diskqueue] is not a table"]),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, reasons: list[str]) -> None:
    file = tmp_path / "p.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Wrong) as caught:
        read_pipeline(file, Options())
    assert [str(problem).replace(str(file), "FILE") for problem in caught.value.problems] == reasons


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    with pytest.raises(Wrong, match="No such file"):
        read_pipeline(file, Options())
    file.write_bytes(b"# " + b"x" * MAX_FILE)
    with pytest.raises(Wrong, match="larger than"):
        read_pipeline(file, Options())
    file.write_text("[[[", encoding="utf-8")
    with pytest.raises(Wrong, match=r"p\.toml"):
        read_pipeline(file, Options())
