"""What the pure side asks of a disk, and what it hears back.

The rules of this file:

- An operation touches one name and is atomic: it happened or it did not. A driver may die between any two.
- Nothing here replaces an existing file, except ``WriteOut`` its own.
- Only regular files of the folder itself are items. No link is followed, no FIFO or device is opened; a file of ours
  that something else stands for, or a file of another user, is made anew.
- The answer says ``gone``, ``exists``, ``odd`` (no regular file) or ``foreign`` (the folder is sticky, so only another
  user may rename or remove it) where that is part of the game, and ``full``, ``denied`` or ``broken`` where the disk is
  in trouble. A procedure never sees the latter: whoever runs it waits and asks again. Any other error may come as the
  answer to any operation, for others write in the folder too: a procedure that takes no notice of one says why it may.

A procedure is a generator that yields operations and is sent their answers; so the order in which names change, on
which everything in this system rests, reads as plain text and runs on a real disk and on a simulated one alike.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal, NamedTuple, TypeVar

Error = Literal["", "gone", "exists", "odd", "foreign", "full", "denied", "broken"]

TROUBLE: frozenset[Error] = frozenset({"full", "denied", "broken"})
"""The disk refuses for reasons that are not the document's: wait, tell, ask again."""


class Entry(NamedTuple):
    """One file of a folder."""

    name: str
    mtime_ns: int  # of the content: renaming keeps it
    size: int  # bytes


class List(NamedTuple):
    """The files of a folder, in no order; the answer carries ``entries``, ``odd`` and ``still``."""

    folder: str


class Exists(NamedTuple):
    """Whether there is such a file, and whether it is ``foreign``; ``gone`` where there is none, ``odd`` for a link."""

    folder: str
    name: str


class Read(NamedTuple):
    """The beginning of a small text file, at most 64 KiB; the answer says whether it is ``foreign``."""

    folder: str
    name: str


class Take(NamedTuple):
    """Rename what several drivers want. Exactly one gets it; the others hear ``gone``. ``foreign``: nobody can."""

    folder: str
    name: str
    new: str


class Rename(NamedTuple):
    """Rename what only this driver may touch. ``exists`` where the new name is in use: nothing is replaced."""

    folder: str
    name: str
    new: str


class Remove(NamedTuple):
    """Delete one file; ``gone`` where it was not there, ``exists`` where it is a folder, ``foreign`` where it stays."""

    folder: str
    name: str


class Touch(NamedTuple):
    """Create an empty file that survives a power cut; nothing happens to one that is there."""

    folder: str
    name: str


class Append(NamedTuple):
    """Append one line to a small text file of this user, all of it or nothing; created where it is missing."""

    folder: str
    name: str
    line: str


class Sync(NamedTuple):
    """Put a file (if named) and then its folder on the disk; the answer says whether the file is ``foreign``."""

    folder: str
    name: str = ""


class Inherit(NamedTuple):
    """Take over the number of a driver that is provably dead, for as long as it takes to settle what it left.

    ``exists`` where it lives, or may; ``gone`` where it has no lock of ours; the answer's text says to people who has
    the document, since when, and what they can do.
    """

    folder: str  # the source
    name: str  # of a document that it holds
    dst: str  # the destination
    number: str
    word: bool = False  # an operator says that it is dead


class Disown(NamedTuple):
    """Let go of the number again. ``clean``: nothing is left that bears it."""

    folder: str
    name: str  # of its lock
    dst: str
    number: str
    clean: bool = True


class WriteOut(NamedTuple):
    """Replace a driver's own small file (its timers) in one step."""

    path: str
    text: str


class Log(NamedTuple):
    """Append one line to a driver's own log, which forgets its oldest half when it is too long."""

    path: str
    line: str


Operation = List | Exists | Read | Take | Rename | Remove | Touch | Append | Sync | Inherit | Disown | WriteOut | Log


class Done(NamedTuple):
    """The answer to one operation (an event of the core that asked for it)."""

    operation: Operation
    error: Error = ""
    text: str = ""  # what ``Read`` found; who ``Inherit`` found; with an error, the system's own words
    entries: tuple[Entry, ...] = ()  # of ``List``
    still: bool = False  # of ``List``: nothing was renamed in the folder while it was read
    odd: tuple[tuple[str, str], ...] = ()  # of ``List``: what is no regular file, by name, and what it is
    foreign: bool = False  # of ``Exists``, ``Read`` and ``Sync``: the file belongs to another user


class Process(NamedTuple):
    """The body of a ``Start``: make ``output`` out of ``input``, both absolute paths."""

    id: str
    attempt: int
    input: str
    output: str


class Processed(NamedTuple):
    """What became of it. ``blocked``: the disk was in trouble, so it says nothing about the document."""

    outcome: Literal["done", "failed", "blocked", "cancelled"]
    text: str = ""


T = TypeVar("T")

Steps = Generator[Operation, Done, T]
"""A procedure over a disk."""
