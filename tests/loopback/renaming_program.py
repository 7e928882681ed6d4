"""A program that knows only the seed: it renames, writes, renames, deletes, under number 7. Prints the ids it had."""

from __future__ import annotations

import os
import sys
import time


def drive(src: str, dst: str) -> None:
    """Until the source says that it is done and shows nothing more."""
    os.makedirs(dst, exist_ok=True)
    sys.stdout.write("at work\n")
    sys.stdout.flush()
    while True:
        waiting = [name for name in os.listdir(src) if name.endswith(".ready")]
        for name in waiting:
            id = name[: -len(".ready")]
            try:
                os.rename(f"{src}/{name}", f"{src}/{id}.7.working")
            except FileNotFoundError:
                continue
            with open(f"{src}/{id}.7.working", encoding="utf-8") as source:
                text = source.read()
            with open(f"{dst}/{id}.7.writing.xml", "w", encoding="utf-8") as out:
                out.write(f"theirs: {text}")
            os.rename(f"{dst}/{id}.7.writing.xml", f"{dst}/{id}.ready")
            os.unlink(f"{src}/{id}.7.working")
            sys.stdout.write(f"{id}\n")
            sys.stdout.flush()
            time.sleep(0.001)
        if not waiting and os.path.exists(f"{src}/done"):
            return
        time.sleep(0.01)


if __name__ == "__main__":
    drive(sys.argv[1], sys.argv[2])
