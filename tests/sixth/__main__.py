"""``python -m tests.sixth …``: roundhouse with one more line in its catalogue, before anything else reads that."""

from __future__ import annotations

import sys


def main() -> int:
    """Carry out one command line."""
    from engine import catalogue
    from tests.sixth.mdp import SYSTEM

    catalogue.CATALOGUE[SYSTEM.name] = catalogue.SYSTEMS[SYSTEM.name] = SYSTEM

    from console.__main__ import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
