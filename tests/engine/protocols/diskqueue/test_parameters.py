"""Parameter files as the original writes and reads them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.diskqueue.parameters import MAX_DEPTH, ParameterError, Parameters, read_parameters


def read(**files: str) -> Parameters:
    """The first of the files, all of them in one folder."""
    texts = {f"/p/{name}": text for name, text in files.items()}

    def load(path: str) -> str:
        if path not in texts:
            raise FileNotFoundError(f"no such file: {path}")
        return texts[path]

    return read_parameters(next(iter(texts)), load)


def test_a_file_as_the_original_watchdog_writes_it() -> None:
    found = read(
        worker="""
    #experiment_dir:     /e
    UNSET experiment_dir
    queue_driver:                 disk
    disk_queue_src:               /q/queue-start
    disk_queue_worker_ext:        .3

    INCLUDE master

    OVERRIDE start_stage:         start+1
    OVERRIDE source_format:       sgm
    """,
        master="start_stage: tokens\nsource_format: serifxml\nqueue_driver: disk\n",
    )
    assert found.values == {
        "queue_driver": "disk",
        "disk_queue_src": "/q/queue-start",
        "disk_queue_worker_ext": ".3",
        "start_stage": "start+1",
        "source_format": "sgm",
    }
    assert found.warnings == ()


def test_the_first_value_stands_unless_the_second_says_override() -> None:
    found = read(a="x: 1\nx: 2\ny: 1\nOVERRIDE y: 2\n")
    assert found.values == {"x": "1", "y": "2"}
    assert found.warnings == ("/p/a: x keeps '1', ignored '2' without OVERRIDE",)


def test_unset_and_override_unset() -> None:
    assert read(a="x: 1\ny: 1\nUNSET x\nOVERRIDE UNSET y\nUNSET never\n").values == {}


def test_a_value_may_hold_colons_and_hashes() -> None:
    assert read(a="x: http://a:1 # b\n").values == {"x": "http://a:1 # b"}


def test_variables_and_relative_paths() -> None:
    found = read(a="root: ./q\nsrc: %root%/queue-start\nup: ../x\nrate: 5 % of 10 %\n")
    assert found.values == {"root": "/p/q", "src": "/p/q/queue-start", "up": "/x", "rate": "5 % of 10 %"}


def test_an_at_sign_includes_as_well() -> None:
    assert read(a="@b\nx: 2\n", b="x: 1\n").values == {"x": "1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n", "/p/a, line 1: not a 'key: value' pair: 'x'"),
        ("\n\nx:\n", "/p/a, line 3: not a 'key: value' pair: 'x:'"),
        ("x y: 1\n", "/p/a, line 1: not a 'key: value' pair: 'x y: 1'"),
        ("x: %nobody%\n", "/p/a, line 1: %nobody% is not set by here"),
        ("INCLUDE b\n", "/p/b: no such file: /p/b"),
        ("INCLUDE a\n", "/p/a includes itself"),
    ],
)
def test_errors_name_file_and_line(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        read(a=text)
    assert str(error.value) == message


def test_depth_is_bounded() -> None:
    files = {f"f{i}": f"INCLUDE f{i + 1}\n" for i in range(MAX_DEPTH + 1)}
    with pytest.raises(ParameterError, match="more than 20 deep"):
        read(**files)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ParameterError):
        read(a=text)
