"""What a driver does with a document: run a command, call a Python function, or one of the built-ins.

The rules of this file:

- A document is processed on the driver's main thread, one at a time, so that a signal can end it (``cancel``). While a
  command is being started that is only noted: between its start and the moment in which we know its pid an exception
  would leave it running.
- A failure is a value. If the disk is in trouble at that moment (no space, no permission, the folder gone) it is
  ``blocked``, for it says nothing about the document.
- An input is a regular file, and no link, when work on it begins and when it ends. What has the name of an output is
  removed before; the output is a regular file of this user when it is published. While it is written, it may be read
  only by those who may read its input.
- A command or a function gets paths: whoever may rename in a folder can put something else there between a look and its
  opening. So queues are 0700 unless a setting says more (README, ruling 16).
- A command dies with its driver where the kernel offers that (Linux), and holds the driver's locks as it
  lives; so a document that a command still writes is not recovered.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType, ModuleType

from engine.drive import environment
from engine.errors import Refused
from engine.files import safely
from engine.parts.plain import clean_lines
from engine.protocols.diskqueue.operations import Process, Processed

Work = Callable[[Process, int], None]
"""Makes ``output`` from ``input``, which it also gets as a descriptor; raises if it fails."""

CHUNK = 1024 * 1024  # bytes that are copied at a time

TAIL = 2000  # bytes of a command's output that are shown
_FULL = (errno.ENOSPC, errno.EDQUOT)
_BLOCK = 4096  # bytes: less free space counts as none
TOLD = ("start_stage", "end_stage", "format", "id", "driver")
"""What a command is told besides the two paths, in ``{name}`` and as ``QUEUE_NAME`` in its environment."""

_HOLE = re.compile(r"\{(" + "|".join(("input", "output", *TOLD)) + r")\}")
_PLACE = re.compile(r"[\w=./:,@+-]*" + _HOLE.pattern + r"[\w.]*")
_SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,6})?")
_FUNCTION = re.compile(r"([A-Za-z_][\w.]*|[^:]*/[^:/]+\.py):[A-Za-z_][\w.]*\Z")


class Cancelled(BaseException):
    """Raised in a signal handler while a document is processed: end it now."""


class _Starting:
    """Whether a command is being started or ended, and whether it is to end as soon as it has been started."""

    going = False
    cancelled = False


def cancel() -> None:
    """End the document that is processed now; for a signal handler on the main thread."""
    if not _Starting.going:
        raise Cancelled
    _Starting.cancelled = True


class Failed(Exception):
    """The document could not be processed, in words for people."""


def parse_work(text: str, locks: Sequence[int] = (), about: Mapping[str, str] = MappingProxyType({})) -> Work:
    """What the text asks for; raises ``Refused`` where that cannot be done.

    A command template has ``{input}`` and ``{output}`` and runs without a shell; ``module:function`` or
    ``/whole/path/file.py:function`` is called with the two paths, and no module is looked for in the folder that one
    happens to be in; the built-ins are ``copy``, ``upper``, ``sleep SECONDS`` (then copies), ``fail`` and ``fail
    marked [SECONDS]`` (sleeps, fails what begins with the line "fail once" or "fail twice", copies the rest). ``locks``
    are descriptors that a command inherits; ``about`` has what it is ``TOLD`` of its driver.
    """
    words = text.split()
    match words:
        case ["copy"]:
            return _copy
        case ["upper"]:
            return _upper
        case ["fail"]:
            return _fail
        case ["fail", "marked"]:
            return _fail_marked
        case ["fail", "marked", seconds] if _SECONDS.fullmatch(seconds):
            return _after(float(seconds), _fail_marked)
        case ["sleep", seconds] if _SECONDS.fullmatch(seconds):
            return _after(float(seconds), _copy)
        case _ if "{input}" in text and "{output}" in text:
            return _command(text, tuple(locks), about)
        case [name] if _FUNCTION.match(name):
            return _function(name)
        case _:
            raise Refused(
                f"work {text!r}: neither copy, upper, sleep SECONDS, fail, fail marked, nor module:function, nor "
                "/whole/path/file.py:function, nor a command with {input} and {output}"
            )


def process(work: Work, task: Process) -> Processed:
    """Do it; only ``Cancelled`` passes as an exception into a value as well."""
    try:
        with _input(task) as source, _kept_private(source):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(task.output)  # the driver's own name: what is left there, or put there, is no output
            work(task, source)
            _judge(task, source)
    except Cancelled:
        return Processed("cancelled")
    except safely.Unsafe as error:
        return _failure(task, f"{os.path.basename(str(error.filename))} {error.strerror}")
    except OSError as error:
        if error.errno in _FULL:
            return Processed("blocked", f"{error.strerror}: {error.filename or task.output}")
        return _failure(task, str(error))
    except Failed as error:
        return _failure(task, str(error))
    except Exception as error:
        traceback.print_exc()
        return _failure(task, f"{type(error).__name__}: {error}")
    except SystemExit as error:
        return _failure(task, f"it exited: {error.code}")
    return Processed("done")


@contextmanager
def _input(task: Process) -> Iterator[int]:
    source = safely.open_file(task.input)
    try:
        yield source
    finally:
        os.close(source)


@contextmanager
def _kept_private(source: int) -> Iterator[None]:
    """Give the output the input's permissions before its first byte: who may not read one may not read the other."""
    mode = os.fstat(source).st_mode
    before = os.umask(0o077)
    os.umask(before | (0 if mode & 0o040 else 0o070) | (0 if mode & 0o004 else 0o007))
    try:
        yield
    finally:
        os.umask(before)


