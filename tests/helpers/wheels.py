"""The wheel, and environments that it is installed into."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.drive.pump.hook import COMPILE

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Build the wheel into an empty folder with the backend itself: no network, no environment of its own."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), environment=environment)
    (built,) = folder.iterdir()
    return built


def build_compiled_wheel(folder: Path) -> Path:
    """The same with compiled cores, as a release is built: pip gets what that needs, into an environment of its own."""
    environment = {**os.environ, COMPILE: "1"}
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT), environment=environment)
    (built,) = folder.iterdir()
    return built


def install_wheel(wheel: Path, interpreter: Path, folder: Path) -> Path:
    """Install it and what it needs into a new environment of this interpreter; the environment's Python."""
    _run(str(interpreter), "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile", str(wheel))
    return python


def _run(*command: str, environment: Mapping[str, str] = os.environ) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
