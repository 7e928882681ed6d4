"""``roundhouse keys``. What the keys then do: tests/loopback/test_curve.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.__main__ import main


def test_a_key_is_made_authorized_listed_and_revoked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "config" / "roundhouse" / "keys"
    assert main(["keys", "list"]) == 0 and "no key is here yet" in capsys.readouterr().out
    assert main(["keys", "new", "w1", "--role", "worker"]) == 0
    assert f"{folder / 'w1.secret'}: keep it here" in capsys.readouterr().out
    assert main(["keys", "authorize", str(folder / "w1.pub")]) == 0
    assert "w1 (worker, " in capsys.readouterr().out
    assert main(["keys", "list"]) == 0
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["own", "w1", "worker"], ["authorized", "w1", "worker"]]
    assert main(["keys", "revoke", "w1"]) == 0 and "may connect no more" in capsys.readouterr().out
    assert main(["keys", "revoke", "w1"]) == 2 and "no key is authorized as w1" in capsys.readouterr().err


def test_a_bare_key_needs_a_name_and_a_role(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "ab" * 32
    assert main(["keys", "authorize", key]) == 2 and "add --name NAME and --role ROLE" in capsys.readouterr().err
    assert main(["keys", "authorize", key, "--name", "ops", "--role", "operator"]) == 0
    assert "ops (operator, abababab…)" in capsys.readouterr().out


def test_what_can_not_be_used_is_told_beside_the_list(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["keys", "new", "a"])
    main(["keys", "new", "b"])
    main(["keys", "authorize", "a"])
    folder = home / "config" / "roundhouse" / "keys"
    (folder / "b.secret").chmod(0o644)
    (folder / "authorized" / "a.pub").write_text("\x1b[2J")
    capsys.readouterr()
    assert main(["keys", "list"]) == 1
    told = capsys.readouterr()
    assert [line.split()[:2] for line in told.out.splitlines()[1:]] == [["own", "a"]]
    assert f"chmod 600 {folder / 'b.secret'}" in told.err and "a.pub: not a key" in told.err and "\x1b" not in told.err
