"""Another user of this machine, as a test needs one: uid 65534, who is in no group of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

STRANGER = 65534

BECOME = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")


def _python() -> str | None:
    """A Python that the other user can start, so outside of home folders; None if there is none."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        return None
    for python in filter(None, (sys.executable, shutil.which("python3", path=os.defpath))):
        started = subprocess.run([*BECOME, python, "-I", "-S", "-c", ""], cwd="/", capture_output=True, check=False)
        if started.returncode == 0:
            return python
    return None


PYTHON = _python()

needs_stranger = pytest.mark.skipif(
    PYTHON is None, reason="only root, with setpriv and a Python that every user can start, can act as another user"
)


@contextmanager
def stranger(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Python code in a process of the other user, with pipes; killed in the end. It can import nothing of ours."""
    with as_stranger(code, *arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def as_stranger(code: str, *arguments: str) -> subprocess.Popen[str]:
    """The same, for whoever sees to its end."""
    assert PYTHON is not None, "only tests that are marked with needs_stranger may ask for one"
    return subprocess.Popen(
        [*BECOME, PYTHON, "-I", "-S", "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )


@contextmanager
def open_folder(mode: int = 0o755) -> Iterator[Path]:
    """A folder that every user can reach (a test's own folder is not); removed in the end."""
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix="roundhouse-test-")))
    made.chmod(mode)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """Let this whole process act on files as another user, in no group of ours; only root can, and only for a while."""
    if uid == os.geteuid():
        yield
        return
    groups, gid, me = os.getgroups(), os.getegid(), os.geteuid()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(me)
        os.setegid(gid)
        os.setgroups(groups)
