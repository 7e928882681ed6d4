"""A pipeline's root: who may change it, what is made in it, and what is remembered there.

The rules of this file:

- A user who can change a root can run commands (``pipeline.json``), end drivers and move documents. So nothing is done
  in a root that another user can change: the folder, those above it, and ``pipeline.json`` belong to this user or to
  the superuser, and only they may write there. Of a folder above, others may write if it is sticky, as /tmp is.
- Looking is allowed anywhere: what is read is a regular file, bounded, and checked to its last field.
- What is made is 0700; queues, which others may have to write in, are as the pipeline's options say.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Annotated, Any, get_type_hints

from engine.drive.queuefolders import make_queue
from engine.errors import Refused
from engine.files import safely
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.parameters import writable
from engine.protocols.diskqueue.pipeline import MAX_WORKERS, START, Stage, check_stages, queue_folder
from engine.schema import Misfit, Range, fit, nearest

MEMORY = "pipeline.json"
NAMEABLE = "name one of printable characters, without %...%"
MOST = 1024 * 1024  # bytes of it
OPTIONS: dict[str, Any] = get_type_hints(Options, include_extras=True)
WORKERS: Any = Annotated[int, Range(1, MAX_WORKERS)]


# ---- whose it is ---------------------------------------------------------------------------------------------------


def check(root: str) -> None:
    """Raise ``Refused`` with owner and mode where others can change this root; a root that does not exist is fine."""
    for path, above in _parts(root):
        with suppress(FileNotFoundError, NotADirectoryError):
            if why := strange(os.stat(path), above):
                raise Refused(
                    f"{path} {why}: who can change it could have commands run here. "
                    "Take a folder that only you can write (chmod go-w), or say --trust-root if you know who can"
                )


def strange(found: os.stat_result, above: bool = False) -> str:
    """Why others can change this file or folder, with owner and mode; the empty string where they can not.

    ``above``: a folder in which only one entry matters; in a sticky folder others can not rename that entry.
    """
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to uid {found.st_uid} (mode {mode:04o})"
    if mode & 0o022 and not (above and mode & stat.S_ISVTX):
        return f"can be written by others than uid {found.st_uid} (mode {mode:04o})"
    return ""


def _parts(root: str) -> Iterator[tuple[str, bool]]:
    path = os.path.realpath(root)
    yield f"{path}/{MEMORY}", False
    yield path, False
    while (parent := os.path.dirname(path)) != path:
        path = parent
        yield path, True


def check_name(root: str) -> None:
    """Raise ``Refused`` for a root that a driver's parameter file can not name."""
    if not writable(root):  # bytes that are no UTF-8 are not printable either
        raise Refused(f"no parameter file can name the folder {root!a}: {NAMEABLE}")


# ---- its content ---------------------------------------------------------------------------------------------------


def make(root: str, stages: Sequence[Stage], mode: int) -> None:
    """The root and its queues, as far as they are missing, these with ``mode``.

    Raises OSError, or ``Refused`` for an impossible name.
    """
    check_name(root)
    for name in (START, *(stage.name for stage in stages)):
        make_queue(queue_folder(root, name), mode)


def remember(root: str, stages: Sequence[Stage], options: Options) -> None:
    """Write down what is run in it, where that is not written there already. Raises OSError."""
    known = {"stages": [list(stage) for stage in stages], "options": asdict(options)}
    path, content = f"{root}/{MEMORY}", json.dumps(known, indent=1).encode()
    with suppress(OSError):
        if safely.read(path, MOST) == content:
            return  # so a pipeline can be run again while the disk is full
    safely.replace(path, content)


def recall(root: str) -> tuple[tuple[Stage, ...], Options]:
    """What was last run in it. Raises ``Refused`` where nothing was, or where that can not be read."""
    path = f"{root}/{MEMORY}"
    try:
        known = json.loads(safely.read(path, MOST))
    except FileNotFoundError as error:
        raise Refused(f"there is no pipeline in {root}: none was run there, so its stages are not known") from error
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    except json.JSONDecodeError as error:
        raise Refused(f"{path}:{error.lineno} is not what a pipeline writes: {error.msg}") from error
    except RecursionError as error:
        raise Refused(f"{path} is not what a pipeline writes: nested too deeply") from error
    except ValueError as error:  # no UTF-8, or a number of thousands of digits
        raise Refused(f"{path} is not what a pipeline writes: {error}") from error
    try:
        return _stages(known), _options(known)
    except ValueError as error:
        raise Refused(f"{path} is not what a pipeline writes: {error}") from error


def _stages(known: object) -> tuple[Stage, ...]:
    listed = known.get("stages") if isinstance(known, dict) else None
    if not isinstance(listed, list):
        raise ValueError("a list of stages is missing")
    stages = []
    for number, entry in enumerate(listed, 1):
        if not isinstance(entry, list) or len(entry) != 3:
            raise ValueError(f"stage {number} is not a name, a number of workers and what they do")
        try:
            stages.append(Stage(fit(entry[0], str), fit(entry[1], WORKERS), fit(entry[2], str)))
        except Misfit as misfit:
            raise ValueError(f"stage {number}: {misfit}") from None
    return check_stages(stages)


def _options(known: dict[str, object]) -> Options:
    given = known.get("options", {})
    if not isinstance(given, dict):
        raise ValueError("options are not a table")
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in OPTIONS:
            raise ValueError(f"options: there is no {key!a}{nearest(key, OPTIONS)}")
        try:
            found[key] = fit(value, OPTIONS[key])
        except Misfit as misfit:
            raise ValueError(f"{key}: {misfit}") from None
    return Options(**found)
