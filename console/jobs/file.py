"""A job as an operator describes it: by a file, by options, by a command line behind ``--``.

A file is TOML, or JSON where its name ends so; its keys are those of ``KEYS``, and options override them. A task runs
one program with its number as the only argument, so a command of several words is put into a script, in a folder of
this user's own: who could write beside it could have something else run.
"""

from __future__ import annotations

import json
import os
import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes
from typing import Any

from console.jobs.arguments import PROCESSORS, TASKS
from engine.drive.driverprocess import own_folder
from engine.drive.roots import strange
from engine.files import safely
from engine.parts.store import GLOBAL
from engine.protocols.conversation.frontend import Submit, refusal
from engine.protocols.conversation.messages import Description
from engine.schema import Misfit, fit, nearest
from engine.settings.tomlfile import Problem, Wrong, deepest_line, longest_number, parse_toml, read_text

KEYS: dict[str, Any] = {
    "command": tuple[str, ...],  # or one text: a program without arguments of its own
    "name": str,
    "tasks": TASKS,
    "dir": str,
    "logs": str,
    "processors": PROCESSORS,
}
SCRIPTS = 10_000  # names that are tried for one


def submit_of(options: Namespace) -> tuple[Submit, tuple[str, ...]]:
    """What is to be submitted, and the words of its command; no script yet. Raises ``Wrong`` where it can not be."""
    found: dict[str, Any] = {"command": tuple(options.words)} if options.file is None else _read(options.file)
    given = {key: getattr(options, key) for key in KEYS if key != "command"}
    found |= {key: value for key, value in given.items() if value is not None}
    where = str(options.file or "submit")
    words = found.get("command", ())
    if not words or not words[0]:
        raise Wrong([Problem(where, "command is missing: the program that each task runs")])
    folder = Path(found.get("dir", ".")).absolute()
    logs = Path(found.get("logs", folder)).absolute()
    problems = [
        Problem(where, f"there is no folder {str(path)!r}; make it first")
        for path in {folder, logs}
        if not os.path.isdir(path)
    ]
    name = found.get("name", Path(words[0]).name)
    job = Description(0, name, found.get("tasks", 1), str(folder), str(logs), words[0])
    submit = Submit(job, found.get("processors", 1), ident=token_bytes(GLOBAL))
    why = refusal(submit)
    if problems or why:
        raise Wrong(problems or [Problem(where, why)])
    return submit, tuple(words)


def scripted(submit: Submit, words: Sequence[str], scripts: Path) -> Submit:
    """The same with a script in the folder ``scripts`` for a command of several words.

    Raises ``Wrong`` where it can not be written.
    """
    if len(words) == 1:
        return submit
    try:
        return submit._replace(job=submit.job._replace(command=_script(scripts, submit.job.name, words)))
    except OSError as error:
        raise Wrong([Problem(str(scripts), f"the script can not be written: {error.strerror or error}")]) from None


def _read(path: Path) -> dict[str, Any]:
    """The keys of a file."""
    lines: Mapping[tuple[str, ...], int] = {}
    if path.suffix == ".json":
        content = _json(path)
    else:
        content, lines = parse_toml(read_text(path), path)
    if type(content) is not dict:
        raise Wrong([Problem(str(path), "expected a table of " + ", ".join(KEYS))])
    found: dict[str, Any] = {}
    problems = []
    for key, value in content.items():
        line = lines.get((key,))
        where = f"{path}:{line}" if line else str(path)
        if key not in KEYS:
            problems.append(Problem(where, f"{key}: no such key{nearest(key, KEYS)}"))
            continue
        try:
            found[key] = fit([value] if key == "command" and isinstance(value, str) else value, KEYS[key])
        except Misfit as misfit:
            problems.append(Problem(where, f"{key}: {misfit}"))
    if problems:
        raise Wrong(problems)
    return found


def _json(path: Path) -> Any:
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Wrong([Problem(f"{path}:{error.lineno}", f"not JSON: {error}")]) from None
    except RecursionError:
        raise Wrong([Problem(f"{path}:{deepest_line(text)}", "nested too deeply")]) from None
    except ValueError:
        raise Wrong([Problem(f"{path}:{longest_number(text)}", "a number of thousands of digits")]) from None


def _script(folder: Path, name: str, words: Sequence[str]) -> str:
    """A script of these words that did not exist before: ``name.sh``, else ``name-1.sh``, ``name-2.sh`` …"""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with own_folder(str(folder), os.geteuid()) as handle:
        for i in range(SCRIPTS):
            script = f"{name}{f'-{i}' if i else ''}.sh"
            with suppress(FileExistsError):
                with open(safely.create(script, at=handle, mode=0o700), "w", encoding="utf-8") as file:
                    file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
                return str(folder / script)
    raise FileExistsError(f"{name}.sh and {SCRIPTS - 1} more exist: remove those of jobs that have ended")


def doubtful_logs(job: Description) -> str:
    """Why others could change what the tasks of a job log; the empty string where they can not."""
    try:
        why = strange(os.stat(job.logging_dir), above=True)
    except OSError:
        return ""  # reported where it can not be used
    return f"{job.logging_dir} {why}: they can change the logs of this job" if why else ""
