"""Builds the native pump when the project is installed: hatchling runs this (pyproject.toml).

Without a C compiler, or with one that fails, the package is installed without the native pump and the pure one runs:
whatever goes wrong with it must not make an installation fail. The binary uses the stable ABI of Python 3.11, and its
wheel is tagged so. An editable installation gets it beside the sources.

With ``ROUNDHOUSE_COMPILE=1`` the wheel also has the files that ``compiled`` names (pyproject.toml) compiled by mypyc,
for the Python that builds it and no other. That is asked for, so a failure ends the build. The sources stay in it.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

HERE = "engine/drive/pump"
BINARY = "_native.abi3.so"
SECONDS = 120  # that a compiler may take
FLAGS = ["-O2", "-std=c11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"]
SHARED = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
COMPILE = "ROUNDHOUSE_COMPILE"
TOOLS = ["mypy==2.4.1", "setuptools>=75"]
FUTURE = "from __future__ import annotations\n"
IMPORT = """TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final
    from mypy_extensions import mypyc_attr
"""
GROUP = "engine.compiled"  # begins the name of the library that holds all of them
SETUP = """
from setuptools import setup
from mypyc.build import mypycify
modules = mypycify({!r}, group_name={!r}, debug_level="0")
setup(name="engine", packages=[], ext_modules=modules, script_args=["build_ext", "--inplace"])
"""
CLASS = re.compile(r"^(?=class (?!.*\b(?:NamedTuple|Protocol|Enum|StrEnum)\b))", re.MULTILINE)
OPEN = "@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)\n"
"""Before each class: cores are copied and pickled (replays, ``explore``). With ``serializable`` alone mypyc 2.4 leaves
out ``__init__`` of an instance that Python makes."""

CONSTANT = re.compile(r"^([A-Z_][A-Z_0-9]*) = (?!TypeVar)", re.MULTILINE)
FINAL = r"\1: Final = "
"""In place of the head of each constant: compiled code has its value, where else it looks for a name in a dict."""

LONG = 1800  # seconds that mypyc and the compiler may take
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


def compile_cores(root: Path, hot: Sequence[str], folder: Path) -> dict[str, str]:
    """Compile these files in a copy of the sources; each binary, and its place in the wheel. Raises ``Failed``."""
    shutil.copytree(root / "engine", folder / "engine", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for path in {path for name in hot for path in (folder / name).parent.glob("*.py")}:  # who has their constants
        path.write_text(opened(path.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n", encoding="utf-8")
    try:
        run([sys.executable, "-c", SETUP.format(["--config-file=mypy.ini", *hot], GROUP)], LONG, folder)
    except subprocess.CalledProcessError as error:
        raise Failed(f"mypyc: {error.stdout[-2000:]}{error.stderr[-2000:]}") from None
    made = {str(path): str(path.relative_to(folder)) for path in folder.glob("engine/**/*.so")}
    if len(made) != len(hot) + 1:
        raise Failed(f"mypyc made {len(made)} binaries of {len(hot)} files")
    return made


def opened(source: str) -> str:
    """A source whose classes are ``OPEN`` and whose constants are ``FINAL``, as mypyc reads it."""
    if FUTURE not in source:
        return source
    made = CONSTANT.sub(FINAL, CLASS.sub(OPEN, source)).replace(FUTURE, f"{FUTURE}{IMPORT}", 1)
    return made + types_of_fields(source)


def types_of_fields(source: str) -> str:
    """What gives each NamedTuple its fields' types as Python has them, for those mypyc writes down tell nothing."""
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    said = ""
    for record in (one for one in classes if "NamedTuple" in map(ast.unparse, one.bases)):
        fields = [field for field in record.body if isinstance(field, ast.AnnAssign)]
        types = {ast.unparse(field.target): ast.unparse(field.annotation) for field in fields}
        said += f"setattr({record.name}, '__annotations__', {types})\n"
    return said


def run(command: list[str], seconds: float | None = None, folder: Path | None = None) -> None:
    """Run a command. Raises OSError or subprocess.SubprocessError where it fails or takes too long."""
    most, nothing = seconds or SECONDS, subprocess.DEVNULL
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=most, stdin=nothing, cwd=folder)


def tag(compiled: bool = False) -> str:
    """Of a wheel that holds the binary; of one that has cores ``compiled``, for this very Python."""
    plain = next(at for at in sys_tags() if not at.platform.startswith(("manylinux", "musllinux")))
    return f"{plain.interpreter}-{plain.abi}-{plain.platform}" if compiled else f"cp311-abi3-{plain.platform}"


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """What hatchling calls before and after it builds a wheel."""

    _folder: str | None = None

    def dependencies(self) -> list[str]:
        """What building needs beside hatchling."""
        return TOOLS if wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the binary to the wheel, or where the installation is editable to the sources; compile if asked to."""
        self._folder = tempfile.mkdtemp()
        self._add_pump(version, build_data)
        if wanted() and version != "editable":
            build_data["force_include"] |= compile_cores(
                Path(self.root), self.config["compiled"], Path(self._folder, "cores")
            )
            build_data["pure_python"], build_data["tag"] = False, tag(compiled=True)

    def _add_pump(self, version: str, build_data: dict[str, Any]) -> None:
        assert self._folder is not None
        try:
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


def wanted() -> bool:
    """Whether compiled cores are asked for."""
    return os.environ.get(COMPILE) == "1"


def place(made: Path, target: Path) -> None:
    """Put a binary where another may be in use."""
    beside = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        shutil.copyfile(made, beside)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
