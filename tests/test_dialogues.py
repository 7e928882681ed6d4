"""The runner of transcripts sees what differs, and writes it anew where it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.dialogues import holds, played

TEXT = """# What is told.

= Two are greeted
+ name Ada
! greet 2
hello Ada
# again
hello Ada
? count 2

= Nobody is
? count 0
"""


class Greeter:
    """Says hello."""

    def __init__(self) -> None:
        self.name, self.count = "", 0

    def give(self, line: str) -> None:
        self.name = line.split()[1]

    def do(self, line: str) -> list[str]:
        self.count = int(line.split()[1])
        return [f"hello {self.name}"] * self.count

    def shown(self, line: str) -> str:
        return f"{line.split()[0]} {self.count}"


def file(folder: Path, text: str) -> Path:
    path = folder / "greetings.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_said_and_asked_is_compared(tmp_path: Path) -> None:
    path = file(tmp_path, TEXT.replace("# again\n", ""))
    assert isinstance(holds(path, 1, Greeter, False), Greeter)
    holds(path, 2, Greeter, False)


@pytest.mark.parametrize(
    ("old", "new"),
    [("hello Ada\n?", "?"), ("hello Ada\n?", "hello Ada\nhello Ada\n?"), ("hello", "good day"), ("count 2", "count 3")],
)
def test_a_difference_fails(tmp_path: Path, old: str, new: str) -> None:
    path = file(tmp_path, TEXT.replace("# again\n", "").replace(old, new))
    with pytest.raises(AssertionError):
        holds(path, 1, Greeter, False)


def test_what_is_said_now_is_written_and_comments_stay(tmp_path: Path) -> None:
    path = file(tmp_path, TEXT.replace("hello Ada", "good day").replace("count 0", "count 9"))
    holds(path, 1, Greeter, True)
    assert path.read_text(encoding="utf-8") == TEXT.replace("# again\nhello Ada\n", "hello Ada\n# again\n")
    assert list(tmp_path.iterdir()) == [path]


def test_a_line_that_nothing_said_is_dropped() -> None:
    assert played(["said by nobody", "? count"], Greeter()) == ["? count 0"]
