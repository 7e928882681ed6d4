"""Commands with input and output, through the guard that runs them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from queue import Queue

from engine.core import Piped
from engine.drive import piped as module
from engine.drive.jobs import Jobs
from engine.drive.piped import CALLED, Pipes, unkept, words_of

PATIENCE = 30.0


def test_data_is_input_and_output_is_the_result_and_no_shell_is_asked(tmp_path: Path) -> None:
    ends: Queue[tuple[object, bool, bytes]] = Queue()
    jobs = Jobs(lambda key, ok, result: ends.put((key, ok, result)))
    work = tmp_path / "work.py"
    work.write_text("def back(data):\n    return data[::-1]\n")
    try:

        def ended(key: str, *command: str, data: bytes = b"") -> tuple[object, bool, bytes]:
            jobs.start(key, Piped(command, data))
            return ends.get(timeout=PATIENCE)

        data = b"$(id); `id` | id\0\xff"
        assert ended("in", "cat", data=data) == ("in", True, data)
        assert ended("words", "echo", "$HOME", ";", "id") == ("words", True, b"$HOME ; id\n")
        assert ended("python", f"{work}:back", data=b"abc") == ("python", True, b"cba")
        assert ended("bad", "sh", "-c", "echo part; echo why >&2; exit 3") == (
            "bad",
            False,
            b"error encountered: exit status 3: why",
        )
        key, ok, why = ended("none", str(tmp_path / "gone"))
        assert (key, ok) == ("none", False) and b"No such file" in why
        assert jobs._pipes._folder is not None
        folder = jobs._pipes._folder.path
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert [name for name in os.listdir(folder) if not name.startswith(".")] == []
    finally:
        jobs.close()
    assert not os.path.exists(folder)


def test_an_output_has_an_end(monkeypatch: object, tmp_path: Path) -> None:
    ends: Queue[tuple[object, bool, bytes]] = Queue()
    jobs = Jobs(lambda key, ok, result: ends.put((key, ok, result)))
    before, module.MOST = module.MOST, 10_000
    try:
        jobs.start("flood", Piped(("sh", "-c", "exec cat /dev/zero"), b""))
        key, ok, why = ends.get(timeout=PATIENCE)
        assert (key, ok) == ("flood", False) and why.startswith(b"error encountered: ")
    finally:
        module.MOST = before
        jobs.close()


def test_one_word_that_names_a_function_is_called_in_a_python_of_its_own() -> None:
    assert words_of(Piped(("base64:b64encode",), b"")) == [sys.executable, "-I", str(CALLED), "base64:b64encode"]
    assert words_of(Piped(("tr", "a:b"), b"")) == ["tr", "a:b"]
    assert words_of(Piped(("/bin/true",), b"")) == ["/bin/true"]
    assert unkept(OSError(28, "No space left on device")).endswith("can not be kept: No space left on device")


def test_what_is_no_such_body_has_no_result() -> None:
    pipes = Pipes()
    assert pipes.result(1, True, "done") is None
    pipes.close()
