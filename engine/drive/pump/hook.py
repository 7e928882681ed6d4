"""Builds the native pump when the project is installed: hatchling runs this (pyproject.toml).

Without a C compiler, or with one that fails, the package is installed without the native pump and the pure one runs:
whatever goes wrong here must not make an installation fail. The binary uses the stable ABI of Python 3.11, and its
wheel is tagged so. An editable installation gets it beside the sources.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

HERE = "engine/drive/pump"
BINARY = "_native.abi3.so"
SECONDS = 120  # that a compiler may take
FLAGS = ["-O2", "-std=c11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
SHARED = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
TRIED = "import importlib.util as u; s = u.spec_from_file_location('_native', {!r}); u.module_from_spec(s)"


class Failed(Exception):
    """Why there is no binary."""


def compilers() -> Iterator[list[str]]:
    """Commands that compile C here, the preferred one first."""
    seen = set()
    for command in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"):
        words = shlex.split(command or "")
        if words and shutil.which(words[0]) and words[0] not in seen:
            seen.add(words[0])
            yield words


def compile_pump(source: Path, target: Path) -> None:
    """Compile ``source`` to a module at ``target``, and try whether it loads. Raises ``Failed``."""
    why = "no C compiler was found"
    for compiler in compilers():
        try:
            run([*compiler, *arguments(source, target)])
            run([sys.executable, "-c", TRIED.format(str(target))])
        except (OSError, subprocess.SubprocessError) as error:
            why = f"{compiler[0]}: {getattr(error, 'stderr', None) or error}".strip()
        else:
            return
    raise Failed(why)


def arguments(source: Path, target: Path) -> list[str]:
    """The compiler's arguments that make a module of ``source``."""
    return [*FLAGS, *SHARED, f"-I{sysconfig.get_path('include')}", str(source), "-o", str(target)]


def run(command: list[str]) -> None:
    """Run a command. Raises OSError or subprocess.SubprocessError where it fails or takes too long."""
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)


def tag() -> str:
    """Of a wheel that holds the binary."""
    plain = (at for at in sys_tags() if not at.platform.startswith(("manylinux", "musllinux")))
    return f"cp311-abi3-{next(plain).platform}"


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before and after it builds a wheel."""

    _folder: str | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the binary to the wheel, or where the installation is editable to the sources."""
        try:
            self._folder = tempfile.mkdtemp()
            made = Path(self._folder, BINARY)
            compile_pump(Path(self.root, HERE, "native.c"), made)
            if version == "editable":
                place(made, Path(self.root, HERE, BINARY))
            else:
                build_data["force_include"][str(made)] = f"{HERE}/{BINARY}"
                build_data["pure_python"], build_data["tag"] = False, tag()
        except Exception as error:  # of whatever kind: the pure pump does all of it
            self.app.display_warning(f"The native pump is left out, the pure one runs: {error}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def place(made: Path, target: Path) -> None:
    """Put a binary where another may be in use."""
    beside = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(made, beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