def _judge(task: Process, source: int) -> None:
    """Raise where the output is none, or the input was swapped for something that is no document."""
    with contextlib.suppress(FileNotFoundError):  # a work may move its input, or delete it
        safely.check(os.stat(task.input, follow_symlinks=False), task.input)
    try:
        output = safely.open_file(task.output, owners=(os.geteuid(),))
    except FileNotFoundError:
        raise Failed("wrote no output") from None
    try:
        safely.check(os.fstat(output), task.output, writes=True)  # its mode is: a second name would be somebody's file
        safely.like(os.fstat(source), output)
    finally:
        os.close(output)


def _failure(task: Process, text: str) -> Processed:
    """Failed or blocked: look at the disk to tell."""
    trouble = _trouble(os.path.dirname(task.output))
    return Processed("blocked", trouble) if trouble else Processed("failed", text)


def _trouble(folder: str) -> str:
    """Why this folder can not be written now, or the empty string."""
    try:
        full = no_space(folder)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return full if os.access(folder, os.W_OK | os.X_OK) else f"{folder}: no permission to write"


def no_space(folder: str) -> str:
    """That the disk of a folder is full, with the folder's name, or the empty string; raises OSError."""
    room = os.statvfs(folder)
    full = room.f_bavail * room.f_frsize < _BLOCK or (room.f_files and not room.f_favail)
    return f"{folder}: no space left" if full else ""


# ---- built-ins ----------------------------------------------------------------------------------------------------


def _copy(task: Process, source: int) -> None:
    size = os.fstat(source).st_size
    out = safely.create(task.output)
    try:
        place = 0
        while place < size and (chunk := os.pread(source, min(CHUNK, size - place), place)):
            safely.write(out, chunk)
            place += len(chunk)
    finally:
        os.close(out)
    if os.fstat(source).st_size != size:
        raise Failed("it changed its size while it was read")


def _upper(task: Process, source: int) -> None:
    with (
        open(source, encoding="utf-8", errors="surrogateescape", newline="", closefd=False) as text,
        open(safely.create(task.output), "w", encoding="utf-8", errors="surrogateescape", newline="") as out,
    ):
        while part := text.read(CHUNK):
            out.write(part.upper())


def _after(seconds: float, then: Work) -> Work:
    def work(task: Process, source: int) -> None:
        time.sleep(seconds)
        then(task, source)

    return work


def _fail(task: Process, source: int) -> None:
    raise Failed("told to fail")


