"""How many documents one driver copies in a second, and what processor time that takes: ``N [FOLDER]``.

``PYTHONPATH=TREE python -P tests/bench/documents.py 5000 /dev/shm`` measures the engine of any tree, so that two of
them can take turns. On a disk the syncs are most of the time; on tmpfs there are none.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time

from engine.drive.queuedriver import run_driver
from engine.protocols.diskqueue.config import DriverConfig

TEXT = "a document\n" * 20


def main() -> None:
    """Two queues in a new folder, N documents in the first."""
    n = int(sys.argv[1])
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as root:
        src, dst = f"{root}/src", f"{root}/dst"
        os.mkdir(src)
        for i in range(n):
            with open(f"{src}/doc-{i:06}.ready", "w", encoding="utf-8") as file:
                file.write(TEXT)
        open(f"{src}/done", "wb").close()
        config = DriverConfig(src, dst, "1", "copy", 0, 0, f"{root}/times", "", f"{root}/log")
        began, used = time.perf_counter(), time.process_time()
        with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            status = run_driver(config)
        seconds, cpu = time.perf_counter() - began, time.process_time() - used
        assert status == 0 and len(os.listdir(dst)) == n + 1
    sys.stdout.write(f"{n / seconds:.0f} documents a second, {cpu / n * 1e6:.0f} µs of a core each\n")


if __name__ == "__main__":
    main()
