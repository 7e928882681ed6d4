"""Paths as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from console import files


def test_folders_end_in_a_slash_and_what_is_hidden_or_needs_quotes_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b", "a.txt", ".hidden", "with blank", "\x1b[31m"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    assert files.beginning_with(f"{tmp_path}/") == [f"{tmp_path}/{name}" for name in ("a.txt", "b", "sub/")]
    assert files.beginning_with(f"{tmp_path}/.h") == [f"{tmp_path}/.hidden"]
    assert files.beginning_with(f"{tmp_path}/no/such") == []
    monkeypatch.chdir(tmp_path)
    assert files.beginning_with("s") == ["sub/"]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.beginning_with("~/a") == ["~/a.txt"]


def test_a_line_is_read_as_a_shell_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/house/me")
    for name in ("1.txt", "2.txt", "star*"):
        (tmp_path / name).touch()
    assert files.read("'with blank' ~/x *.txt nosuch? star*") == [
        "with blank",
        "/house/me/x",
        "1.txt",
        "2.txt",
        "nosuch?",
        "star*",
    ]
    with pytest.raises(ValueError, match="No closing quotation"):
        files.read("'open")
