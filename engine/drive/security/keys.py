"""Keys of CURVE: pairs that are this user's own, and the public keys of others that may connect.

The rules of this file:

- In the folder of keys ``NAME.secret`` is a pair of one's own and ``NAME.pub`` its public half, to be carried
  elsewhere; ``authorized/NAME.pub`` is a key that may connect. All are TOML of three or four lines.
- Files are new (O_EXCL) and 0600, their folders 0700. A secret or an authorized key whose file others can read or write
  is refused, with the command that mends it.
- The name of a file is the name in it. A name has one key, and a key has one role.
- Keys are written as 64 hexadecimal digits, which every shell leaves alone; ZeroMQ's own 40 characters are read too.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import zmq
from zmq.utils import z85

from engine.errors import Refused
from engine.files import personal, safely

ROLES = ("client", "worker", "viewer", "operator", "broker")
"""What a key is for. An operator may do what a client may; ``broker`` is the fallback of a pair."""

SECRET, PUBLIC = ".secret", ".pub"
AUTHORIZED = "authorized"
MAX_KEYS = 10_000  # that may be authorized
MAX_FILE = 4096  # bytes
SHOWN = 8  # digits of a key in a message

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEX = re.compile(r"[0-9a-f]{64}")


class Key(NamedTuple):
    """``public`` and ``secret``: 64 hexadecimal digits; ``secret`` is empty of a public half."""

    name: str
    role: str
    public: str
    secret: str = ""

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.name} ({self.role}, {self.public[:SHOWN]}…)"

    @property
    def text(self) -> str:
        """As it is written in a file."""
        secret = f'secret = "{self.secret}"\n' if self.secret else ""
        return f'name = "{self.name}"\nrole = "{self.role}"\npublic = "{self.public}"\n{secret}'


def curve(digits: str) -> bytes:
    """A key as libzmq's options take it."""
    return bytes(z85.encode(bytes.fromhex(digits)))


def digits_of(text: str) -> str | None:
    """A key as an operator wrote it, as 64 digits; None where it is none."""
    if _HEX.fullmatch(text.lower()):
        return text.lower()
    with suppress(ValueError, KeyError, IndexError):
        if len(text) == 40 and len(raw := z85.decode(text.encode("ascii"))) == 32:
            return bytes(raw).hex()
    return None


def check_name(name: str) -> str:
    """The name; raises Refused for what is none."""
    if not _NAME.fullmatch(name):
        raise Refused(f"{name!r} is no name of a key: up to 64 letters, digits, dots, dashes and underscores")
    return name


def make(folder: Path, name: str, role: str) -> Key:
    """A new pair of one's own, in two files. Raises Refused where there is one of that name."""
    public, secret = (z85.decode(half).hex() for half in zmq.curve_keypair())
    key = Key(check_name(name), role, public, secret)
    write(folder / f"{name}{SECRET}", key)
    with suppress(FileNotFoundError):
        os.unlink(folder / f"{name}{PUBLIC}")  # of a pair without its secret
    write(folder / f"{name}{PUBLIC}", key._replace(secret=""))
    return key


