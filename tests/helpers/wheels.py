"""The wheel, and environments that it is installed into."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build_wheel(folder: Path) -> Path:
    """Build the wheel into an empty folder with the backend itself: no network, no environment of its own."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (built,) = folder.iterdir()
    return built


def install_wheel(wheel: Path, interpreter: Path, folder: Path) -> Path:
    """Install it and what it needs into a new environment of this interpreter; the environment's Python."""
    _run(str(interpreter), "-m", "venv", str(folder))
    python = folder / "bin" / "python"
    _run(str(python), "-m", "pip", "install", "-q", str(wheel))
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
