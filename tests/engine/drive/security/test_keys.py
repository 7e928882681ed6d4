"""Files of keys: how they are made, what is refused of them, and how keys are written."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import zmq

from engine.drive.security import keys
from engine.errors import Refused


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_pair_is_two_files_of_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    key = keys.make(folder, "w1", "worker")
    assert (mode(folder), mode(folder / "w1.secret"), mode(folder / "w1.pub")) == (0o700, 0o600, 0o600)
    assert keys.own(folder, "w1") == key and keys.named(folder, "w1") == key._replace(secret="")
    assert zmq.curve_public(keys.curve(key.secret)) == keys.curve(key.public)
    assert key.secret not in (folder / "w1.pub").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["w1.pub", "w1.secret"]


def test_a_pair_is_never_overwritten(tmp_path: Path) -> None:
    before = keys.make(tmp_path, "w1", "worker")
    with pytest.raises(Refused, match="a key is never overwritten"):
        keys.make(tmp_path, "w1", "client")
    assert keys.own(tmp_path, "w1") == before and keys.named(tmp_path, "w1").public == before.public


@pytest.mark.parametrize("name", ["", "../x", ".x", "a b", "x" * 65, "-x"])
def test_what_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="is no name of a key"):
        keys.make(tmp_path, name, "worker")
    assert not list(tmp_path.iterdir())


def test_a_looser_mode_is_refused_with_what_mends_it(tmp_path: Path) -> None:
    keys.make(tmp_path, "w1", "worker")
    path = tmp_path / "w1.secret"
    path.chmod(0o640)
    with pytest.raises(Refused, match=f"its mode is 640, so others can reach it: chmod 600 {path}"):
        keys.own(tmp_path, "w1")


def test_keys_are_64_digits_or_zeromqs_own_40_characters(tmp_path: Path) -> None:
    key = keys.make(tmp_path, "w1", "worker")
    assert keys.digits_of(key.public.upper()) == keys.digits_of(keys.curve(key.public).decode()) == key.public
    assert keys.digits_of("w1") is keys.digits_of("~" * 40) is keys.digits_of("0" * 63) is None
    assert keys.public_of(tmp_path, key.public) == keys.public_of(tmp_path, "w1") == key.public
    assert keys.public_of(tmp_path, str(tmp_path / "w1.pub")) == key.public
    with pytest.raises(Refused, match="neither a file, nor the name of a key here"):
        keys.public_of(tmp_path, "nobody")
    with pytest.raises(Refused, match="holds a secret, which stays where it was made"):
        keys.named(tmp_path, str(tmp_path / "w1.secret"))


def test_what_is_no_key_is_refused_with_the_reason(tmp_path: Path) -> None:
    good, other = keys.make(tmp_path, "w1", "worker"), keys.make(tmp_path, "w2", "worker")
    for text, why in (
        (good.text + "x = 1\n", "and nothing else"),
        (good._replace(role="king").text, "one role of"),
        (good._replace(public="0").text, "64 hexadecimal digits"),
        (good._replace(secret=other.secret).text, "is not that of its secret"),
        ("name = 1", "texts for"),
        ("[" * 9000, "larger than"),
        ("[" * 4000, "not a key"),
        ("\udcff", "not a key"),
    ):
        with pytest.raises(ValueError, match=why):
            keys.parse(text.encode(errors="surrogateescape"))
    assert keys.parse(good.text.encode()) == good


def test_the_file_has_the_name_of_its_key(tmp_path: Path) -> None:
    keys.make(tmp_path, "w1", "worker")
    (tmp_path / "w1.secret").rename(tmp_path / "w2.secret")
    with pytest.raises(Refused, match="the key in it is named w1"):
        keys.own(tmp_path, "w2")


def test_a_name_and_a_key_are_authorized_once_and_revoked_by_the_name(tmp_path: Path) -> None:
    w1, w2 = (keys.make(tmp_path, name, "worker")._replace(secret="") for name in ("w1", "w2"))
    keys.authorize(tmp_path, w1)
    assert mode(tmp_path / "authorized" / "w1.pub") == 0o600
    with pytest.raises(Refused, match=r"this key is authorized already, as w1 \(worker"):
        keys.authorize(tmp_path, w1._replace(name="other"))
    with pytest.raises(Refused, match="another key is authorized as w1: revoke it first"):
        keys.authorize(tmp_path, w2._replace(name="w1"))
    keys.revoke(tmp_path, "w1")
    with pytest.raises(Refused, match="no key is authorized as w1"):
        keys.revoke(tmp_path, "w1")
    keys.authorize(tmp_path, w2._replace(name="w1"))
