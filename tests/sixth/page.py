"""``python -m tests.sixth.page FOLDER …``: roundhouse with the system of docs/new-system.md, written into FOLDER first.

The system's modules have the names that they have on the page: FOLDER becomes one more place of ``engine.protocols``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import engine.protocols

PAGE = Path(__file__).parents[2] / "docs" / "new-system.md"
PACKAGE = "engine/protocols/majordomo/"


def blocks(page: str) -> dict[str, str]:
    """Each block of code that the page gives a file's name: the name, and the code."""
    return dict(re.findall(r"^`(\S+\.py)`:\n\n```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))


def write(folder: Path) -> None:
    """Write every file of the page into a folder, those of the package into ``majordomo`` in it."""
    for name, code in blocks(PAGE.read_text(encoding="utf-8")).items():
        path = folder / ("majordomo/" + name.removeprefix(PACKAGE) if name.startswith(PACKAGE) else Path(name).name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")


def register(folder: Path) -> None:
    """The line in the catalogue."""
    engine.protocols.__path__.append(str(folder))
    from engine import catalogue

    system = __import__("engine.protocols.majordomo", fromlist=["SYSTEM"]).SYSTEM
    catalogue.CATALOGUE[system.name] = catalogue.SYSTEMS[system.name] = system


def main() -> int:
    """Carry out one command line."""
    register(Path(sys.argv.pop(1)))
    from console.__main__ import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