def write(path: Path, key: Key) -> None:
    """A new file, 0600, there with all of its content or not at all. Raises Refused."""
    try:
        personal.folder(path.parent)
        half, descriptor = safely.temporary(str(path))
        try:
            try:
                os.fchmod(descriptor, 0o600)
                safely.write(descriptor, key.text.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.link(half, path)
        finally:
            os.unlink(half)
    except FileExistsError:
        raise Refused(f"{path} exists: a key is never overwritten; take another name, or remove that file") from None
    except OSError as error:
        raise Refused(f"{path} can not be written: {error.strerror or error}") from None


def read(path: Path, *, private: bool = True) -> Key:
    """The key in a file. ``private``: the file is this user's alone. Raises ValueError and OSError with the reason."""
    descriptor = personal.opened(path, own=private)
    with os.fdopen(descriptor, "rb") as file:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if private and mode & personal.OTHERS:
            raise PermissionError(errno.EPERM, f"its mode is {mode:o}, so others can reach it: chmod 600 {path}")
        content = file.read(MAX_FILE + 1)
    key = parse(content)
    if private and key.name != path.stem:
        raise ValueError(f"the key in it is named {key.name}: a file has the name of its key")
    return key


def parse(content: bytes) -> Key:
    """The content of a key's file. Raises ValueError with the reason."""
    try:
        if len(content) > MAX_FILE:
            raise ValueError(f"larger than {MAX_FILE} bytes")
        table = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # of TOML and of UTF-8 too
        raise ValueError(f"not a key: {error}") from None
    known = {field: table.pop(field, "") for field in Key._fields}
    if table or not all(type(value) is str for value in known.values()):
        raise ValueError(f"not a key: it holds texts for {', '.join(Key._fields)} and nothing else")
    key = Key(**known)
    if not _NAME.fullmatch(key.name) or key.role not in ROLES:
        raise ValueError(f"not a key: name a key and one role of {', '.join(ROLES)}")
    if not _HEX.fullmatch(key.public) or (key.secret and not _HEX.fullmatch(key.secret)):
        raise ValueError("not a key: 64 hexadecimal digits are expected")
    if key.secret and z85.decode(zmq.curve_public(curve(key.secret))).hex() != key.public:
        raise ValueError("not a key: its public half is not that of its secret")
    return key


def own(folder: Path, name: str) -> Key:
    """The pair of one's own of this name. Raises Refused with what to do."""
    path = folder / f"{check_name(name)}{SECRET}"
    try:
        key = read(path)
    except FileNotFoundError:
        raise Refused(f"there is no key {name} here: make one with roundhouse keys new {name}") from None
    except (OSError, ValueError) as error:
        raise Refused(f"the key {path} can not be used: {reason(error)}") from None
    if not key.secret:
        raise Refused(f"the key {path} can not be used: there is no secret in it")
    return key


def public_of(folder: Path, text: str) -> str:
    """The public key that is meant by 64 digits, a file, or the name of a key of one's own or of an authorized one.

    Raises Refused where none is.
    """
    return digits_of(text) or named(folder, text).public


def named(folder: Path, text: str) -> Key:
    """The public half of the key in this file, or of this name. Raises Refused."""
    places = [Path(text)]
    if _NAME.fullmatch(text):
        places += [folder / f"{text}{PUBLIC}", folder / AUTHORIZED / f"{text}{PUBLIC}"]
    for path in places:
        try:
            key = read(path, private=path is not places[0])
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            raise Refused(f"the key {path} can not be used: {reason(error)}") from None
        if key.secret:
            raise Refused(f"{path} holds a secret, which stays where it was made: give the file {key.name}{PUBLIC}")
        return key
    raise Refused(f"{text!r} is neither a file, nor the name of a key here, nor 64 hexadecimal digits")


def authorize(folder: Path, key: Key) -> None:
    """Let a key connect. Raises Refused where its name or the key itself is authorized already."""
    path = folder / AUTHORIZED / f"{key.name}{PUBLIC}"
    for other in sorted((folder / AUTHORIZED).glob(f"*{PUBLIC}")):
        try:
            known = read(other)
        except (OSError, ValueError):  # one that is not used, as whoever uses them says
            continue
        if known.public == key.public:
            raise Refused(f"this key is authorized already, as {known.words}: revoke that first")
    if path.exists():
        raise Refused(f"another key is authorized as {key.name}: revoke it first, or take another name")
    write(path, key)


def revoke(folder: Path, name: str) -> None:
    """Let no key of this name connect any more. Raises Refused where none may."""
    path = folder / AUTHORIZED / f"{check_name(name)}{PUBLIC}"
    try:
        os.unlink(path)
    except FileNotFoundError:
        raise Refused(f"no key is authorized as {name}: roundhouse keys list shows those that are") from None
    except OSError as error:
        raise Refused(f"{path} can not be removed: {error.strerror or error}") from None


def reason(error: Exception) -> str:
    """An error of a file, without its name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
