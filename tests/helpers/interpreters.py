"""The Pythons on this machine that the project supports, beside the one that runs the tests."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LOWEST = (3, 11)
FOLDERS = (  # of the usual version managers, below the home folder
    ".pyenv/versions/*/bin",
    ".asdf/installs/python/*/bin",
    ".local/share/mise/installs/python/*/bin",
    ".local/share/uv/python/*/bin",
    ".rye/py/*/bin",
)
NAME = re.compile(r"python3\.\d+t?$")
# A venv needs ensurepip, which Debian splits off. Our libraries have no wheels for a free-threaded build.
ASK = """
import ensurepip, platform, sys, sysconfig
usable = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print(*sys.version_info[:2], sys.version_info.releaselevel == "final" and usable, platform.python_version())
print(sys.executable)
"""


class Interpreter(NamedTuple):
    """``minor``: (3, 12) for any 3.12; ``version``: all of it, for people."""

    minor: tuple[int, int]
    version: str
    path: Path


def interpreters() -> list[Interpreter]:
    """One of each supported minor version, the newest first: on PATH and in the folders of version managers."""
    found: dict[tuple[int, int], Interpreter] = {}
    for path in _candidates():
        made = _asked(path)
        if made is not None and made.minor >= LOWEST:
            found.setdefault(made.minor, made)
    return sorted(found.values(), reverse=True)


def _candidates() -> Iterator[Path]:
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += [folder for pattern in FOLDERS for folder in sorted(Path.home().glob(pattern), reverse=True)]
    for folder in folders:
        if folder.is_dir():
            yield from sorted(path for path in folder.iterdir() if NAME.match(path.name) and os.access(path, os.X_OK))


def _asked(path: Path) -> Interpreter | None:
    """None for what is no interpreter after all: a shim without a version, a broken link, a build without venv."""
    try:
        done = subprocess.run(
            [path, "-I", "-c", ASK], capture_output=True, text=True, check=True, timeout=20, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    words, executable = done.stdout.splitlines()  # a version manager's shim tells what it stands for
    major, minor, usable, version = words.split()
    return Interpreter((int(major), int(minor)), version, Path(executable)) if usable == "True" else None
