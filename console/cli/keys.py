"""The command ``keys``: pairs of one's own, and the keys that may connect to brokers of this user."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from console.cli.streams import result, tell
from console.text import clean
from engine.drive.security import keys as files
from engine.drive.security.keyring import Keyring
from engine.drive.security.keys import AUTHORIZED, PUBLIC, SECRET, Key
from engine.errors import Refused
from engine.settings.paths import Paths


def keys(options: Namespace) -> int:
    """Carry out one order; 2 where it is refused, 1 where a key in the list can not be used."""
    folder = Paths.of_user().keys
    try:
        match options.order:
            case "new":
                key = files.make(folder, options.name, options.role)
                result(f"{folder / (key.name + SECRET)}: keep it here, and to yourself\n")
                result(f"{folder / (key.name + PUBLIC)}: authorize it where the broker runs, or name it to peers\n")
            case "authorize":
                key = asked(folder, options)
                files.authorize(folder, key)
                result(f"{key.words} may connect; brokers that run with --curve know it within a second\n")
            case "revoke":
                files.revoke(folder, options.name)
                result(f"{options.name} may connect no more; brokers that run cut it off within a second\n")
            case _:
                return table(folder)
    except Refused as refusal:
        tell(str(refusal))
        return 2
    return 0


def asked(folder: Path, options: Namespace) -> Key:
    """The key that is to be authorized. Raises Refused where it is none, or its name or role is not known."""
    digits = files.digits_of(options.key)
    key = files.named(folder, options.key) if digits is None else Key(options.name or "", options.role or "", digits)
    key = key._replace(name=options.name or key.name, role=options.role or key.role)
    if not key.name or not key.role:
        raise Refused("a key alone tells neither name nor role: add --name NAME and --role ROLE")
    files.check_name(key.name)
    return key


def table(folder: Path) -> int:
    """A line for each key; what can not be used is told."""
    rows, wrongs = [("", "name", "role", "public key")], []
    for path in sorted(folder.glob(f"*{SECRET}")):
        try:
            key = files.own(folder, path.stem)
            rows.append(("own", key.name, key.role, key.public))
        except Refused as refusal:
            wrongs.append(str(refusal))
    ring = Keyring(folder)
    _, notes = ring.refresh()
    rows += [("authorized", key.name, key.role, key.public) for key in ring]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        result("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() + "\n")
    if len(rows) == 1:
        result(f"no key is here yet: roundhouse keys new NAME makes one; others are in {folder / AUTHORIZED}\n")
    wrongs += [note.text for note in notes]
    for wrong in wrongs:
        tell(clean(wrong, len(wrong) + 1))
    return 1 if wrongs else 0
