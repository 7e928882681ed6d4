"""The authorized keys follow their files, each for itself."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from engine.core import WORKERS
from engine.drive.security import keyring as module
from engine.drive.security import keys
from engine.drive.security.keyring import Keyring, refusal


def authorized(folder: Path, *names: str) -> list[keys.Key]:
    made = [keys.make(folder, name, "worker")._replace(secret="") for name in names]
    for key in made:
        keys.authorize(folder, key)
    return made


def test_what_is_authorized_and_revoked_is_known_at_the_next_look(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    assert ring.refresh() == (False, []) and list(ring) == []
    a, b = authorized(tmp_path, "a", "b")
    assert ring.refresh() == (True, []) and list(ring) == [a, b] and ring.key(a.public) == a
    assert ring.refresh() == (False, [])
    keys.revoke(tmp_path, "a")
    assert ring.refresh() == (True, []) and list(ring) == [b] and ring.key(a.public) is None
    assert refusal(ring, a.public, ()) == f"{a.words} is not authorized any more"
    assert refusal(ring, b.public, WORKERS) == refusal(ring, b.public, ()) == ""
    assert refusal(ring, b.public, ("client",)) == f"{b.words} may not do what is done there by a client"
    assert "roundhouse keys authorize 00 --name NAME --role worker" in refusal(ring, "00", WORKERS)
    assert "is not authorized" in refusal(None, b.public, WORKERS)


def test_a_bad_file_disables_its_own_key_alone_and_is_said_once(tmp_path: Path) -> None:
    a, b = authorized(tmp_path, "a", "b")
    ring = Keyring(tmp_path)
    ring.refresh()
    path = tmp_path / "authorized" / "a.pub"
    path.chmod(0o644)
    changed, (note,) = ring.refresh()
    assert changed and list(ring) == [b]
    assert note.level == "bad" and note.text.endswith(
        f"a.pub: its mode is 644, so others can reach it: chmod 600 {path}"
    )
    assert ring.refresh() == (False, [])
    path.chmod(0o600)
    assert ring.refresh() == (True, []) and list(ring) == [a, b]
    path.write_text("half a fi")
    assert [note.text for note in ring.refresh()[1]] != [] and list(ring) == [b]
    (tmp_path / "authorized" / "c.pub").mkdir()
    assert "is a folder" in ring.refresh()[1][0].text and list(ring) == [b]


def test_of_two_files_with_one_key_the_first_counts(tmp_path: Path) -> None:
    (a,) = authorized(tmp_path, "a")
    keys.write(tmp_path / "authorized" / "z.pub", a._replace(name="z", role="operator"))
    ring = Keyring(tmp_path)
    assert "z.pub: the same key is a's" in ring.refresh()[1][0].text
    assert list(ring) == [a]


def test_a_folder_that_others_can_reach_authorizes_nobody(tmp_path: Path) -> None:
    (a,) = authorized(tmp_path, "a")
    folder = tmp_path / "authorized"
    folder.chmod(0o777)
    ring = Keyring(tmp_path)
    (note,) = ring.refresh()[1]
    assert f"its mode is 777, so others can reach it: chmod 700 {folder}" in note.text and list(ring) == []
    folder.chmod(0o700)
    assert ring.refresh() == (True, []) and list(ring) == [a]


def test_want_of_descriptors_revokes_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (a,) = authorized(tmp_path, "a")
    ring = Keyring(tmp_path)
    ring.refresh()

    def short(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(module, "read", short)
        (tmp_path / "authorized" / "a.pub").touch()
        assert ring.refresh() == (False, []) and list(ring) == [a]
        patched.setattr("os.listdir", short)
        changed, (note,) = ring.refresh()
        assert not changed and "Too many open files" in note.text and list(ring) == [a]
    assert ring.refresh() == (False, []) and list(ring) == [a]
