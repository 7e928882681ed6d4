"""``python -m tests.matrix [PYTEST ARGUMENT …]``: the suite on every Python here, and on the lowest dependencies.

Each environment is made anew in a temporary folder. Arguments go on to pytest (``tests/terminal -x``); without any, the
whole suite runs. Status 0 where all passed, 1 where one did not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.helpers.interpreters import LOWEST, Interpreter, interpreters

ROOT = Path(__file__).parents[2]
CONSTRAINTS = Path(__file__).parent / "lowest.txt"


def main() -> int:
    """Run them all, one after the other, and print a line for each; or what this is, where that is asked."""
    if {"-h", "--help"} & {*sys.argv[1:]}:
        print(__doc__)
        return 0
    found = interpreters()
    runs: list[tuple[str, Interpreter, tuple[str, ...]]] = [(f"Python {one.version}", one, ()) for one in found]
    runs += [
        (f"Python {one.version}, lowest dependencies", one, ("-c", str(CONSTRAINTS)))
        for one in found
        if one.minor == LOWEST
    ]
    if not runs:
        print("there is no Python of 3.11 or newer that can make an environment", file=sys.stderr)
        return 1
    failed = 0
    for name, interpreter, constraints in runs:
        began = time.monotonic()
        print(f"── {name}", flush=True)
        passed = run(interpreter, constraints, sys.argv[1:])
        failed += not passed
        print(f"── {name}: {'passed' if passed else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


def run(interpreter: Interpreter, constraints: tuple[str, ...], arguments: list[str]) -> bool:
    """Whether an environment could be made and the tests passed in it."""
    with tempfile.TemporaryDirectory(prefix="roundhouse-matrix-") as folder:
        python = Path(folder) / "bin" / "python"
        commands: list[list[str | Path]] = [
            [interpreter.path, "-m", "venv", folder],
            [python, "-m", "pip", "install", "-q", *constraints, "-e", ".[test]"],
            [python, "-m", "pytest", *arguments],
        ]
        return all(subprocess.run(command, cwd=ROOT, check=False).returncode == 0 for command in commands)


if __name__ == "__main__":
    sys.exit(main())