def _fail_marked(task: Process, source: int) -> None:
    first = os.pread(source, 80, 0).partition(b"\n")[0].strip()
    if first == b"fail twice" or (first == b"fail once" and task.attempt == 1):
        raise Failed(f"the document says {first.decode()!r}")
    _copy(task, source)


# ---- functions and commands ----------------------------------------------------------------------------------------


def _function(name: str) -> Work:
    where, _, path = name.partition(":")
    try:
        found: object = _from_file(where) if where.endswith(".py") else importlib.import_module(where)
        for part in path.split("."):
            found = getattr(found, part)
    except SystemExit as error:  # that would be the end of whoever asks
        raise Refused(f"work {name}: it exits when it is imported: {error.code}") from error
    except Exception as error:
        raise Refused(f"work {name}: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise Refused(f"work {name}: is not callable")
    function: Callable[[str, str], object] = found

    def work(task: Process, source: int) -> None:
        function(task.input, task.output)

    return work


def _from_file(path: str) -> ModuleType:
    """The module in a file that is named by its whole path: no folder is searched for it."""
    if not os.path.isabs(path):
        raise ImportError(f"name the file by its whole path: {os.path.abspath(path)}")
    name = os.path.basename(path).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None  # for a name that ends so there is one
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _command(template: str, locks: tuple[int, ...], about: Mapping[str, str]) -> Work:
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise Refused(f"work {template!r}: {error}") from error
    for word in words:
        if _HOLE.search(word) and not _PLACE.fullmatch(word):
            # A document's id comes from outside; in a script it would be code.
            raise Refused(
                f"work {template!r}: {word!r} must be a word of its own: sh -c 'f < \"$1\"' sh {{input}} {{output}}"
            )
    if shutil.which(words[0]) is None:
        raise Refused(f"work {template!r}: there is no command {words[0]!r}")

    def work(task: Process, source: int) -> None:
        told = {name: about.get(name, "") for name in TOLD} | {"id": task.id}
        filled = [_HOLE.sub(lambda found: (told | task._asdict())[found[1]], word) for word in words]
        if task.id.startswith("-") and task.id in filled:
            raise Failed("its id would be an option of the command: say --name={id}, or use QUEUE_ID")
        environ = environment.passed() | {f"QUEUE_{name.upper()}": value for name, value in told.items()}
        with tempfile.TemporaryFile() as said:
            code = _run(filled, said.fileno(), locks, environ)
            said.seek(max(0, said.seek(0, os.SEEK_END) - TAIL))
            tail = said.read().decode("utf-8", "replace").strip()
        if tail:
            with contextlib.suppress(OSError):  # an output that can not be shown fails no document
                sys.stderr.write(f"{clean_lines(tail)}\n")
                sys.stderr.flush()
        if code:
            raise Failed(f"exit status {code}: {tail[-300:]}" if code > 0 else f"killed by signal {-code}")
        if trouble := _trouble(os.path.dirname(task.output)):
            # A command may have overlooked that its last writes failed.
            raise OSError(errno.ENOSPC, trouble, task.output)

    return work


def _run(words: list[str], output: int, locks: tuple[int, ...], environ: Mapping[str, str]) -> int:
    _Starting.cancelled, _Starting.going = False, True
    try:
        child = _start(words, output, locks, environ)
    except BaseException:
        _Starting.going = False
        raise
    try:
        _Starting.going = False
        if _Starting.cancelled:
            raise Cancelled
        return child.wait()
    except BaseException:
        _Starting.going = True  # a further signal is only noted, or the killed child would never be waited for
        try:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        finally:
            _Starting.going = False
        raise


def _start(
    words: list[str], output: int, locks: tuple[int, ...], environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environ,
        pass_fds=locks,
        process_group=0,
        preexec_fn=die_with_parent if sys.platform == "linux" else None,
    )


_PR_SET_PDEATHSIG = 1
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def die_with_parent(parent: int = 0) -> None:
    """Have the kernel kill this process when the one that started it dies; nothing where it does not offer that.

    ``parent``: its pid, where it is known: one that is dead already would not be noticed otherwise.
    """
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if parent and os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
